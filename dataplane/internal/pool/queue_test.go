package pool_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// capped gives every upstream a concurrency and the pool a queue.
func capped(concurrency, length int, wait time.Duration) func(*plane.Current, *plane.PoolSpec) {
	return func(c *plane.Current, p *plane.PoolSpec) {
		p.Queue = plane.Queue{Length: length, MaxWaitMS: wait.Milliseconds()}
		for id, u := range c.Upstreams {
			u.Concurrency = concurrency
			c.Upstreams[id] = u
		}
	}
}

func TestTheCapHoldsAndTheQueueIsFair(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 2, 2, capped(3, 100, 10*time.Minute))
		for _, s := range f.servers {
			s.takes, s.events = time.Second, 1
		}
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		began := time.Now()
		for i := range 60 {
			all.Go(func() {
				facts, err := w.ask(f, t.Context())
				if err != nil {
					t.Error(err)
				}
				if want := time.Duration(i/6) * time.Second; facts.Queued.Round(100*time.Millisecond) != want {
					t.Errorf("call %d waited %v, want about %v", i, facts.Queued, want)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			})
			time.Sleep(time.Nanosecond)
		}
		all.Wait()
		if !slices.IsSorted(order) {
			t.Errorf("not in order of arrival: %v", order)
		}
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("60 calls of a second, 6 at a time, took %v", took)
		}
		for id, s := range f.servers {
			if s.most != 3 {
				t.Errorf("%s had %d calls at a time", id, s.most)
			}
		}
		if got := f.heard("p waited served"); got != 54 {
			t.Errorf("%d waits were told", got)
		}
	})
}

func TestAFullQueueRefuses(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, capped(1, 2, 5*time.Second))
		f.servers["a"].takes, f.servers["a"].events = time.Minute, 60
		ctx, cancel := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				began := time.Now()
				_, err := w.ask(f, ctx)
				if i > 0 && (!errors.Is(err, pool.ErrBusy) || time.Since(began) != 5*time.Second) {
					t.Errorf("a call in the queue: %v after %v", err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		began := time.Now()
		_, err := w.ask(f, ctx)
		if e := apierr.From(err); !errors.Is(err, pool.ErrBusy) || e.Kind.Status() != 503 || e.RetryAfter != 5*time.Second || time.Since(began) != 0 {
			t.Errorf("got %v, %v after %v", err, e.RetryAfter, time.Since(began))
		}
		time.Sleep(6 * time.Second)
		cancel(call.ErrClientGone)
		all.Wait()
		if f.heard("p waited full") != 1 || f.heard("p waited timed_out") != 2 || f.servers["a"].calls() != 1 {
			t.Errorf("told %v", f.told)
		}
	})
}

func TestAnAbandonedPlaceIsGivenOn(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, capped(1, 10, 10*time.Minute))
		f.servers["a"].takes, f.servers["a"].events = 10*time.Second, 10
		ctx, cancel := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		all.Go(func() { w.ask(f, t.Context()) })
		synctest.Wait()
		all.Go(func() {
			if _, err := w.ask(f, ctx); !errors.Is(err, call.ErrClientGone) {
				t.Errorf("the abandoned call: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if facts, err := w.ask(f, t.Context()); err != nil || facts.Queued != 10*time.Second {
				t.Errorf("the one behind it: %+v, %v", facts, err)
			}
		})
		time.Sleep(time.Second)
		began := time.Now()
		cancel(call.ErrClientGone)
		synctest.Wait()
		if time.Since(began) != 0 || f.heard("p waited abandoned") != 1 {
			t.Errorf("told %v after %v", f.told, time.Since(began))
		}
		f.servers["a"].set(func(s *server) { s.takes = 0 })
		all.Wait()
	})
}

// A call that is served in the moment its context ends must hand the slot on.
func TestASlotIsNeverLostToARace(t *testing.T) {
	f := newField(t, 1, 1, capped(1, 100, 10*time.Minute))
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { f.pool("p").Ask(ctx, nil) })
			all.Go(func() { f.ask() })
		}
		cancel()
		all.Wait()
	}
	if f.Members("p")[0].InFlight != 0 {
		t.Error("a slot was lost")
	}
}

func TestThePoolsOwnCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, func(_ *plane.Current, p *plane.PoolSpec) {
			p.Concurrency, p.Queue.MaxWaitMS = 3, 60_000
		})
		for _, s := range f.servers {
			s.takes = time.Second
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() {
				if _, err := f.ask(); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if now := f.servers["a"].running() + f.servers["b"].running(); now != 3 {
			t.Errorf("%d at a time", now)
		}
		all.Wait()
		if time.Since(began) != 3*time.Second {
			t.Errorf("took %v", time.Since(began))
		}
	})
}

func TestACapIsSharedByThePoolsOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, capped(1, 10, time.Minute))
		f.servers["a"].takes = 100 * time.Millisecond
		var all sync.WaitGroup
		for _, id := range []string{"p", "a", "p", "a"} {
			all.Go(func() {
				if _, err := f.pool(id).Ask(t.Context(), nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if f.servers["a"].most != 1 {
			t.Errorf("%d at a time", f.servers["a"].most)
		}
	})
}

func TestTheQueueIsRefusedWhenTheLastBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, func(c *plane.Current, p *plane.PoolSpec) {
			capped(1, 10, 10*time.Minute)(c, p)
			p.Retry.Attempts = 1
			u := c.Upstreams["a"]
			u.Breaker.Failures = 1
			c.Upstreams["a"] = u
		})
		f.servers["a"].takes, f.servers["a"].err = time.Second, errServer
		var all sync.WaitGroup
		all.Go(func() { f.ask() })
		synctest.Wait()
		all.Go(func() {
			began := time.Now()
			if _, err := f.ask(); !errors.Is(err, pool.ErrBroken) || time.Since(began) != time.Second {
				t.Errorf("got %v after %v", err, time.Since(began))
			}
		})
		all.Wait()
	})
}

func TestAnUpstreamThatPanicsGivesItsSlotBack(t *testing.T) {
	f := newField(t, 1, 1, nil)
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			_ = f.pool("p").Do(t.Context(), pool.From{}, nil, func(context.Context, string) error { panic("bug") })
		}()
	}
	if f.Members("p")[0].InFlight != 0 {
		t.Error("a slot was lost")
	}
}

// A call that comes in the moment a member comes back does not overtake those who waited for it.
func TestNobodyOvertakesTheQueue(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			f := newField(t, 1, 1, capped(1, 10, time.Minute))
			f.servers["a"].takes = time.Second
			f.servers["a"].script = []error{apierr.New(apierr.Limited, "Slow down.").After(time.Second)}
			var mu sync.Mutex
			var order []string
			var all sync.WaitGroup
			for _, name := range []string{"first", "second"} {
				all.Go(func() {
					if _, err := f.ask(); err != nil {
						t.Error(err)
					}
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
				})
				time.Sleep(2 * time.Second) // the first is told at 1 s to come back at 2 s, when the second comes
			}
			all.Wait()
			if order[0] != "first" {
				t.Errorf("got %v", order)
			}
		})
	}
}

func TestASlotHandedToACallThatEndsIsGivenOn(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			f := newField(t, 1, 1, capped(1, 10, time.Minute))
			f.servers["a"].takes = time.Second
			var all sync.WaitGroup
			all.Go(func() { f.ask() })
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			all.Go(func() { f.pool("p").Ask(ctx, nil) })
			synctest.Wait()
			all.Go(func() {
				if facts, err := ways[0].ask(f, t.Context()); err != nil || facts.Queued != time.Second {
					t.Errorf("the next: %+v, %v", facts, err)
				}
			})
			all.Wait()
		})
	}
}

func TestAMemberThatIsWellAgainServesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, func(c *plane.Current, p *plane.PoolSpec) {
			capped(1, 10, 10*time.Minute)(c, p)
			a := c.Upstreams["a"]
			a.Health = plane.Health{Path: "/health", IntervalMS: 1000}
			c.Upstreams["a"] = a
		})
		f.well["a"] = errors.New("sick")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = f.Run(ctx) })
		time.Sleep(5 * time.Second)
		f.servers["b"].takes = 10 * time.Minute
		all.Go(func() { f.pool("p").Ask(ctx, nil) })
		synctest.Wait()
		all.Go(func() {
			began := time.Now()
			if id, err := f.ask(); id != "a" || err != nil || time.Since(began) > 5*time.Second {
				t.Errorf("got %s, %v after %v", id, err, time.Since(began))
			}
			cancel()
		})
		time.Sleep(2 * time.Second)
		f.mu.Lock()
		f.well["a"] = nil
		f.mu.Unlock()
		all.Wait()
	})
}
