package gateway_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// places waits until the key may make so many more calls at a time.
func (n *node) places(t *testing.T, want int64) {
	t.Helper()
	caller, err := n.keys.authenticate(t.Context(), []byte("svc_test_ok"), time.Now())
	must(t, err)
	free := int64(-1)
	for start := time.Now(); time.Since(start) < hang; time.Sleep(5 * time.Millisecond) {
		all, err := n.keys.limiter.Peek(t.Context(), caller.Cells, time.Now())
		if err != nil && apierr.From(err).Kind != apierr.Limited {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Name == plane.LimitKeyInFlight {
				free = s.Remaining
			}
		}
		if free == want {
			return
		}
	}
	t.Fatalf("%d calls at a time are possible, want %d", free, want)
}

// However a call ends, its place is free for the next one.
func TestAPlaceIsFreeAfterEveryEnding(t *testing.T) {
	leave := func(_ *testing.T, _ *node, conn net.Conn) { _ = conn.Close() }
	hear := func(t *testing.T, _ *node, conn net.Conn) { _ = receive(t, conn, "POST") }
	endings := map[string]struct {
		key, prompt string
		change      func(o *gateway.Options)
		end         func(t *testing.T, n *node, conn net.Conn)
		want        string // of plane.End...
	}{
		"done":               {"svc_test_ok", "hello", nil, hear, plane.EndDone},
		"client gone":        {"svc_test_ok", "wait", nil, leave, plane.EndClientGone},
		"unreachable":        {"svc_test_ok", "unreachable", nil, hear, plane.EndFailed},
		"upstream busy":      {"svc_test_ok", "busy", nil, hear, ""},
		"upstream cut":       {"svc_test_ok", "cut", nil, hear, ""},
		"panic":              {"svc_test_ok", "panic", nil, func(_ *testing.T, _ *node, conn net.Conn) { _, _ = conn.Read(make([]byte, 1<<16)) }, ""},
		"deadline":           {"svc_test_ok", "wait", func(o *gateway.Options) { o.CallTimeMax = 2 * time.Second }, hear, plane.EndDeadline},
		"another limit":      {"svc_test_used_up", "hello", nil, hear, plane.EndRefused},
		"prompt over tokens": {"svc_test_tokens", strings.Repeat("x", 100), nil, hear, plane.EndRefused},
		"bad request":        {"svc_test_ok", "", nil, hear, plane.EndRefused},
		"revoked": {"svc_test_revocable", "wait", nil, func(t *testing.T, n *node, conn net.Conn) {
			n.revoke(call.ErrRevoked)
			hear(t, n, conn)
		}, plane.EndRevoked},
		"drain": {"svc_test_ok", "wait", nil, func(t *testing.T, n *node, conn net.Conn) {
			done := make(chan error, 1)
			go func() { done <- n.drain() }()
			hear(t, n, conn)
			must(t, <-done)
			n.drain = func() error { return nil }
		}, plane.EndDrained},
	}
	for name, e := range endings {
		for _, stream := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " whole", true: " stream"}[stream], func(t *testing.T) {
				t.Parallel()
				n := start(t, e.change)
				n.keys.single = true
				conn := send(t, n.main, ask(e.key, e.prompt, stream))
				if e.prompt == "wait" {
					n.waiting(t)
					n.places(t, 0)
				}
				e.end(t, n, conn)
				if r := n.recorded(t); e.want != "" && r.out.End != e.want {
					t.Errorf("recorded as %q, want %q", r.out.End, e.want)
				}
				n.places(t, 1)
			})
		}
	}
}
