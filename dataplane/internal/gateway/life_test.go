package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/shared/plane"
)

// hang is what no step of a test takes, however busy the machine is.
const hang = 30 * time.Second

// uploadTime is the bound of a node's uploads.
const uploadTime = 10 * time.Minute

// waiting returns once the model waits for the call's context to end.
func (n *node) waiting(t *testing.T) context.Context {
	t.Helper()
	select {
	case ctx := <-n.model.opened:
		return ctx
	case <-time.After(hang):
		t.Fatal("the model was not asked")
		return nil
	}
}

// stopped returns why the model stopped waiting, and fails if that takes too long.
func (n *node) stopped(t *testing.T) error {
	t.Helper()
	select {
	case cause := <-n.model.stopped:
		return cause
	case <-time.After(hang):
		t.Fatal("the model still waits")
		return nil
	}
}

// recorded waits for one record and returns it.
func (n *node) recorded(t *testing.T) record {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < hang; time.Sleep(10 * time.Millisecond) {
		if all := n.ledger.all(); len(all) > 0 {
			if len(all) > 1 {
				t.Errorf("%d records", len(all))
			}
			return all[0]
		}
	}
	t.Fatal("the call is not recorded")
	return record{}
}

func TestTheModelStopsWhenTheClientLeaves(t *testing.T) {
	ways := map[string]func(c *net.TCPConn) error{
		"close":      (*net.TCPConn).Close,
		"half-close": (*net.TCPConn).CloseWrite,
		"reset": func(c *net.TCPConn) error {
			return errors.Join(c.SetLinger(0), c.Close())
		},
	}
	for way, leave := range ways {
		for _, stream := range []bool{false, true} {
			t.Run(way+map[bool]string{false: " whole", true: " stream"}[stream], func(t *testing.T) {
				n := start(t, nil)
				conn := send(t, n.main, ask("svc_test_ok", "wait", stream))
				n.waiting(t)
				must(t, leave(conn.(*net.TCPConn))) //nolint:forcetypeassert // send dials TCP
				if cause := n.stopped(t); !errors.Is(cause, call.ErrClientGone) {
					t.Errorf("the model stopped for %v", cause)
				}
				if r := n.recorded(t); r.out.End != plane.EndClientGone {
					t.Errorf("recorded as %q", r.out.End)
				}
			})
		}
	}
}

func TestAConnectionServesOnAfterACall(t *testing.T) {
	n := start(t, nil)
	conn := send(t, n.main, ask("svc_test_ok", "one", true))
	for range 3 {
		if answer := string(receive(t, conn, "POST")); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Fatalf("got %s", answer)
		}
		_, err := io.WriteString(conn, ask("svc_test_ok", "two", false))
		must(t, err)
	}
}

// ends checks that a waiting call ends with the given status, detail and record.
func ends(t *testing.T, n *node, stream bool, end func(), cause error, status, detail, recorded string) {
	t.Helper()
	conn := send(t, n.main, ask("svc_test_revocable", "wait", stream))
	n.waiting(t)
	end()
	if got := n.stopped(t); !errors.Is(got, cause) {
		t.Errorf("the model stopped for %v, want %v", got, cause)
	}
	answer := string(receive(t, conn, "POST"))
	want := "HTTP/1.1 " + status
	if stream {
		want = `data: {"type":"error","status":` + status + `,"detail":"` + detail
		if !strings.Contains(answer, "HTTP/1.1 200") || !strings.Contains(answer, "data: [DONE]") {
			t.Errorf("got %s", answer)
		}
	}
	if !strings.Contains(answer, want) || !strings.Contains(answer, detail) {
		t.Errorf("got %s\nwant %s and %s in it", answer, want, detail)
	}
	if r := n.recorded(t); r.out.End != recorded {
		t.Errorf("recorded as %q, want %q", r.out.End, recorded)
	}
}

func TestCallsEndWithTheirKey(t *testing.T) {
	for _, stream := range []bool{false, true} {
		n := start(t, nil)
		ends(t, n, stream, func() { n.revoke(call.ErrRevoked) }, call.ErrRevoked, "401", "The API key was revoked", plane.EndRevoked)
	}
}

