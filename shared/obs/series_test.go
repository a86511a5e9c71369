package obs_test

import (
	"strconv"
	"sync"
	"testing"

	"modelgate.internal/shared/obs"
)

func TestSeriesAreResolvedOnce(t *testing.T) {
	type labels struct {
		operation string
		status    int
	}
	resolved := map[labels]int{} // under the lock of the series
	s := obs.NewSeries(func(k labels) string {
		resolved[k]++
		return k.operation + strconv.Itoa(k.status)
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 300 {
				if got, want := s.Of(labels{"agent", i % 30}), "agent"+strconv.Itoa(i%30); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	all.Wait()
	for k, n := range resolved {
		if n != 1 {
			t.Errorf("%v was resolved %d times", k, n)
		}
	}
	if len(resolved) != 30 {
		t.Errorf("%d series", len(resolved))
	}
	if n := testing.AllocsPerRun(100, func() { s.Of(labels{"agent", 7}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
