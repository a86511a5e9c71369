package spool_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/plane"
)

func ship(t *testing.T, dir string, ingest *fakeIngest) (spool.Stats, error) {
	t.Helper()
	return spool.Ship(t.Context(), spool.Options{DataDir: dir, Uploader: ingest, Now: time.Now, Log: slog.New(slog.DiscardHandler)}, func(spool.Stats) {})
}

// The directory of a dead node is shipped from elsewhere, in two runs, and then once more from a copy.
func TestShipADirectory(t *testing.T) {
	t.Parallel()
	ingest, dir, copied := newIngest(t), corpse(t), t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	uploads := 0
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) {
		if uploads++; uploads > 1 {
			return false, 0, errors.New("down")
		}
		return true, 0, nil
	})
	stats, err := ship(t, dir, ingest)
	if err == nil || stats.Acknowledged != 1 || stats.Cut != 2 || stats.Backlog == 0 {
		t.Errorf("with the control plane away: %+v, %v", stats, err)
	}
	ingest.setFault(nil)
	if stats, err = ship(t, dir, ingest); err != nil || stats.Acknowledged != 2 || stats.Backlog != 0 {
		t.Errorf("again: %+v, %v", stats, err)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := ship(t, copied, ingest); err != nil {
		t.Error(err)
	}
	for id, n := range ingest.counted() {
		if n != 1 {
			t.Errorf("%s is counted %d times", id, n)
		}
	}
	if len(ingest.counted()) != 3 {
		t.Errorf("%v", ingest.counted())
	}
}

func TestShipRefusesWhatANodeUsesAndWhatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := ship(t, dir, newIngest(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	s := open(t, dir, newIngest(t), options{})
	defer func() { _ = s.Close() }()
	if _, err := ship(t, dir, newIngest(t)); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a running node: %v", err)
	}
}

func TestShipSaysWhatIsDamaged(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), corpse(t)
	whole, err := spool.Inspect(dir)
	if err != nil || len(whole) != 2 || whole[0].Records+whole[1].Records != 3 {
		t.Fatalf("%+v, %v", whole, err)
	}
	segment := files(t, dir)[0]
	data, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	data[3] ^= 1
	write(t, segment, data)
	path, notes := journalOf(t, dir)
	notes[2*slotBytes+slotFrame+30] ^= 1
	write(t, path, notes)
	found, err := spool.Inspect(dir)
	if err != nil || len(found) != 2 || found[0].Why == "" && found[1].Why == "" || found[0].Damaged+found[1].Damaged != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	stats, err := ship(t, dir, ingest)
	if err != nil || stats.Damaged != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
	for _, file := range []string{segment, path} {
		if _, err := os.Stat(filepath.Join(dir, "spool", "damaged", filepath.Base(file))); err != nil {
			t.Error(err)
		}
	}
}
