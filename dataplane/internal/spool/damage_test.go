package spool_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgate.internal/shared/plane"
)

// Records of a file that was damaged in the middle arrive except for the damaged ones; none is counted twice, and the log and
// the figures say what is missing. So it is also when the control plane already has the later ones.
func TestDamageInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		delivered int // records the control plane stored before the damage
		wantLost  uint64
		wantCalls int
	}{
		{"nothing delivered", 0, 1, 99},
		{"delivered before the damage", 20, 1, 99},
		{"delivered beyond the damage", 80, 0, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			ingest, dir := newIngest(t), t.TempDir()
			s := open(t, dir, ingest, options{})
			incarnation := s.Incarnation()
			for i := range 100 {
				add(t, s, fmt.Sprintf("call-%03d", i))
				if i < c.delivered {
					r := *record(fmt.Sprintf("call-%03d", i))
					r.Seq = uint64(i + 1)
					ingest.stored[incarnation] = append(ingest.stored[incarnation], r)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			path := files(t, dir)[0]
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(data, []byte("call-050"))
			data[at] ^= 1
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			s = open(t, dir, ingest, options{log: &log})
			stop := run(t, s)
			eventually(t, "records", func() bool { return len(ingest.counted()) == c.wantCalls })
			add(t, s, "later")
			eventually(t, "the record after", func() bool { return ingest.counted()["later"] == 1 })
			if got := s.Stats().Lost; got != c.wantLost {
				t.Errorf("%d reported lost, want %d", got, c.wantLost)
			}
			stop()
			exactlyOnce(t, ingest)
			if said := strings.Contains(log.String(), "usage records are lost"); said != (c.wantLost > 0) {
				t.Errorf("log says lost: %v", said)
			}
			if kept, _ := os.ReadFile(filepath.Join(dir, "spool", "damaged", filepath.Base(path))); !bytes.Equal(kept, data) {
				t.Error("the damaged file is not kept")
			}
		})
	}
}

// A crash while the records behind damage are being shipped under a new name must not count them twice.
func TestCrashWhileShippingUnderANewName(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	s := open(t, dir, ingest, options{})
	first := s.Incarnation()
	for i := range 100 {
		add(t, s, fmt.Sprintf("call-%03d", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := files(t, dir)[0]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.Index(data, []byte("call-050"))] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ingest.setFault(func(incarnation string, _ []plane.UsageRecord) (bool, int, error) {
		if incarnation != first {
			return true, 0, errors.New("cut") // stored, and the node does not learn of it
		}
		return true, 0, nil
	})
	s = open(t, dir, ingest, options{})
	stop := run(t, s)
	eventually(t, "records", func() bool { return len(ingest.counted()) == 99 })
	stop()
	ingest.setFault(nil)
	s = open(t, dir, ingest, options{})
	add(t, s, "later")
	run(t, s)
	eventually(t, "the record after", func() bool { return ingest.counted()["later"] == 1 })
	exactlyOnce(t, ingest)
	if got := len(ingest.counted()); got != 100 {
		t.Errorf("%d calls", got)
	}
}

func TestDamagedHeaderIsSetAside(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	s := open(t, dir, ingest, options{})
	add(t, s, "one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := files(t, dir)[0]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{{}, data[:40], append([]byte("nonsense"), data[8:]...)} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, ingest, options{})
		stop := run(t, s)
		add(t, s, "two")
		eventually(t, "shipping", func() bool { return s.Stats().Acknowledged == 1 })
		stop()
		if _, err := os.Stat(filepath.Join(dir, "spool", "damaged", filepath.Base(path))); err != nil {
			t.Error(err)
		}
	}
}
