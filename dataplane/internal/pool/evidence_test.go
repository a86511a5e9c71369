package pool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func (f *field) stateFor(id string, from pool.From) pool.State {
	return f.Set.Members(id, from)[0].State
}

func caller(account, request string) pool.From {
	return pool.From{Account: account, Body: []byte(request)}
}

// every makes a call now and then until the context ends, and returns how many failed, and of these how many were refused unasked.
func every(ctx context.Context, f *field, w way, pause time.Duration, next func(i int) pool.From) (calls, failed, refused int) {
	for i := 0; ctx.Err() == nil; i++ {
		_, err := w.of(f, f.t.Context(), next(i))
		calls++
		if err != nil {
			failed++
		}
		if errors.Is(err, pool.ErrBroken) {
			refused++
		}
		time.Sleep(pause)
	}
	return calls, failed, refused
}

// What callers bring about must not take a model away from others, however many they are, and whether they ask the same or not.
func TestBadRequestsDoNotTakeAModelAway(t *testing.T) {
	for name, bad := range map[string]func(n, i int) pool.From{
		"one request":                      func(n, _ int) pool.From { return caller(fmt.Sprint("bad", n), "bad") },
		"always another":                   func(n, i int) pool.From { return caller(fmt.Sprint("bad", n), fmt.Sprint("bad", i)) },
		"new ones, who begin now and then": func(n, i int) pool.From { return caller(fmt.Sprint("bad", n, "-", (i+90*n)/300), "bad") },
	} {
		for _, callers := range []int{1, 2, 5} {
			for _, members := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s of %d callers, %d servers", name, callers, members), func(t *testing.T) {
					both(t, func(t *testing.T, w way) {
						f := newField(t, members, members, nil)
						for _, s := range f.servers {
							s.events, s.bad = 0, map[string]error{"bad": errServer}
							for i := range 3000 {
								s.bad[fmt.Sprint("bad", i)] = errServer
							}
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						for n := range callers {
							go every(ctx, f, w, 50*time.Millisecond, func(i int) pool.From { return bad(n, i) })
						}
						time.Sleep(5 * time.Second) // they are alone at first
						calls, failed, _ := every(ctx, f, w, 300*time.Millisecond, func(i int) pool.From { return caller("good", fmt.Sprint(i)) })
						if failed > 0 || calls < 150 {
							t.Errorf("%d of %d good calls failed", failed, calls)
						}
						time.Sleep(time.Minute)
					})
				})
			}
		}
	}
}

// Nor does one program of an account take it from the account's others, once an answer has come behind a failure.
func TestBadRequestsDoNotTakeTheirOwnAccountsModelAway(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		s := f.servers["a"]
		s.events, s.bad = 0, map[string]error{}
		for i := range 1000 {
			s.bad[fmt.Sprint("bad", i)] = errServer
		}
		w.of(f, t.Context(), caller("one", "bad0"))
		for i := range 100 {
			for n := range 5 {
				if _, err := w.of(f, t.Context(), caller("one", fmt.Sprint("good", n))); err != nil {
					t.Fatalf("round %d: %v", i, err)
				}
			}
			for n := range 10 {
				if _, err := w.of(f, t.Context(), caller("one", fmt.Sprint("bad", 10*i+n))); !errors.Is(err, errServer) {
					t.Fatalf("round %d: %v", i, err)
				}
			}
			time.Sleep(time.Second)
		}
		// When no good answer has come for a window, it is the server.
		s.set(func(s *server) { s.err = errServer })
		time.Sleep(11 * time.Second)
		for i := range 10 {
			if _, err := w.of(f, t.Context(), caller("one", fmt.Sprint(i))); errors.Is(err, pool.ErrBroken) != (i >= 5) {
				t.Errorf("call %d to a dead server: %v", i, err)
			}
		}
	})
}

// Large requests are told apart by their ends.
func TestLargeRequestsAreToldApart(t *testing.T) {
	large := func(first, last string) string { return first + strings.Repeat("x", 1<<20) + last }
	both(t, func(t *testing.T, w way) {
		for _, other := range []string{large("b", "z"), large("a", "y"), large("a", "xz")} {
			f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
			bad := large("a", "z")
			f.servers["a"].bad = map[string]error{bad: errServer}
			for range 5 {
				w.of(f, t.Context(), caller("one", bad))
			}
			if _, err := w.of(f, t.Context(), caller("one", bad)); !errors.Is(err, pool.ErrBroken) {
				t.Errorf("the same request is still asked: %v", err)
			}
			if _, err := w.of(f, t.Context(), caller("one", other)); err != nil {
				t.Errorf("another request: %v", err)
			}
		}
	})
}

