package pool_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func guarded(change func(u *plane.UpstreamSpec)) func(*plane.Current, *plane.PoolSpec) {
	return func(c *plane.Current, p *plane.PoolSpec) {
		p.Retry.Attempts = 1
		for id, u := range c.Upstreams {
			change(&u)
			c.Upstreams[id] = u
		}
	}
}

func TestBreakerLifeCycle(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(u *plane.UpstreamSpec) { u.Breaker.BackOffMaxMS = 3000 }))
		a := f.servers["a"]
		a.err = errServer
		for range 5 {
			if _, err := w.ask(f, t.Context()); !errors.Is(err, errServer) {
				t.Fatal(err)
			}
		}
		if f.state("a") != pool.StateOpen {
			t.Fatalf("five failures left it %s", f.state("a"))
		}
		// Failed probes double the back-off up to its bound.
		for _, backOff := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			before := a.calls()
			_, err := w.ask(f, t.Context())
			if e := apierr.From(err); !errors.Is(err, pool.ErrBroken) || e.RetryAfter != backOff || e.Kind.Status() != 503 {
				t.Fatalf("while open: got %v after %v, want %v", err, e.RetryAfter, backOff)
			}
			time.Sleep(backOff - time.Millisecond)
			w.ask(f, t.Context())
			if a.calls() != before {
				t.Fatal("it was asked before its back-off had passed")
			}
			time.Sleep(time.Millisecond)
			if f.state("a") != pool.StateProbing {
				t.Fatalf("after the back-off it is %s", f.state("a"))
			}
			if _, err := w.ask(f, t.Context()); !errors.Is(err, errServer) || a.calls() != before+1 {
				t.Fatalf("the probe: %v, %d calls", err, a.calls()-before)
			}
		}
		// A good one closes it, and the next back-off is the first again.
		time.Sleep(3 * time.Second)
		a.set(func(s *server) { s.err = nil })
		if _, err := w.ask(f, t.Context()); err != nil || f.state("a") != pool.StateUp {
			t.Fatalf("a good probe left it %s: %v", f.state("a"), err)
		}
		a.set(func(s *server) { s.err = errServer })
		for range 5 {
			w.ask(f, t.Context())
		}
		if back := f.Members("a")[0].Back; back != time.Second {
			t.Errorf("the back-off begins with %v", back)
		}
		if want := []string{"a open", "a probing", "a open"}; !slices.Equal(f.states[:3], want) {
			t.Errorf("told %v", f.states)
		}
	})
}

func TestHalfOpenAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		a := f.servers["a"]
		a.err = errServer
		for range 5 {
			f.ask()
		}
		time.Sleep(time.Second)
		a.set(func(s *server) { s.err, s.takes = nil, 900*time.Millisecond })
		before := a.calls()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { f.ask() })
		}
		all.Wait()
		if got := a.calls() - before; got != 1 {
			t.Errorf("%d probes at a time", got)
		}
		if f.state("a") != pool.StateUp {
			t.Error("the probe did not close it")
		}
	})
}

func TestAnUndecidedProbeDoesNotLockTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		a := f.servers["a"]
		a.err = errServer
		for range 5 {
			f.ask()
		}
		time.Sleep(time.Second)
		a.set(func(s *server) { s.err, s.takes = nil, time.Hour })
		before := a.calls()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() { f.pool("p").Ask(ctx, nil) })
			time.Sleep(time.Second)
		}
		if got := a.calls() - before; got < 4 || got > 8 {
			t.Errorf("%d probes in a minute", got)
		}
		cancel()
		all.Wait()
		a.set(func(s *server) { s.takes = 0 })
		if _, err := f.ask(); err != nil {
			t.Errorf("probes that were abandoned count against it: %v", err)
		}
	})
}

func TestBreakerCountsFailuresInARowWithinTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		a := f.servers["a"]
		a.script = []error{errServer, errServer, errServer, errServer, nil, errServer, errServer, errServer, errServer}
		for range 9 {
			f.ask()
		}
		if f.state("a") != pool.StateUp {
			t.Error("failures with a success between opened it")
		}
		f.ask()
		a.err = errServer
		for range 20 {
			f.ask()
			time.Sleep(3 * time.Second)
		}
		if f.state("a") != pool.StateUp {
			t.Error("failures further apart than the window opened it")
		}
		for range 5 {
			f.ask()
		}
		if f.state("a") != pool.StateOpen {
			t.Error("failures in a row did not open it")
		}
	})
}

func TestNeutralAnswersDoNotOpenTheBreaker(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		for _, err := range []error{apierr.New(apierr.BadRequest, "No."), apierr.New(apierr.Limited, "Slow down.")} {
			f.servers["a"].err = err
			for range 20 {
				w.ask(f, t.Context())
				time.Sleep(time.Second)
			}
			if f.state("a") != pool.StateUp || f.servers["a"].calls()%20 != 0 {
				t.Errorf("%v opened it", err)
			}
		}
	})
}

func TestBreakerHonoursRetryAfter(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(u *plane.UpstreamSpec) { u.Breaker.Failures = 1 }))
		f.servers["a"].err = apierr.New(apierr.BadGateway, "Overloaded.").After(7 * time.Second)
		w.ask(f, t.Context())
		_, err := w.ask(f, t.Context())
		if e := apierr.From(err); !errors.Is(err, pool.ErrBroken) || e.RetryAfter != 7*time.Second {
			t.Errorf("got %v after %v", err, e.RetryAfter)
		}
	})
}