func TestCallsEndAtTheTotalDeadline(t *testing.T) {
	for _, stream := range []bool{false, true} {
		n := start(t, func(o *gateway.Options) { o.CallTimeMax = 2 * time.Second })
		ends(t, n, stream, func() {}, call.ErrDeadline, "502", "The answer took longer than 2s", plane.EndDeadline)
	}
}

func TestCallsThatOutliveTheDrainTimeEndWithAWord(t *testing.T) {
	for _, stream := range []bool{false, true} {
		n := start(t, nil)
		done := make(chan error, 1)
		ends(t, n, stream, func() { go func() { done <- n.drain() }() }, call.ErrDraining, "503", "This node is shutting down", plane.EndDrained)
		must(t, <-done)
		n.drain = func() error { return nil }
	}
}

func TestDrainingLetsCallsFinish(t *testing.T) {
	n := start(t, nil)
	conn := send(t, n.main, ask("svc_test_ok", "wait", true))
	n.waiting(t)
	idle, err := net.Dial("tcp", n.main)
	must(t, err)
	defer idle.Close()
	done := make(chan error, 1)
	go func() { done <- n.drain() }()
	refused := false
	for begin := time.Now(); time.Since(begin) < hang; time.Sleep(10 * time.Millisecond) { // the sockets close at once, while the stream goes on
		c, err := net.Dial("tcp", n.main)
		if err != nil {
			refused = true
			break
		}
		_ = c.Close()
	}
	if !refused {
		t.Error("the node still accepts connections")
	}
	_ = receive(t, conn, "POST")
	must(t, <-done)
	n.drain = func() error { return nil }
}

// TestFailuresOfOursAreGivenBack runs in virtual time, in which a call takes none: the ledger has not heard of it when it fails.
func TestFailuresOfOursAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{}
		handle := n.assemble(t, nil).Handler(gateway.MainHost)
		for i, step := range []struct{ prompt, remaining string }{
			{"hello", "29"}, {"unreachable", "28"}, {"too fast", "28"}, {"busy", "27"}, {"hello", "27"},
		} {
			var request fasthttp.Request
			must(t, request.Read(bufio.NewReader(strings.NewReader(ask("svc_test_ok", step.prompt, false)))))
			var ctx fasthttp.RequestCtx
			ctx.Init(&request, nil, nil)
			handle(&ctx)
			remaining := ""
			for name, value := range ctx.Response.Header.All() {
				if string(name) == "X-RateLimit-Remaining" {
					remaining = string(value)
				}
			}
			if remaining != step.remaining {
				t.Errorf("step %d, %s: %s calls remain, want %s", i+1, step.prompt, remaining, step.remaining)
			}
		}
	})
}

// A client that leaves while its call waits for the ledger is noticed, and one that waits gets a 503 that is counted apart.
func TestWithoutALedger(t *testing.T) {
	asked := make(chan struct{}, 100)
	n := start(t, func(o *gateway.Options) {
		admit := o.Admit
		o.Admit = func(ctx context.Context, cells *limit.Cells, now time.Time) (limit.Verdict, error) {
			asked <- struct{}{}
			return admit(ctx, cells, now)
		}
	})
	n.quota.Deaf(true)
	answer := string(receive(t, send(t, n.main, ask("svc_test_ok", "hello", false)), "POST"))
	if !strings.HasPrefix(answer, "HTTP/1.1 503 ") || !strings.Contains(answer, "\r\nRetry-After: 1\r\n") ||
		!strings.Contains(answer, "The limits of this key cannot be judged at the moment") || !strings.Contains(answer, "\r\nX-Limit-Mode: ledger\r\n") {
		t.Errorf("got %s", answer)
	}
	must(t, testutil.GatherAndCompare(n.reg, strings.NewReader(`# HELP modelgate_limit_total Verdicts of the rate limits.
# TYPE modelgate_limit_total counter
modelgate_limit_total{outcome="unavailable"} 1
`), "modelgate_limit_total"))
	<-asked
	for calls := 2; calls < 10; calls++ { // again where leaving took longer than the wait
		conn := send(t, n.main, ask("svc_test_ok", "hello", false))
		<-asked
		_ = conn.Close()
		awaitCalls(t, func() bool { return len(n.ledger.all()) == calls })
		if n.ledger.all()[calls-1].out.End == plane.EndClientGone {
			return
		}
	}
	t.Error("no call is recorded as one of a client that left")
}

