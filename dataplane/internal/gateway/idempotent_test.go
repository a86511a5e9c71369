package gateway_test

import (
	"bufio"
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/replay"
	"modelgate.internal/shared/plane"
)

// under gives a request an Idempotency-Key.
func under(key, request string) string {
	return strings.Replace(request, "\r\n", "\r\nIdempotency-Key: "+key+"\r\n", 1)
}

// counting is a node whose calls of the agent are counted and wait for the gate, if there is one.
func counting(t *testing.T, c *claims, gate chan struct{}) (n *node, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	n = start(t, func(o *gateway.Options) {
		o.Claim = replay.New(replay.Options{Send: c.send, Log: slog.New(slog.DiscardHandler)}).Claim
		o.KeepAlive = 50 * time.Millisecond
		for i := range o.Routes {
			if handle := o.Routes[i].Handle; o.Routes[i].ID == "agent" {
				o.Routes[i].Handle = func(c *call.Call) (call.Answer, error) {
					calls.Add(1)
					if gate != nil {
						select {
						case <-gate:
						case <-c.Ctx.Done():
							return call.Answer{}, errModel
						}
					}
					return handle(c)
				}
			}
		}
	})
	return n, calls
}

// isReplay reports whether an answer says that it is one.
func isReplay(header map[string][]string) bool { return len(header["Idempotency-Replayed"]) == 1 }

func TestARepeatedCallIsReplayedForNothing(t *testing.T) {
	for _, stream := range []bool{false, true} {
		c := newClaims()
		here, callsHere := counting(t, c, nil)
		there, callsThere := counting(t, c, nil)
		status, header, first := ran(t, here, under("k", ask("svc_test_ok", "hello", stream)))
		if status != 200 || isReplay(header) {
			t.Fatalf("the first: %d %v %s", status, header, first)
		}
		for _, n := range []*node{here, there, here} {
			status, header, body := ran(t, n, under("k", ask("svc_test_ok", "hello", stream)))
			if status != 200 || !bytes.Equal(body, first) || !isReplay(header) || header.Get("X-Modelgate-Backend") != "upstream" {
				t.Errorf("stream %v, again: %d %v\n%s\nfirst was\n%s", stream, status, header, body, first)
			}
			if header.Get("X-Ratelimit-Remaining") != "" {
				t.Error("a replay was judged by the limits")
			}
		}
		if status, _, _ := ran(t, there, under("k", ask("svc_test_ok", "goodbye", stream))); status != 409 {
			t.Errorf("another body: %d", status)
		}
		if here, there := callsHere.Load(), callsThere.Load(); here != 1 || there != 0 {
			t.Errorf("stream %v: %d and %d calls were made", stream, here, there)
		}
		if records := here.ledger.all(); len(records) != 1 || records[0].status != 200 || records[0].out.Usage.TokensOut == 0 {
			t.Errorf("%d records", len(records))
		}
		if records := there.ledger.all(); len(records) != 1 || records[0].status != 409 {
			t.Errorf("%d records of the refused one", len(records))
		}
		// Neither without the header nor under another key is it a replay.
		for _, request := range []string{ask("svc_test_ok", "hello", stream), under("k2", ask("svc_test_ok", "hello", stream))} {
			if status, header, _ := ran(t, there, request); status != 200 || isReplay(header) {
				t.Errorf("%d %v", status, header)
			}
		}
	}
}

