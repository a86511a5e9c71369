package pool_test

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

func TestNothingIsTriedAgainAfterTheFirstEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, func(_ *plane.Current, p *plane.PoolSpec) { p.Fallbacks = []plane.Fallback{{Upstream: "b"}} })
		f.servers["a"].cut = errServer
		var client bytes.Buffer
		s, err := f.pool("p").Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out := s.Relay(sse.NewWriter(&client, nil))
		s.Close()
		if !errors.Is(out.Err, errServer) || out.End != plane.EndUpstreamCut || f.servers["b"].calls() != 0 {
			t.Errorf("got %+v, b was asked %d times", out, f.servers["b"].calls())
		}
		if client.String() != "data: {\"type\":\"delta\",\"text\":\"a\"}\n\n" {
			t.Errorf("the client got %q", client.String())
		}
	})
}

func TestASilentStreamThatFailsIsReplaced(t *testing.T) {
	for name, err := range map[string]error{"in the pool": errServer, "by a fallback": failing(plane.FailTimeout)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newField(t, 3, 2, func(_ *plane.Current, p *plane.PoolSpec) { p.Fallbacks = []plane.Fallback{{Upstream: "c"}} })
				f.servers["a"].first, f.servers["a"].err = 30*time.Second, err
				var client bytes.Buffer
				var facts pool.Facts
				s, err := f.pool("p").OpenWith(t.Context(), pool.From{}, nil, &facts)
				if err != nil || facts.Attempts != 1 {
					t.Fatal(facts, err)
				}
				out := s.Relay(sse.NewWriter(&client, nil))
				s.Close()
				s.Close()
				answered := map[string]string{"in the pool": "b", "by a fallback": "c"}[name]
				if out.Err != nil || facts.Attempts != 2 || facts.Upstream != answered {
					t.Errorf("got %+v, %+v", out, facts)
				}
				if want := ": keep-alive\n\ndata: {\"type\":\"delta\",\"text\":\"" + answered + "\"}\n\n"; client.String() != want {
					t.Errorf("the client got %q", client.String())
				}
			})
		})
	}
}

func TestWhenAllSilentStreamsFailTheLastErrorIsTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, nil)
		last := failing(plane.FailInvalidAnswer)
		f.servers["a"].first, f.servers["a"].err = 30*time.Second, errServer
		f.servers["b"].first, f.servers["b"].err = 30*time.Second, last
		s, err := f.pool("p").Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out := s.Relay(sse.NewWriter(new(strings.Builder), nil))
		s.Close()
		if !errors.Is(out.Err, last) || !out.First.IsZero() {
			t.Errorf("got %+v", out)
		}
	})
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errors.New("reset by peer") }

func TestAClientThatLeftIsNotTriedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, nil)
		f.servers["a"].first, f.servers["a"].err = 30*time.Second, errServer
		s, err := f.pool("p").Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out := s.Relay(sse.NewWriter(gone{}, nil))
		s.Close()
		if out.End != plane.EndClientGone || !errors.Is(out.Err, call.ErrClientGone) || f.servers["b"].calls() != 0 {
			t.Errorf("got %+v", out)
		}
	})
}

func TestAStreamThatIsNotReadGivesItsSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 1, 1, capped(1, -1, 0))
		for _, first := range []time.Duration{0, time.Minute} {
			f.servers["a"].first = first
			s, err := f.pool("p").Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.Members("p")[0].InFlight != 1 {
				t.Error("an open stream holds no slot")
			}
			s.Close()
			s.Close()
		}
	})
}

func TestTheLatencyOfAStreamEndsWithItsFirstEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newField(t, 2, 2, func(_ *plane.Current, p *plane.PoolSpec) { p.Policy = plane.PolicyP2CEWMA })
		f.servers["a"].first, f.servers["a"].events = 100*time.Millisecond, 300
		f.servers["b"].first, f.servers["b"].events = 12*time.Second, 0
		for range 4 {
			ways[1].ask(f, t.Context())
		}
		before := f.servers["a"].calls()
		f.servers["a"].events = 0
		for range 40 {
			ways[1].ask(f, t.Context())
		}
		if got := f.servers["a"].calls() - before; got < 30 {
			t.Errorf("the server with the faster first event had %d streams of 40", got)
		}
	})
}

// TestAStreamThatBeganHoldsNoRequest: the gateway gives the memory of a body back then, and the body's bytes to another request.
func TestAStreamThatBeganHoldsNoRequest(t *testing.T) {
	f := newField(t, 1, 1, nil)
	open := func() (call.Stream, weak.Pointer[[1 << 20]byte]) {
		body := new([1 << 20]byte)
		s, err := f.pool("p").OpenWith(t.Context(), pool.From{Account: "a", Body: body[:]}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, weak.Make(body)
	}
	s, kept := open()
	runtime.GC()
	if kept.Value() != nil {
		t.Error("the body is still held")
	}
	s.Close()
}
