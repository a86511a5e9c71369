package spool_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
)

// A busy node sends few large uploads: while calls go on, each takes what has gathered since the one before.
func TestUploadsOfABusyNodeAreFew(t *testing.T) {
	ingest := newIngest(t)
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) {
		time.Sleep(5 * time.Millisecond) // more has come when the answer is there
		return true, 0, nil
	})
	s := open(t, t.TempDir(), ingest, options{})
	stop := run(t, s)
	began := time.Now()
	for i := 0; time.Since(began) < time.Second; i++ {
		add(t, s, fmt.Sprint(i))
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began) // a machine that is slow makes fewer, never more
	ingest.mu.Lock()
	uploads := ingest.uploads
	ingest.mu.Unlock()
	if most := int(took/(250*time.Millisecond)) + 2; uploads > most || uploads == 0 {
		t.Errorf("%d uploads in %s, want at most %d", uploads, took, most)
	}
	stop()
	exactlyOnce(t, ingest)
}

// A control plane that has no time for large uploads gets small ones, and large ones again when it has.
func TestUploadsThatFailShrink(t *testing.T) {
	t.Parallel()
	const all, bearable = 2000, 600
	ingest, largest, slow := newIngest(t), 0, true
	ingest.setFault(func(_ string, records []plane.UsageRecord) (bool, int, error) {
		if slow && len(records) > bearable {
			return false, http.StatusServiceUnavailable, nil
		}
		largest = max(largest, len(records))
		slow = slow && records[len(records)-1].Seq < all/2
		return true, 0, nil
	})
	s := open(t, t.TempDir(), ingest, options{segment: 4 << 20})
	for i := range all {
		add(t, s, fmt.Sprint(i))
	}
	run(t, s)
	eventually(t, "acknowledgement", func() bool { return s.Stats().Acknowledged == all })
	exactlyOnce(t, ingest)
	ingest.mu.Lock()
	defer ingest.mu.Unlock()
	if largest <= bearable {
		t.Errorf("no upload has more than %d records again", largest)
	}
}