func TestCallsAtOnceAreOne(t *testing.T) {
	for _, stream := range []bool{false, true} {
		c, gate := newClaims(), make(chan struct{})
		here, callsHere := counting(t, c, gate)
		there, callsThere := counting(t, c, gate)
		const racers = 20
		bodies, replays := make(chan string, racers), atomic.Int64{}
		var done sync.WaitGroup
		for i := range racers {
			done.Go(func() {
				status, header, body := ran(t, []*node{here, there}[i%2], under("k", ask("svc_test_ok", "hello", stream)))
				if status != 200 {
					t.Errorf("%d %s", status, body)
				}
				if isReplay(header) {
					replays.Add(1)
				}
				bodies <- strings.ReplaceAll(string(body), ": keep-alive\n\n", "")
			})
		}
		awaitCalls(t, func() bool { return c.waiting() == racers-1 })
		close(gate)
		done.Wait()
		close(bodies)
		first := <-bodies
		for body := range bodies {
			if body != first {
				t.Errorf("%q and %q", body, first)
			}
		}
		if calls := callsHere.Load() + callsThere.Load(); calls != 1 || replays.Load() != racers-1 {
			t.Errorf("stream %v: %d calls, %d replays", stream, calls, replays.Load())
		}
		if records := len(here.ledger.all()) + len(there.ledger.all()); records != 1 {
			t.Errorf("%d records", records)
		}
	}
}

// awaitFrees waits until claims were let go of, which happens beside the answer.
func awaitFrees(t *testing.T, c *claims, want int) {
	t.Helper()
	for begin := time.Now(); c.freed() < want; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > hang {
			t.Fatalf("%d claims freed, want %d", c.freed(), want)
		}
	}
}