func TestAnOutageCostsFewAttempts(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 2, 2, nil)
		f.servers["a"].err, f.servers["b"].events = errServer, 0
		for range 600 { // ten a second for a minute
			if _, err := w.ask(f, t.Context()); err != nil {
				t.Fatalf("a call failed although b is well: %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got := f.servers["a"].calls(); got > 12 {
			t.Errorf("the server that was down was asked %d times", got)
		}
	})
}

func TestStreamsThatBreakOffOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, nil)
		f.servers["a"].cut = errServer
		for range 5 {
			if facts, err := ways[1].ask(f, t.Context()); !errors.Is(err, errServer) || facts.Attempts != 1 {
				t.Fatalf("got %+v, %v", facts, err)
			}
		}
		if f.state("a") != pool.StateOpen || f.heard("p/a broken") != 5 || f.heard("p/a ok") != 5 {
			t.Errorf("it is %s, told %v", f.state("a"), f.told)
		}
	})
}

func TestHealthChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, guarded(func(u *plane.UpstreamSpec) { u.Health.Path = "/health" }))
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- f.Run(ctx) }()
		set := func(id string, err error, wait time.Duration) {
			f.mu.Lock()
			f.well[id] = err
			f.mu.Unlock()
			time.Sleep(wait)
		}
		sick := errors.New("sick")
		set("a", sick, 9*time.Second)
		if f.state("a") != pool.StateUp {
			t.Error("it is down before three bad answers")
		}
		time.Sleep(12 * time.Second)
		if f.state("a") != pool.StateDown {
			t.Error("it is not down after three bad answers")
		}
		if got := f.counts(10); got["a"] != 0 {
			t.Errorf("the sick server had %d calls", got["a"])
		}
		set("b", sick, 21*time.Second)
		if got := f.counts(10); got["a"] != 5 || got["b"] != 5 || f.heard("p/a panic") != 5 {
			t.Errorf("all down: got %v, want them asked as if they were well; told %v", got, f.told)
		}
		set("a", nil, 11*time.Second)
		if got := f.counts(10); got["a"] != 10 {
			t.Errorf("one back: got %v", got)
		}
		if n := f.heard("probe a /health"); n < 9 || n > 12 {
			t.Errorf("%d questions in 53 s", n)
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

func TestAGoodHealthCheckEndsTheBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, guarded(func(u *plane.UpstreamSpec) {
			u.Health = plane.Health{Path: "/health", IntervalMS: 1000}
			u.Breaker.BackOffMS, u.Breaker.BackOffMaxMS = 60_000, 60_000
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { _ = f.Run(ctx) })
		f.servers["a"].script = []error{errServer, errServer, errServer, errServer, errServer}
		for range 5 {
			f.ask()
		}
		time.Sleep(1100 * time.Millisecond)
		if _, err := f.ask(); err != nil {
			t.Error(err)
		}
		cancel()
		run.Wait()
	})
}

func TestHTTPProbe(t *testing.T) {
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("asked for %s with %q", r.URL, r.Header.Get("Authorization"))
		}
		w.WriteHeader(status)
	}))
	defer s.Close()
	probe := pool.HTTPProbe(s.Client().Transport, func(name string) string { return map[string]string{"key": "secret"}[name] })
	spec := plane.UpstreamSpec{BaseURL: s.URL + "/v1", Credential: "key"}
	for code, well := range map[int]bool{200: true, 204: true, 301: false, 404: false, 503: false} {
		status = code
		if err := probe(t.Context(), spec, "/health"); (err == nil) != well {
			t.Errorf("%d: %v", code, err)
		}
	}
	if err := probe(t.Context(), spec, "//elsewhere/health"); err == nil {
		t.Error("the credential would be sent to another host")
	}
	s.Close()
	if err := probe(t.Context(), spec, "/health"); err == nil {
		t.Error("a server that is gone is well")
	}
}

func TestCallsFromBeforeTheBreakerOpenedDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		f.servers["a"].takes, f.servers["a"].err = time.Second, errServer
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { f.ask() })
		}
		all.Wait()
		if back := f.Members("a")[0].Back; back != time.Second {
			t.Errorf("twenty failures at once keep it out for %v", back)
		}
	})
}

func TestADueProbeIsMadeAlthoughOthersAreWell(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 2, 2, nil)
		f.servers["a"].err = errServer
		for range 12 {
			w.ask(f, t.Context())
		}
		if f.state("a") != pool.StateOpen && f.state("a") != pool.StateProbing {
			t.Fatalf("it is %s", f.state("a"))
		}
		f.servers["a"].set(func(s *server) { s.err = nil })
		time.Sleep(time.Minute)
		if facts, err := w.ask(f, t.Context()); facts.Upstream != "a" || err != nil || f.state("a") != pool.StateUp {
			t.Errorf("got %+v, %v", facts, err)
		}
	})
}

func TestAMemberThatThisNodeCannotAskIsLeftAlone(t *testing.T) {
	for _, policy := range []string{plane.PolicyLeastInFlight, plane.PolicyP2CEWMA} {
		both(t, func(t *testing.T, w way) {
			f := newField(t, 2, 2, func(_ *plane.Current, p *plane.PoolSpec) { p.Policy = policy })
			delete(f.servers, "a")
			for range 200 {
				if facts, err := w.ask(f, t.Context()); err != nil || facts.Upstream != "b" {
					t.Fatalf("%+v, %v", facts, err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if got := f.heard("p/a refused"); got > 20 {
				t.Errorf("it was tried %d times", got)
			}
		})
	}
}