// Who is alone with a server that is dead is told so at once, whatever they ask.
func TestALoneCallerOfADeadServerIsRefused(t *testing.T) {
	for name, request := range map[string]func(i int) string{
		"one request":    func(int) string { return "same" },
		"always another": func(i int) string { return fmt.Sprint(i) },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, w way) {
				f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
				a := f.servers["a"]
				a.err, a.events = errServer, 0
				for i := range 5 {
					if _, err := w.of(f, t.Context(), caller("lone", request(i))); !errors.Is(err, errServer) {
						t.Fatal(err)
					}
				}
				_, err := w.of(f, t.Context(), caller("lone", request(5)))
				if e := apierr.From(err); !errors.Is(err, pool.ErrBroken) || e.RetryAfter != time.Second || f.stateFor("a", caller("lone", request(5))) != pool.StateOpen || f.state("a") != pool.StateUp {
					t.Errorf("got %v after %v, it is %s", err, e.RetryAfter, f.stateFor("a", caller("lone", request(5))))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				before := a.calls()
				calls, failed, refused := every(ctx, f, w, 100*time.Millisecond, func(i int) pool.From { return caller("lone", request(i)) })
				if asked := a.calls() - before; asked > 6 || calls-refused != asked || failed != calls {
					t.Errorf("in a minute the server was asked %d times for %d calls, %d refused", asked, calls, refused)
				}
				a.set(func(s *server) { s.err = nil })
				time.Sleep(30 * time.Second)
				if _, err := w.of(f, t.Context(), caller("lone", request(6))); err != nil || f.stateFor("a", caller("lone", request(5))) != pool.StateUp {
					t.Errorf("it recovered: %v", err)
				}
			})
		})
	}
}

// A request that is refused for its failures does not stand for the caller's others.
func TestARepeatedRequestDoesNotTakeItsOwnCallersModelAway(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		f.servers["a"].bad = map[string]error{"bad": errServer}
		for range 5 {
			w.of(f, t.Context(), caller("one", "bad"))
		}
		if _, err := w.of(f, t.Context(), caller("one", "bad")); !errors.Is(err, pool.ErrBroken) {
			t.Errorf("the request is still asked: %v", err)
		}
		if _, err := w.of(f, t.Context(), caller("one", "good")); err != nil {
			t.Errorf("another request of the same caller: %v", err)
		}
	})
}

func TestFailuresOfDifferentCallersOpenTheBreakerForAll(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		a := f.servers["a"]
		for i := range 50 {
			if _, err := w.of(f, t.Context(), caller(fmt.Sprint(i), "hi")); err != nil {
				t.Fatal(err)
			}
		}
		a.err, a.events = errServer, 0
		before := a.calls()
		for i := range 50 {
			w.of(f, t.Context(), caller(fmt.Sprint(i), "hi"))
		}
		if got := a.calls() - before; got != 5+2 {
			t.Errorf("it was asked %d times, want five failures and two opinions", got)
		}
		if f.state("a") != pool.StateOpen {
			t.Errorf("it is %s for who did not ask", f.state("a"))
		}
		// Each round costs a probe and two opinions.
		time.Sleep(4*time.Second - time.Millisecond)
		before = a.calls()
		for i := range 50 {
			w.of(f, t.Context(), caller(fmt.Sprint(i), "hi"))
		}
		if got := a.calls() - before; got != 3 {
			t.Errorf("a round asked it %d times", got)
		}
	})
}

// A server that cannot be reached needs no witness.
func TestConnectFailuresOfOneCallerOpenTheBreakerForAll(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		a := f.servers["a"]
		a.err, a.events = errConnect, 0
		for range 5 {
			w.of(f, t.Context(), caller("one", "hi"))
		}
		for i := range 5 {
			if _, err := w.of(f, t.Context(), caller(fmt.Sprint(i), "hi")); !errors.Is(err, pool.ErrBroken) {
				t.Errorf("caller %d: %v", i, err)
			}
		}
		if a.calls() != 5 {
			t.Errorf("it was asked %d times", a.calls())
		}
		time.Sleep(time.Second)
		a.set(func(s *server) { s.err = apierr.New(apierr.BadRequest, "No.") })
		w.of(f, t.Context(), caller("one", "hi"))
		if f.state("a") != pool.StateUp {
			t.Error("it answers, and is taken for unreachable")
		}
	})
}