func TestWhatDidNotEndWellIsNotReplayed(t *testing.T) {
	c := newClaims()
	n, calls := counting(t, c, nil)
	for i, request := range []string{
		ask("svc_test_ok", "unreachable", false), ask("svc_test_ok", "unreachable", true), ask("svc_test_ok", "cut", true),
		ask("svc_test_ok", "panic", false), ask("svc_test_ok", "panic", true),
	} {
		for range 2 {
			before, frees := calls.Load(), c.freed()
			if _, header, body := ran(t, n, under("k"+itoa(i), request)); isReplay(header) || calls.Load() != before+1 {
				t.Errorf("%s\nwas replayed: %s", request, body)
			}
			awaitFrees(t, c, frees+1)
		}
	}
	// What the limits refuse frees its key, and what is wrong with a call has none.
	frees, before := c.freed(), calls.Load()
	if status, _, _ := ran(t, n, under("limited", ask("svc_test_used_up", "hello", false))); status != 429 {
		t.Errorf("over the limit: %d", status)
	}
	awaitFrees(t, c, frees+1)
	for _, request := range []string{post("/api/v1/agent", "svc_test_ok", `{"prompt":""}`), post("/api/v1/agent", "svc_test_ok", `{"prompt":"x","model":"Einstein"}`)} {
		if status, _, _ := ran(t, n, under("wrong", request)); status != 400 && status != 404 {
			t.Errorf("%s: %d", request, status)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) != 0 || calls.Load() != before+2 {
		t.Errorf("%d keys are held, %d calls", len(c.entries), calls.Load()-before)
	}
}

// A client that leaves a stream frees its key; one that waits for another's call leaves that alone.
func TestClientsThatLeave(t *testing.T) {
	c := newClaims()
	n, calls := counting(t, c, nil)
	request := under("k", ask("svc_test_ok", "wait", true))
	first := send(t, n.main, request)
	<-n.model.opened
	joined := send(t, n.main, request)
	answered(t, joined)
	must(t, joined.Close())
	other := answered(t, send(t, n.main, request))
	must(t, first.Close())
	awaitFrees(t, c, 1)
	if got := string(receive(t, other, "POST")); !strings.Contains(got, `"status":503`) || !strings.Contains(got, "did not end well") || !strings.Contains(got, "[DONE]") {
		t.Errorf("who waited got %s", got)
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

// peeked is a connection of which something was read ahead.
type peeked struct {
	net.Conn
	ahead *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.ahead.Read(b) }

// answered waits until the gateway began to answer, so that it is known to have taken the request in.
func answered(t *testing.T, conn net.Conn) net.Conn {
	t.Helper()
	ahead := bufio.NewReader(conn)
	_, err := ahead.Peek(1)
	must(t, err)
	return peeked{conn, ahead}
}

// Whoever waits for a whole answer makes the call when the first one could not.
func TestTheNextOneTakesOver(t *testing.T) {
	c, gate := newClaims(), make(chan struct{})
	n, calls := counting(t, c, gate)
	request := under("k", ask("svc_test_ok", "hello", false))
	first := send(t, n.main, request)
	awaitCalls(t, func() bool { return calls.Load() == 1 })
	second := make(chan string)
	conn := send(t, n.main, request)
	go func() { second <- string(receive(t, conn, "POST")) }()
	awaitCalls(t, func() bool { return c.waiting() == 1 })
	must(t, first.(*net.TCPConn).SetLinger(0))
	must(t, first.Close())
	awaitCalls(t, func() bool { return calls.Load() == 2 })
	close(gate)
	if got := <-second; !strings.HasPrefix(got, "HTTP/1.1 200") || strings.Contains(got, "Idempotency-Replayed") {
		t.Errorf("got %s", got)
	}
}

func awaitCalls(t *testing.T, what func() bool) {
	t.Helper()
	for begin := time.Now(); !what(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > hang {
			t.Fatal("it does not come")
		}
	}
}

// A result is shown to nobody who could not have asked for it.
func TestAReplayNeedsTheScope(t *testing.T) {
	n, calls := counting(t, newClaims(), nil)
	if status, _, _ := ran(t, n, under("k", ask("svc_test_ok", "hello", false))); status != 200 {
		t.Fatal(status)
	}
	if status, header, body := ran(t, n, under("k", ask("svc_test_narrow", "hello", false))); status != 403 || isReplay(header) {
		t.Errorf("%d %s", status, body)
	}
	if calls.Load() != 2 { // the handler refused the second
		t.Errorf("%d calls", calls.Load())
	}
}

// An answer that cannot be kept is answered all the same, and never a second time for the same money.
func TestWhatIsTooLargeIsNotRepeated(t *testing.T) {
	for _, stream := range []bool{false, true} {
		c := newClaims()
		n, calls := counting(t, c, nil)
		prompt := strings.Repeat("x", plane.ReplayBytesMax)
		request := under("k", ask("svc_test_ok", prompt, stream))
		if stream {
			n.model.echo.Store(true)
		}
		if status, _, body := ran(t, n, request); status != 200 || len(body) < plane.ReplayBytesMax {
			t.Fatalf("%d, %d bytes", status, len(body))
		}
		status, _, body := ran(t, n, request)
		if status != 409 || !bytes.Contains(body, []byte("too large to be replayed")) || calls.Load() != 1 {
			t.Errorf("stream %v: %d %.200s, %d calls", stream, status, body, calls.Load())
		}
	}
}

// The key is no obstacle for a dry run, and no operation but the agent looks at it.
func TestWhereAKeyMeansNothing(t *testing.T) {
	n, calls := counting(t, newClaims(), nil)
	request := under("away", ask("svc_test_ok", "hello", false))
	if status, _, body := ran(t, n, dry(request)); status != 200 || !bytes.Contains(body, []byte(`"dry_run":true`)) {
		t.Errorf("a dry run: %d %s", status, body)
	}
	if status, _, body := ran(t, n, under("away", post("/api/v1/generate", "svc_test_ok", `{"prompt":"hello"}`))); status != 200 {
		t.Errorf("generate: %d %s", status, body)
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

// A result that cannot be kept is an answer all the same: the model has served it, and it is counted.
func TestAnAnswerLeavesWithoutBeingKept(t *testing.T) {
	c := newClaims()
	c.broken = true
	n, _ := counting(t, c, nil)
	if status, _, body := ran(t, n, under("k", ask("svc_test_ok", "hello", false))); status != 200 || len(n.ledger.all()) != 1 {
		t.Errorf("%d %s, %d records", status, body, len(n.ledger.all()))
	}
}
