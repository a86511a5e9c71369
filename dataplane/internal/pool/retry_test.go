package pool_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func TestAFailureIsTriedElsewhere(t *testing.T) {
	limited := apierr.New(apierr.Limited, "Slow down.")
	for name, err := range map[string]error{
		"connect": errConnect, "server error": errServer, "limited": limited, "limited with time": limited.After(time.Minute),
		"refused": failing(plane.FailRefused), "busy": apierr.New(apierr.Unavailable, "All connections are in use."),
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, w way) {
				f := newField(t, 2, 2, nil)
				f.servers["a"].err = err
				facts, err := w.ask(f, t.Context())
				want := pool.Facts{Pool: "p", Upstream: "b", Attempts: 2}
				if err != nil || facts != want {
					t.Errorf("got %+v, %v", facts, err)
				}
			})
		})
	}
}

func TestOtherFailuresAreNotTriedAgain(t *testing.T) {
	for name, err := range map[string]error{
		"timeout": failing(plane.FailTimeout), "invalid answer": failing(plane.FailInvalidAnswer),
		"bad request": apierr.New(apierr.BadRequest, "max_tokens is too large."), "bug": errors.New("bug"),
		"forbidden retry": apierr.New(apierr.BadGateway, "Once only.").Because(once{}),
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, w way) {
				f := newField(t, 2, 2, nil)
				f.servers["a"].err = err
				if facts, got := w.ask(f, t.Context()); !errors.Is(got, err) || facts.Attempts != 1 {
					t.Errorf("got %+v, %v", facts, got)
				}
			})
		})
	}
}

// once is an error that forbids another attempt.
type once struct{}

func (once) Error() string   { return "once" }
func (once) Retryable() bool { return false }

func TestAttemptsAreCapped(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, nil)
		f.servers["a"].err = errAway
		began := time.Now()
		facts, err := w.ask(f, t.Context())
		if !errors.Is(err, errAway) || facts.Attempts != 3 || f.heard("p held attempts") != 1 {
			t.Errorf("got %+v, %v, told %v", facts, err, f.told)
		}
		if took := time.Since(began); took < 75*time.Millisecond || took > 150*time.Millisecond || facts.Queued != took {
			t.Errorf("the pauses before the same server took %v, reported %v", took, facts.Queued)
		}
	})
}

// A server that gives the same error twice gives it a third time. Another one may do better.
func TestTheSameErrorIsNotAskedForAThirdTime(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 2, 1, func(_ *plane.Current, p *plane.PoolSpec) { p.Retry.Attempts = 5 })
		f.servers["a"].err = errServer
		if facts, err := w.ask(f, t.Context()); !errors.Is(err, errServer) || facts.Attempts != 2 {
			t.Errorf("one server: got %+v, %v", facts, err)
		}
	})
	both(t, func(t *testing.T, w way) {
		f := newField(t, 2, 2, func(_ *plane.Current, p *plane.PoolSpec) { p.Retry.Attempts = 5 })
		f.servers["a"].err, f.servers["b"].err = errServer, errServer
		w.ask(f, t.Context())
		if a, b := f.servers["a"].calls(), f.servers["b"].calls(); a != 2 || b != 2 {
			t.Errorf("two servers: a was asked %d times, b %d times", a, b)
		}
	})
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, func(_ *plane.Current, p *plane.PoolSpec) { p.Retry.Attempts = 3 })
		f.servers["a"].err = errConnect // says nothing about the request
		if facts, _ := w.ask(f, t.Context()); facts.Attempts != 3 {
			t.Errorf("no answer: got %+v", facts)
		}
	})
}

func TestARefusalIsNotRepeatedAtTheSameServer(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, nil)
		f.servers["a"].err = failing(plane.FailRefused)
		if facts, err := w.ask(f, t.Context()); err == nil || facts.Attempts != 1 {
			t.Errorf("got %+v, %v", facts, err)
		}
	})
}

func TestRetryBudgetUnderAStorm(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		const seconds, perSecond, minimum = 60, 100, 3
		f := newField(t, 3, 3, func(c *plane.Current, _ *plane.PoolSpec) {
			for id, u := range c.Upstreams {
				u.Breaker.Failures = -1 // or it would be the breaker that holds the storm
				c.Upstreams[id] = u
			}
		})
		for _, s := range f.servers {
			s.err = errServer
		}
		var attempts atomic.Int64
		var all sync.WaitGroup
		for range seconds * perSecond {
			all.Go(func() {
				facts, err := w.ask(f, t.Context())
				if err == nil {
					t.Error("a call succeeded")
				}
				attempts.Add(int64(facts.Attempts))
			})
			time.Sleep(time.Second / perSecond)
		}
		all.Wait()
		const calls = seconds * perSecond
		most := int64(calls + calls/10 + minimum*(seconds+1))
		if got := attempts.Load(); got > most || got < calls+calls/10-1 {
			t.Errorf("%d calls made %d attempts, at most %d are allowed and most of them wanted", calls, got, most)
		}
		if f.heard("p held budget") == 0 {
			t.Error("nobody was told that the budget held")
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 2, 2, nil)
		f.servers["a"].script = []error{apierr.New(apierr.Limited, "Slow down.").After(30 * time.Second)}
		began := time.Now()
		for time.Since(began) < 30*time.Second {
			if _, err := w.ask(f, t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if got := f.servers["a"].calls(); got != 1 {
			t.Errorf("it was asked %d times before its time", got)
		}
		if f.state("a") != pool.StateUp {
			t.Error("it did not come back")
		}
		w.ask(f, t.Context())
		w.ask(f, t.Context())
		if got := f.servers["a"].calls(); got != 2 {
			t.Errorf("it was asked %d times after its time", got-1)
		}
	})
}