// A bad request that happens to be the probe says nothing for the others.
func TestABadProbeKeepsNobodyElseOut(t *testing.T) {
	rejected := apierr.New(apierr.BadRequest, "tools are not supported")
	for name, bad := range map[string]error{"in doubt": errServer, "by the request's own fault": rejected} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, w way) {
				f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
				a := f.servers["a"]
				a.err, a.events, a.bad = errServer, 0, map[string]error{"bad": bad}
				for i := range 9 {
					w.of(f, t.Context(), caller([]string{"bad", "good", "other"}[i%3], "hi"))
				}
				if _, err := w.of(f, t.Context(), caller("good", "hi")); !errors.Is(err, pool.ErrBroken) {
					t.Fatalf("a dead server is asked: %v", err)
				}
				a.set(func(s *server) { s.err = nil })
				time.Sleep(time.Second)
				for range 3 {
					w.of(f, t.Context(), caller("bad", "bad"))
				}
				if f.state("a") == pool.StateUp {
					t.Error("a bad request closed it")
				}
				if _, err := w.of(f, t.Context(), caller("good", "hi")); err != nil || f.state("a") != pool.StateUp {
					t.Errorf("the next caller: %v, it is %s", err, f.state("a"))
				}
			})
		})
	}
}

// Nobody is believed any more, since good answers came between all their failures. Then the share over the callers decides: a server
// that answers some goes on being asked, one that answers nearly nobody does not.
func TestTheShareOfFailuresOverCallers(t *testing.T) {
	for _, tt := range []struct {
		what     string
		answered func(i, who int) bool
		opens    bool
	}{
		{"a call of 40", func(i, _ int) bool { return i%40 == 0 }, true},
		{"a call of 4", func(i, _ int) bool { return i%4 == 0 }, false},
		{"one caller of 7", func(_, who int) bool { return who == 0 }, false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			both(t, func(t *testing.T, w way) {
				f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
				a := f.servers["a"]
				a.events = 0
				ask := func(i int, answered bool) {
					a.set(func(s *server) {
						if s.err = errServer; answered {
							s.err = nil
						}
					})
					w.of(f, t.Context(), caller(fmt.Sprint(i%7), "hi"))
					time.Sleep(10 * time.Millisecond)
				}
				for i := range 400 {
					ask(i, i%4 == 0)
				}
				if len(f.states) > 0 {
					t.Fatalf("three failures in a row opened it: %v", f.states)
				}
				for i := range 4000 {
					ask(i, tt.answered(i, i%7))
				}
				if opened := len(f.states) > 0; opened != tt.opens {
					t.Errorf("opened: %t, %v", opened, f.states)
				}
			})
		})
	}
}

// Streams of one caller that break off are that caller's, too.
func TestBrokenStreamsOfOneCallerDoNotTakeAModelAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, nil)
		f.servers["a"].cut = errServer
		for range 5 {
			ways[1].of(f, t.Context(), caller("bad", "hi"))
		}
		if _, err := ways[1].of(f, t.Context(), caller("bad", "other")); !errors.Is(err, pool.ErrBroken) {
			t.Errorf("the caller itself: %v", err)
		}
		f.servers["a"].cut = nil
		if _, err := ways[1].of(f, t.Context(), caller("good", "hi")); err != nil {
			t.Errorf("another caller: %v", err)
		}

		f.servers["a"].cut = errServer
		for i := range 5 {
			ways[1].of(f, t.Context(), caller(fmt.Sprint(i), "hi"))
		}
		if _, err := ways[1].of(f, t.Context(), caller("0", "hi")); !errors.Is(err, pool.ErrBroken) {
			t.Errorf("streams of many callers broke off: %v", err)
		}
	})
}

// What opened the breaker for one caller long ago does not count when others fail today.
func TestOldEvidenceIsForgotten(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		f := newField(t, 1, 1, guarded(func(*plane.UpstreamSpec) {}))
		a := f.servers["a"]
		a.err, a.events = errServer, 0
		for range 5 {
			w.of(f, t.Context(), caller("once", "hi"))
		}
		time.Sleep(time.Hour)
		w.of(f, t.Context(), caller("b", "hi"))
		w.of(f, t.Context(), caller("c", "hi"))
		if _, err := w.of(f, t.Context(), caller("d", "hi")); !errors.Is(err, errServer) || f.state("a") != pool.StateUp {
			t.Errorf("three failures opened it: %v, it is %s", err, f.state("a"))
		}
	})
}
