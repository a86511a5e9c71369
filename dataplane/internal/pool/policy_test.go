package pool_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/shared/plane"
)

func weighted(policy string, weights ...int) func(*plane.Current, *plane.PoolSpec) {
	return func(_ *plane.Current, p *plane.PoolSpec) {
		p.Policy = policy
		for i, w := range weights {
			p.Members[i].Weight = w
		}
	}
}

func TestRoundRobinIsSmooth(t *testing.T) {
	f := newField(t, 3, 3, weighted(plane.PolicyRoundRobin, 5, 1, 1))
	var order strings.Builder
	for range 14 {
		id, err := f.ask()
		if err != nil {
			t.Fatal(err)
		}
		order.WriteString(id)
	}
	if got := order.String(); got != "aabacaaaabacaa" {
		t.Errorf("got %s", got)
	}
}

func TestWeightsHoldAmongEqualServers(t *testing.T) {
	for _, policy := range []string{plane.PolicyRoundRobin, plane.PolicyLeastInFlight, plane.PolicyP2CEWMA} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newField(t, 3, 3, weighted(policy, 3, 2, 1))
				for _, s := range f.servers {
					s.takes = 100 * time.Millisecond
				}
				got := f.counts(3000)
				for id, want := range map[string]int{"a": 1500, "b": 1000, "c": 500} {
					if !near(got[id], want, 12) {
						t.Errorf("%s had %d calls of 3000, want about %d", id, got[id], want)
					}
				}
			})
		})
	}
}

// load sends calls at a steady rate for a minute, whatever becomes of them.
func load(t *testing.T, f *field, perSecond int) {
	var all sync.WaitGroup
	for range 60 * perSecond {
		all.Go(func() {
			if _, err := f.ask(); err != nil {
				t.Errorf("a call failed: %v", err)
			}
		})
		time.Sleep(time.Second / time.Duration(perSecond))
	}
	all.Wait()
}

func TestASlowServerGetsLess(t *testing.T) {
	for policy, most := range map[string]int{plane.PolicyLeastInFlight: 25, plane.PolicyP2CEWMA: 12} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newField(t, 3, 3, weighted(policy))
				for _, s := range f.servers {
					s.takes = 100 * time.Millisecond
				}
				f.servers["c"].takes = 2 * time.Second
				load(t, f, 50)
				if got := f.servers["c"].calls(); got*100 > 3000*most {
					t.Errorf("the slow server had %d calls of 3000", got)
				}
				if a, b := f.servers["a"].calls(), f.servers["b"].calls(); !near(a, b, 15) {
					t.Errorf("the equal servers had %d and %d calls", a, b)
				}
			})
		})
	}
}

func TestLeastInFlightSpreadsByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, weighted(plane.PolicyLeastInFlight, 3, 1))
		for _, s := range f.servers {
			s.takes = time.Minute
		}
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() { _, _ = f.ask() })
		}
		synctest.Wait()
		if a, b := f.servers["a"].running(), f.servers["b"].running(); a != 30 || b != 10 {
			t.Errorf("got %d and %d calls at a time, want 30 and 10", a, b)
		}
		all.Wait()
	})
}

func TestARecoveredServerIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, weighted(plane.PolicyP2CEWMA))
		f.servers["a"].takes, f.servers["b"].takes = 100*time.Millisecond, 5*time.Second
		f.counts(50)
		f.servers["b"].set(func(s *server) { s.takes = 100 * time.Millisecond })
		before := f.servers["b"].calls()
		time.Sleep(time.Minute)
		f.counts(400)
		if got := f.servers["b"].calls() - before; got < 120 {
			t.Errorf("the recovered server had %d calls of 400", got)
		}
	})
}

func TestFastFailuresDoNotAttract(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, func(c *plane.Current, p *plane.PoolSpec) {
			p.Policy = plane.PolicyP2CEWMA
			p.Retry.Attempts = 1
			for id, u := range c.Upstreams {
				u.Breaker.Failures = -1
				c.Upstreams[id] = u
			}
		})
		f.servers["a"].takes = time.Second
		f.servers["b"].err, f.servers["b"].takes = errServer, time.Second
		f.ask()
		f.ask()
		f.servers["b"].set(func(s *server) { s.takes = 0 })
		for range 200 {
			f.ask()
		}
		if got := f.servers["b"].calls(); got > 140 {
			t.Errorf("the failing server had %d calls of 200", got)
		}
	})
}
