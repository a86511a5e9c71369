package sim

import (
	"flag"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota/internal/mutant"
)

var (
	seeds = flag.Int("sim.seeds", 200, "seeds of the harsh scenario")
	first = flag.Uint64("sim.first", 1, "first seed")
	kept  = flag.Bool("sim.kept", true, "nodes keep a token for the next call; false measures what that is worth")
)

// worst returns the largest part of its limit that any window of a key admitted, and the key.
func (w *world) worst() (float64, *track) {
	worst, of := 0.0, w.keys[0]
	for _, k := range w.keys {
		slices.Sort(k.admitted)
		n := most(k.admitted, int64(time.Minute))
		switch {
		case k.id.Kind.Daily():
			n = w.mostPerDay(k.admitted)
		case k.id.Kind.InFlight():
			n = int(k.most)
		}
		if part := float64(n) / float64(k.limit); part > worst {
			worst, of = part, k
		}
	}
	return worst, of
}

// most returns the largest number of times in any half-open window.
func most(times []int64, window int64) int {
	n, from := 0, 0
	for i, t := range times {
		for t-times[from] >= window {
			from++
		}
		n = max(n, i-from+1)
	}
	return n
}

// mostPerDay divides the times at the moment that was midnight on the ledger clock, as the entries show it.
func (w *world) mostPerDay(times []int64) int {
	n := 0
	for _, t := range times {
		if t < w.group.midnight {
			n++
		}
	}
	return max(n, len(times)-n)
}

// utilisation returns what was admitted as a part of what one process that keeps a log of admissions would admit.
func (k *track) utilisation() float64 {
	var log []int64
	n := 0
	for _, t := range k.arrivals {
		for len(log) > 0 && t-log[0] >= int64(time.Minute) {
			log = log[1:]
		}
		if int64(len(log)) < k.limit {
			log = append(log, t)
			n++
		}
	}
	return float64(len(k.admitted)) / float64(max(n, 1))
}

func harsh() setting {
	return setting{
		nodes: 4, limits: []int64{7, 30, 90}, dayLimit: 60, load: 3, duration: 100 * time.Second,
		fault: 15 * time.Second, leader: 12 * time.Second, loss: 0.01, tokens: 400, running: 5,
	}
}

// clumped is the scenario in which nodes often have tokens when something happens to them.
func clumped(s setting) setting {
	s.clumps, s.limits, s.dayLimit, s.duration, s.load = true, []int64{40, 64, 90}, 0, 200*time.Second, 5
	s.tokens, s.running = 0, 0
	return s
}

// each runs the seeds on all processors.
func each(n int, f func(seed uint64)) {
	var next atomic.Uint64
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for i := next.Add(1); i <= uint64(n); i = next.Add(1) {
				f(*first + i - 1)
			}
		})
	}
	done.Wait()
}

// Whatever happens, no window admits more than its limit.
func TestNoWindowExceedsItsLimit(t *testing.T) {
	var events, sessions atomic.Uint64
	each(*seeds, func(seed uint64) {
		s := harsh()
		s.skewed = seed%2 == 0
		s.nodes = 2 + int(seed%4)
		if seed%5 == 4 {
			s = clumped(s)
		}
		w := run(t, s, seed)
		if part, k := w.worst(); part > 1 {
			t.Errorf("seed %d: limit %s admitted %.4f times its %d", seed, k.id, part, k.limit)
		}
		events.Add(w.seq)
		for _, n := range w.nodes {
			sessions.Add(n.core.Stats().Sessions)
		}
	})
	t.Logf("%d seeds, %d events, %d sessions", *seeds, events.Load(), sessions.Load())
}

// The same seed is the same run.
func TestRunsAreDeterministic(t *testing.T) {
	a, b := run(t, harsh(), 7), run(t, harsh(), 7)
	for i := range a.keys {
		if !slices.Equal(a.keys[i].admitted, b.keys[i].admitted) {
			t.Fatalf("key %d differs", i)
		}
	}
}

// Each defect is noticed within a bounded number of seeds.
func TestMutantsFail(t *testing.T) {
	for name, m := range map[string]mutant.Set{
		"holder keyed by node only":           {HolderByNode: true},
		"slots cut to 32 bits":                {NarrowSlots: true},
		"settled at the frame before the use": {SettleAtUse: true},
		"no guard and no rounding up":         {NoGuard: true},
		"grants ignore outstanding tokens":    {IgnoreOutstanding: true},
		"a lost session's tokens are free":    {FreeOnExpiry: true},
		"the clock steps on a leader change":  {ClockSteps: true},
		"the clock is read before the take":   {ClockFirst: true},
		"settling returns what was used":      {SettleNothing: true},
		"amounts are granted whole":           {GrantWhole: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tries = 300
			for i := range uint64(tries) {
				s := harsh()
				if s.mutant = m; i%2 == 1 {
					s = clumped(s)
				}
				if part, k := run(t, s, i+1).worst(); part > 1 {
					t.Logf("seed %d: limit %s admitted %.3f times its %d", i+1, k.id, part, k.limit)
					return
				}
			}
			t.Errorf("not noticed in %d seeds", tries)
		})
	}
}

// What faults and leases cost, against one process that knows everything.
func TestUtilisation(t *testing.T) {
	base := setting{nodes: 3, limits: []int64{30, 120, 500}, load: 10, duration: 5 * time.Minute}
	for _, c := range []struct {
		name      string
		seeds     int
		change    func(s *setting)
		avg, each float64
	}{
		{"calm", 4, func(*setting) {}, 0.999, 0.99},
		{"calm, 20 nodes, skewed", 16, func(s *setting) { s.nodes, s.load, s.skewed = 20, 1.5, true }, 0.999, 0.98},
		{"rare faults", 8, func(s *setting) { s.nodes, s.load, s.fault = 5, 3, 10*time.Minute }, 0.995, 0.95},
		{"calm, below the limits", 4, func(s *setting) { s.load = 0.5 }, 0.999, 0.99},
		{"calm, 20 nodes, below the limits", 4, func(s *setting) { s.nodes, s.load = 20, 0.7 }, 0.999, 0.99},
		{"harsh", 8, func(s *setting) {
			s.nodes, s.load, s.fault, s.leader, s.loss = 5, 3, 20*time.Second, 15*time.Second, 0.01
		}, 0.95, 0.85},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			sum, low, count := 0.0, 2.0, 0.0
			asked, calls := 0, 0
			each(c.seeds, func(seed uint64) {
				s := base
				c.change(&s)
				s.mutant.KeepNone = !*kept
				w := run(t, s, seed)
				part, k := w.worst()
				mu.Lock()
				defer mu.Unlock()
				if part > 1 {
					t.Errorf("seed %d: limit %s admitted %.4f times its %d", seed, k.id, part, k.limit)
				}
				for _, k := range w.keys {
					u := k.utilisation()
					sum, low, count = sum+u, min(low, u), count+1
					asked, calls = asked+k.asked, calls+len(k.admitted)
				}
			})
			t.Logf("utilisation: average %.4f, lowest %.4f; asked the ledger %.3f times per admitted call", sum/count, low, float64(asked)/float64(calls))
			if sum/count < c.avg || low < c.each {
				t.Errorf("utilisation %.4f on average, %.4f at least; want %.4f and %.4f", sum/count, low, c.avg, c.each)
			}
		})
	}
}