func TestWhatIsRecorded(t *testing.T) {
	tests := []struct {
		name, request string
		status        int
		end           string
		tokensOut     int64
	}{
		{"whole", ask("svc_test_ok", "hello", false), 200, plane.EndDone, 5},
		{"stream", ask("svc_test_ok", "hello", true), 200, plane.EndDone, 2},
		{"cut", ask("svc_test_ok", "cut", true), 200, plane.EndUpstreamCut, 2},
		{"unreachable", ask("svc_test_ok", "unreachable", false), 502, plane.EndFailed, 0},
		{"bad prompt", ask("svc_test_ok", "", false), 400, plane.EndRefused, 0},
		{"limited", ask("svc_test_used_up", "hello", false), 429, plane.EndRefused, 0},
		{"wrong host", ask("svc_darwin_ok", "hello", false), 403, plane.EndRefused, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := start(t, nil)
			_ = receive(t, send(t, n.main, tt.request), "POST")
			r := n.recorded(t)
			if r.status != tt.status || r.out.End != tt.end || r.out.Usage.TokensOut != tt.tokensOut || r.call.Endpoint != "agent" {
				t.Errorf("got status %d, end %q, usage %+v, call %+v", r.status, r.out.End, r.out.Usage, r.call)
			}
		})
	}
	for _, request := range []string{
		ask("svc_test_unknown", "hello", false), "GET /api/v1/models HTTP/1.1\r\nHost: g\r\nX-API-Key: svc_test_ok\r\n\r\n",
	} {
		n := start(t, nil)
		_ = receive(t, send(t, n.main, request), "POST")
		if all := n.ledger.all(); len(all) != 0 {
			t.Errorf("%.30s: recorded as %+v", request, all)
		}
	}
}

// What is refused for what it asks costs nothing of the day. One of five suffices, since a refund that comes late has no effect.
func TestARefusedCallCostsNothingOfTheDay(t *testing.T) {
	n := start(t, nil)
	for range 5 {
		if status, _, _ := ran(t, n, ask("svc_live_five", "", false)); status != 400 {
			t.Fatal(status)
		}
	}
	if status, _, body := ran(t, n, ask("svc_live_five", "hello", false)); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for range 5 {
		if status, _, body := ran(t, n, ask("svc_live_five", "hello", false)); status == 429 && strings.Contains(string(body), "per UTC day") {
			return
		}
	}
	t.Error("more than five calls of the day")
}

func TestTheRecordComesBeforeTheLastEvent(t *testing.T) {
	recorded := make(chan struct{})
	proceed := make(chan struct{})
	n := start(t, func(o *gateway.Options) {
		o.Record = func(*call.Call, int, *call.Outcome, time.Time) error {
			close(recorded)
			<-proceed
			return nil
		}
	})
	conn := send(t, n.main, ask("svc_test_ok", "hello", true))
	<-recorded
	must(t, conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	r := bufio.NewReader(conn)
	early, err := io.ReadAll(r)
	if err == nil || strings.Contains(string(early), "[DONE]") {
		t.Errorf("before the record: %q, %v", early, err)
	}
	close(proceed)
	must(t, conn.SetReadDeadline(time.Now().Add(hang)))
	for {
		line, err := r.ReadString('\n')
		must(t, err)
		if strings.Contains(line, "[DONE]") {
			return
		}
	}
}

func TestCallsThatCannotBeCountedAreRefused(t *testing.T) {
	n := start(t, nil)
	n.ledger.full = errors.New("usage log is full")
	answer := string(receive(t, send(t, n.main, ask("svc_test_ok", "hello", false)), "POST"))
	if !strings.Contains(answer, "HTTP/1.1 503") || !strings.Contains(answer, "Retry-After: 5") || strings.Contains(answer, "RateLimit") {
		t.Errorf("got %s", answer)
	}
}
