package pool_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// with returns the configuration changed.
func (f *field) with(change func(c *plane.Current, p *plane.PoolSpec)) *plane.Current {
	c := &plane.Current{
		Models: maps.Clone(f.config.Models), Upstreams: maps.Clone(f.config.Upstreams), Pools: maps.Clone(f.config.Pools),
	}
	p := c.Pools["p"]
	p.Members = append([]plane.Member(nil), p.Members...)
	change(c, &p)
	if p.ID != "" {
		c.Pools["p"] = p
	}
	return c
}

func TestUpdateKeepsWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 3, 2, nil)
		f.servers["a"].err = errServer
		for range 10 {
			f.ask()
		}
		if f.state("a") != pool.StateOpen {
			t.Fatal("it is not open")
		}
		f.servers["b"].takes = time.Minute
		var all sync.WaitGroup
		all.Go(func() { f.ask() })
		synctest.Wait()
		f.Update(f.with(func(_ *plane.Current, p *plane.PoolSpec) {
			p.Members = []plane.Member{{Upstream: "c", Weight: 2}, {Upstream: "b"}, {Upstream: "a"}}
		}))
		got := map[string]pool.MemberStatus{}
		for _, m := range f.Members("p") {
			got[m.Upstream] = m
		}
		if got["a"].State != pool.StateOpen || got["b"].InFlight != 1 || got["c"].State != pool.StateUp {
			t.Errorf("got %+v", got)
		}
		moved := f.with(func(c *plane.Current, _ *plane.PoolSpec) {
			for id, u := range c.Upstreams {
				u.BaseURL = "http://moved/v1"
				c.Upstreams[id] = u
			}
		})
		f.Update(moved)
		if f.state("a") != pool.StateUp || f.Members("b")[0].InFlight != 1 {
			t.Errorf("another server keeps the old one's breaker or loses its calls: %+v", f.Members("p"))
		}
		all.Wait()
	})
}

func TestARemovedMemberKeepsItsCallsAndTheirCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, capped(1, 10, 10*time.Minute))
		f.servers["a"].takes = 10 * time.Second
		var all sync.WaitGroup
		all.Go(func() {
			if id, err := f.ask(); id != "a" || err != nil {
				t.Errorf("the call at the removed member: %s, %v", id, err)
			}
		})
		synctest.Wait()
		f.Update(f.with(func(c *plane.Current, p *plane.PoolSpec) {
			p.Members = p.Members[1:]
			delete(c.Upstreams, "a")
		}))
		if got := f.counts(5); got["b"] != 5 {
			t.Errorf("got %v", got)
		}
		f.Update(f.config)
		if m := f.Members("a")[0]; m.InFlight != 1 {
			t.Errorf("it came back with %d calls", m.InFlight)
		}
		all.Wait()
	})
}

func TestTheLastCallOfARemovedMemberServesThePoolsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, func(_ *plane.Current, p *plane.PoolSpec) { p.Concurrency, p.Queue.MaxWaitMS = 1, 60_000 })
		f.servers["a"].takes = time.Second
		var all sync.WaitGroup
		all.Go(func() { f.ask() })
		synctest.Wait()
		f.Update(f.with(func(c *plane.Current, p *plane.PoolSpec) {
			p.Members = p.Members[1:]
			delete(c.Upstreams, "a")
		}))
		all.Go(func() {
			if facts, err := ways[0].ask(f, t.Context()); err != nil || facts.Queued != time.Second {
				t.Errorf("got %+v, %v", facts, err)
			}
		})
		all.Wait()
	})
}

func TestANewMemberServesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 1, capped(1, 10, 10*time.Minute))
		f.servers["a"].takes = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { f.pool("p").Ask(ctx, nil) })
		synctest.Wait()
		all.Go(func() {
			if id, err := f.ask(); id != "b" || err != nil {
				t.Errorf("got %s, %v", id, err)
			}
			cancel()
		})
		synctest.Wait()
		f.Update(f.with(func(_ *plane.Current, p *plane.PoolSpec) { p.Members = append(p.Members, plane.Member{Upstream: "b"}) }))
		all.Wait()
	})
}

func TestARemovedPoolRefusesItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, capped(1, 10, 10*time.Minute))
		f.servers["a"].takes = time.Minute
		p := f.pool("p")
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := p.Ask(t.Context(), nil); err != nil {
				t.Errorf("the running call: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			began := time.Now()
			if _, err := p.Ask(t.Context(), nil); !errors.Is(err, pool.ErrEmpty) || time.Since(began) != time.Second {
				t.Errorf("the waiting call: %v after %v", err, time.Since(began))
			}
		})
		time.Sleep(time.Second)
		f.Update(&plane.Current{})
		if _, ok := f.Get("p"); ok {
			t.Error("it is still there")
		}
		if _, err := p.Ask(t.Context(), nil); apierr.From(err).Kind != apierr.Unavailable {
			t.Errorf("a new call: %v", err)
		}
		all.Wait()
	})
}

func TestWhatTheCheckWouldRefuseIsLeftOut(t *testing.T) {
	f := newField(t, 4, 2, nil)
	f.servers["a"].err = failing(plane.FailTimeout)
	f.Update(f.with(func(c *plane.Current, p *plane.PoolSpec) {
		d := c.Upstreams["d"]
		d.Simulator = true
		c.Upstreams["d"] = d
		p.Members = []plane.Member{{Upstream: "a"}, {Upstream: "d"}, {Upstream: "x"}, {Upstream: "a"}}
		p.Fallbacks = []plane.Fallback{{Upstream: "d"}, {Upstream: "x"}, {Upstream: "p"}}
	}))
	for range 3 {
		if _, err := f.ask(); err == nil {
			t.Error("somebody else answered")
		}
	}
	if len(f.Members("p")) != 1 || f.servers["d"].calls() != 0 {
		t.Errorf("a simulator stands in for a real server: %+v", f.Members("p"))
	}
}

func TestWeightsMayChangeWhileCallsRun(t *testing.T) {
	f := newField(t, 2, 2, nil)
	f.counts(10)
	f.Update(f.with(func(_ *plane.Current, p *plane.PoolSpec) { p.Members[0].Weight = 3 }))
	if got := f.counts(400); !near(got["a"], 300, 2) {
		t.Errorf("got %v", got)
	}
}

// Whatever happens at the same time, nothing is lost: calls end, slots come back, and no goroutine stays.
func TestChurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 4, 3, func(c *plane.Current, p *plane.PoolSpec) {
			capped(4, 20, 500*time.Millisecond)(c, p)
			for id, u := range c.Upstreams {
				u.Health = plane.Health{Path: "/health", IntervalMS: 700}
				c.Upstreams[id] = u
			}
			p.Fallbacks = []plane.Fallback{{Upstream: "d"}}
			p.Policy = plane.PolicyP2CEWMA
		})
		stop, cancel := context.WithCancel(t.Context())
		var all, run sync.WaitGroup
		run.Go(func() { _ = f.Run(stop) })
		var ok, failed atomic.Int64
		for i := range 40 {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			all.Go(func() {
				for range 200 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(3*time.Second))))
					if _, err := ways[r.IntN(2)].ask(f, ctx); err == nil {
						ok.Add(1)
					} else {
						failed.Add(1)
					}
					cancel()
					time.Sleep(time.Duration(r.Int64N(int64(200 * time.Millisecond))))
				}
			})
		}
		r := rand.New(rand.NewPCG(3, 4))
		errs := []error{nil, nil, nil, nil, nil, nil, errServer, errConnect, apierr.New(apierr.Limited, "Slow down.").After(time.Second)}
		for range 150 {
			for id, s := range f.servers {
				s.set(func(s *server) {
					s.err, s.takes = errs[r.IntN(len(errs))], time.Duration(r.Int64N(int64(200*time.Millisecond)))
				})
				f.mu.Lock()
				f.well[id] = errs[r.IntN(7)]
				f.mu.Unlock()
			}
			f.Update(f.with(func(c *plane.Current, p *plane.PoolSpec) {
				for i := range p.Members {
					p.Members[i].Weight = 1 + r.IntN(5)
				}
				gone := r.IntN(4)
				if gone < 3 {
					delete(c.Upstreams, p.Members[gone].Upstream)
				}
				p.Policy = []string{plane.PolicyRoundRobin, plane.PolicyLeastInFlight, plane.PolicyP2CEWMA}[r.IntN(3)]
			}))
			time.Sleep(200 * time.Millisecond)
		}
		f.Update(f.config)
		all.Wait()
		cancel()
		run.Wait()
		if ok.Load()+failed.Load() != 40*200 || ok.Load() < 1000 {
			t.Errorf("%d calls succeeded, %d failed", ok.Load(), failed.Load())
		}
		for id, s := range f.servers {
			if s.most > 4 {
				t.Errorf("%s had %d calls at a time", id, s.most)
			}
		}
	})
}