func TestACallWaitsForRetryAfterIfItFits(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, nil)
		limited := apierr.New(apierr.Limited, "Slow down.").After(1500 * time.Millisecond)
		f.servers["a"].script = []error{limited}
		facts, err := w.ask(f, t.Context())
		if err != nil || facts.Attempts != 2 || facts.Queued != 1500*time.Millisecond {
			t.Errorf("fits: got %+v, %v", facts, err)
		}

		f.servers["a"].set(func(s *server) { s.script = []error{limited} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if facts, err := w.ask(f, ctx); apierr.From(err).Kind != apierr.Limited || facts.Attempts != 1 || time.Since(began) != 0 {
			t.Errorf("over the deadline: got %+v, %v after %v", facts, err, time.Since(began))
		}
		time.Sleep(time.Minute)

		f.servers["a"].set(func(s *server) { s.script = []error{limited.After(time.Minute)} })
		if _, err := w.ask(f, t.Context()); apierr.From(err).RetryAfter != time.Minute {
			t.Errorf("over the longest wait: got %v", err)
		}
		time.Sleep(10 * time.Second)
		_, err = w.ask(f, t.Context())
		if e := apierr.From(err); !errors.Is(err, pool.ErrResting) || e.RetryAfter != 50*time.Second || e.Kind.Status() != 429 {
			t.Errorf("while it rests: got %v after %v", err, e.RetryAfter)
		}
		if got := f.servers["a"].calls(); got != 4 {
			t.Errorf("it was asked %d times", got)
		}
	})
}

func TestAnEndedCallIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, nil)
		f.servers["a"].takes, f.servers["a"].err = time.Minute, errServer
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { time.Sleep(time.Second); cancel(call.ErrClientGone) }()
		if _, err := f.pool("p").Ask(ctx, nil); !errors.Is(err, call.ErrClientGone) {
			t.Errorf("got %v", err)
		}
		if f.servers["b"].calls() != 0 || f.heard("p/a ended") != 1 {
			t.Errorf("told %v", f.told)
		}
	})
}

func TestNoPauseOutlastsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, nil)
		f.servers["a"].err = errServer
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := f.pool("p").Ask(ctx, nil); !errors.Is(err, errServer) || time.Since(began) != 0 {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

func TestFallbacksByClassAndOrder(t *testing.T) {
	falls := func(c *plane.Current, p *plane.PoolSpec) {
		c.Models["Small"] = plane.Model{ID: "Small", Upstream: "d"}
		p.Fallbacks = []plane.Fallback{
			{On: []plane.FailureClass{plane.FailTimeout}, Upstream: "b"},
			{On: []plane.FailureClass{plane.FailServerError, plane.FailConnect}, Upstream: "c"},
			{Model: "Small"},
		}
	}
	tests := map[string]struct {
		a, c     error
		answers  string
		attempts int
		falls    int
	}{
		"timeout to the first":                 {failing(plane.FailTimeout), nil, "b", 2, 1},
		"server error to the second":           {errServer, nil, "c", 3, 1},
		"the second fails, too":                {errServer, failing(plane.FailInvalidAnswer), "d", 4, 2},
		"what no class names to the catch-all": {failing(plane.FailInvalidAnswer), nil, "d", 2, 1},
		"limits to the catch-all":              {apierr.New(apierr.Limited, "Slow down.").After(time.Minute), nil, "d", 2, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, w way) {
				f := newField(t, 4, 1, falls)
				f.servers["a"].err, f.servers["c"].err = tt.a, tt.c
				facts, err := w.ask(f, t.Context())
				facts.Queued = 0
				if want := (pool.Facts{Pool: tt.answers, Upstream: tt.answers, Attempts: tt.attempts, Fallbacks: tt.falls}); err != nil || facts != want {
					t.Errorf("got %+v, %v, want %+v", facts, err, want)
				}
			})
		})
	}
	t.Run("the request's own fault stays", func(t *testing.T) {
		both(t, func(t *testing.T, w way) {
			f := newField(t, 4, 1, falls)
			f.servers["a"].err = apierr.New(apierr.BadRequest, "max_tokens is too large.")
			if facts, err := w.ask(f, t.Context()); err == nil || facts.Attempts != 1 || facts.Fallbacks != 0 {
				t.Errorf("got %+v, %v", facts, err)
			}
		})
	})
	t.Run("an open breaker falls back for what opened it", func(t *testing.T) {
		both(t, func(t *testing.T, w way) {
			f := newField(t, 4, 1, falls)
			f.servers["a"].err = errServer
			for range 4 { // the last one may be a probe: a stream takes as long as the first back-off
				w.ask(f, t.Context())
			}
			before := f.servers["a"].calls()
			facts, err := w.ask(f, t.Context())
			if err != nil || facts.Upstream != "c" || facts.Attempts != 1 || f.servers["a"].calls() != before {
				t.Errorf("got %+v, %v", facts, err)
			}
		})
	})
	t.Run("all fail", func(t *testing.T) {
		both(t, func(t *testing.T, w way) {
			f := newField(t, 4, 1, falls)
			f.servers["a"].err, f.servers["c"].err = errServer, failing(plane.FailInvalidAnswer)
			last := apierr.New(apierr.BadRequest, "Not that either.")
			f.servers["d"].err = last
			if _, err := w.ask(f, t.Context()); !errors.Is(err, last) {
				t.Errorf("got %v", err)
			}
		})
	})
}
