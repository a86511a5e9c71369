package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

func TestBusy(t *testing.T) {
	up, _ := newScript(t, Options{Connections: 1}, func(a *act) { a.events(); a.chunk(delta("Hi")); io.Copy(io.Discard, a.nc) })
	s, err := up.Open(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	_, err = up.Ask(t.Context(), hello)
	checkFault(t, err, apierr.Unavailable, "as many calls")
	if e := apierr.From(err); e.RetryAfter != busyRetry {
		t.Errorf("Retry-After is %s", e.RetryAfter)
	}
	s.Close()
	if idle, busy := up.Connections(); idle+busy != 0 {
		t.Errorf("%d idle, %d busy after Close", idle, busy)
	}
}

// TestEndsOfTheContext ends a call for each cause while the upstream is silent, before and after the first text. The
// upstream must see its connection end.
func TestEndsOfTheContext(t *testing.T) {
	for _, test := range []struct {
		cause error
		end   string
		kind  apierr.Kind
	}{
		{call.ErrClientGone, plane.EndClientGone, apierr.Timeout},
		{call.ErrRevoked, plane.EndRevoked, apierr.Unauthorized},
		{call.ErrDraining, plane.EndDrained, apierr.Unavailable},
		{call.ErrDeadline, plane.EndDeadline, apierr.BadGateway},
		{context.DeadlineExceeded, plane.EndDeadline, apierr.BadGateway},
		{context.Canceled, plane.EndClientGone, apierr.Timeout},
	} {
		t.Run(test.cause.Error(), func(t *testing.T) {
			t.Parallel()
			said := make(chan struct{}, 4)
			up, script := newScript(t, Options{}, func(a *act) {
				if a.n == 2 {
					a.events()
					a.chunk(delta("Hi"))
				}
				said <- struct{}{}
				io.Copy(io.Discard, a.nc)
			})
			for i, run := range []func(ctx context.Context) error{
				func(ctx context.Context) error { _, err := up.Ask(ctx, hello); return err },
				func(ctx context.Context) error { return listen(t, ctx, up, hello).openErr },
				func(ctx context.Context) error {
					got := listen(t, ctx, up, hello)
					if got.text != "Hi" || got.outcome.End != test.end || got.outcome.Usage != seen(1) {
						t.Errorf("got %+v", got)
					}
					return got.outcome.Err
				},
			} {
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					<-said
					time.Sleep(10 * time.Millisecond)
					cancel(test.cause)
				}()
				err := run(ctx)
				e, ok := errors.AsType[*apierr.Error](err)
				if !ok || e.Kind != test.kind || !errors.Is(err, test.cause) {
					t.Errorf("way %d: got %v", i, err)
				}
				script.awaitClosed()
			}
		})
	}
}

func TestClientThatCannotBeWrittenTo(t *testing.T) {
	up, script := newScript(t, Options{}, func(a *act) {
		a.events()
		for a.chunk(delta("Hi")) == nil {
			a.pause()
		}
	})
	s, err := up.Open(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	o := s.Relay(sse.NewWriter(&failingWriter{left: 2}, nil))
	if o.End != plane.EndClientGone || !errors.Is(o.Err, call.ErrClientGone) || o.Usage.TokensOut < 3 {
		t.Errorf("got %+v", o)
	}
	s.Close()
	s.Close()
	script.awaitClosed()
}

func TestClosingAStreamThatWasNotRead(t *testing.T) {
	up, script := newScript(t, Options{}, func(a *act) { a.events(); a.chunk(delta("Hi")); io.Copy(io.Discard, a.nc) })
	s, err := up.Open(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	script.awaitClosed()
}

// TestConnectionsAreUsedAgain ends the context of each call before its stream is closed, as a server does that is done.
func TestConnectionsAreUsedAgain(t *testing.T) {
	var dials atomic.Int64
	count := Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	up, _ := newScript(t, count, func(a *act) {
		a.events()
		a.chunk(delta("Hi") + tail)
		if a.n%2 == 1 {
			a.pause() // the end comes when the reader has left
		}
		a.end()
	})
	for range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := up.Open(ctx, hello)
		if err != nil {
			t.Fatal(err)
		}
		if o := s.Relay(sse.NewWriter(io.Discard, nil)); o.End != plane.EndDone {
			t.Fatalf("%+v", o)
		}
		cancel()
		s.Close()
		for idle, _ := up.Connections(); idle == 0 && dials.Load() == 1; idle, _ = up.Connections() {
			time.Sleep(time.Millisecond)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections for calls in sequence", n)
	}
}

// TestStreamsNeedNoGoroutines opens many streams that wait, from one goroutine.
func TestStreamsNeedNoGoroutines(t *testing.T) {
	const streams = 100
	up, _ := newScript(t, Options{}, func(a *act) { a.events(); a.chunk(delta("Hi")); a.silent() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := runtime.NumGoroutine()
	for range streams {
		s, err := up.Open(ctx, hello)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	if n := runtime.NumGoroutine() - before; n > streams+streams/2 { // the server needs one each
		t.Errorf("%d goroutines for %d streams", n, streams)
	}
}
