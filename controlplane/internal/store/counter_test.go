package store

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/counter"
)

// TestPublicCountersAreExactAndBounded: many at once lose no count, and no more names find a place than there are.
func TestPublicCountersAreExactAndBounded(t *testing.T) {
	s := open(t)
	const places, names, each = 5, 12, 4
	var mu sync.Mutex
	counted, full := map[string]int64{}, int64(0)
	var wg sync.WaitGroup
	for n := range names {
		wg.Go(func() {
			name := fmt.Sprintf("event_%d", n)
			for range each {
				for _, name := range []string{name, "reserved"} {
					_, err := s.Count(t.Context(), name, []string{"reserved"}, places)
					mu.Lock()
					switch {
					case err == nil:
						counted[name]++
					case errors.Is(err, counter.ErrFull):
						full++
					default:
						t.Error(err)
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	state, err := s.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(state.Events) != fmt.Sprint(counted) || state.Dropped != full {
		t.Errorf("kept %v and %d dropped, counted %v and %d", state.Events, state.Dropped, counted, full)
	}
	if len(counted) != places+1 || counted["reserved"] != names*each {
		t.Errorf("counted %v, want %d names and %d of the reserved one", counted, places+1, names*each)
	}

	at := micros()
	if err := s.ResetCounters(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if state, err = s.Counters(t.Context()); err != nil || len(state.Events) != 0 || state.Dropped != 0 || !state.Since.Equal(at) {
		t.Errorf("after the reset: %+v %v", state, err)
	}
	if n, err := s.Count(t.Context(), "again", nil, 1); n != 1 || err != nil {
		t.Errorf("after the reset: %d %v", n, err)
	}
}

func TestPublicCountersBeginWithTheSchema(t *testing.T) {
	state, err := open(t).Counters(t.Context())
	if err != nil || time.Since(state.Since) > time.Hour || len(state.Events) != 0 {
		t.Errorf("%+v %v", state, err)
	}
}
