package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/replay"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// mine panics when it is stepped on as often as it was set to.
type mine struct {
	left  atomic.Int64
	blown atomic.Bool
}

func (m *mine) step() {
	if m.left.Add(-1) == 0 {
		m.blown.Store(true)
		panic("stepped on a mine")
	}
}

// brittle is a stream that panics where it is mined.
type brittle struct {
	call.Stream
	relay, closing *mine
}

func (b brittle) Relay(w *sse.Writer) call.Outcome {
	out := b.Stream.Relay(w)
	b.relay.step()
	return out
}

func (b brittle) Close() {
	b.Stream.Close()
	b.closing.step()
}

// mines are at every place of a call that is not the gateway's own.
type mines struct{ authenticate, canRecord, admit, handle, relay, closing, record, now, claim, keep mine }

func (m *mines) lay(o *gateway.Options) {
	authenticate, canRecord, admit, record, now := o.Authenticate, o.CanRecord, o.Admit, o.Record, o.Now
	o.Authenticate = func(ctx context.Context, text []byte, at time.Time) (*call.Caller, error) {
		m.authenticate.step()
		return authenticate(ctx, text, at)
	}
	o.CanRecord = func() error { m.canRecord.step(); return canRecord() }
	o.Admit = func(ctx context.Context, cells *limit.Cells, at time.Time) (limit.Verdict, error) {
		m.admit.step()
		return admit(ctx, cells, at)
	}
	o.Record = func(c *call.Call, status int, out *call.Outcome, at time.Time) error {
		m.record.step()
		return record(c, status, out, at)
	}
	o.Now = func() time.Time { m.now.step(); return now() }
	c := newClaims()
	o.Claim = replay.New(replay.Options{Log: slog.New(slog.DiscardHandler), Send: func(ctx context.Context, path string, body []byte, limit int64) (int, []byte, error) {
		switch {
		case path == plane.ReplayClaimPath:
			m.claim.step()
		case path == plane.ReplayEndPath && strings.Contains(string(body), `"result":{`):
			m.keep.step()
		}
		return c.send(ctx, path, body, limit)
	}}).Claim
	for i := range o.Routes {
		if handle := o.Routes[i].Handle; o.Routes[i].ID == "agent" {
			o.Routes[i].Handle = func(c *call.Call) (call.Answer, error) {
				m.handle.step()
				answer, err := handle(c)
				if answer.Stream != nil {
					answer.Stream = brittle{answer.Stream, &m.relay, &m.closing}
				}
				return answer, err
			}
		}
	}
}

// requests is how many requests the metrics have counted.
func (n *node) requests(t *testing.T) (sum, streams float64) {
	t.Helper()
	families, err := n.reg.Gather()
	must(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "modelgate_requests_total":
				sum += m.GetCounter().GetValue()
			case "modelgate_open_streams":
				streams += m.GetGauge().GetValue()
			}
		}
	}
	return sum, streams
}

// TestAPanicAnywhereCountsACallOnce steps on a mine at every place, once, and looks at what is left of the call: one request in the
// metrics, and one record unless nobody knew yet whose it was, or the record itself blew up.
func TestAPanicAnywhereCountsACallOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		at      func(m *mines) *mine
		times   int64 // at most, that a call comes there
		records int
	}{
		"authenticate": {func(m *mines) *mine { return &m.authenticate }, 1, 0},
		"claim":        {func(m *mines) *mine { return &m.claim }, 1, 1},
		"can record":   {func(m *mines) *mine { return &m.canRecord }, 1, 1},
		"admit":        {func(m *mines) *mine { return &m.admit }, 1, 1},
		"handle":       {func(m *mines) *mine { return &m.handle }, 1, 1},
		"relay":        {func(m *mines) *mine { return &m.relay }, 1, 1},
		"close":        {func(m *mines) *mine { return &m.closing }, 2, 1},
		"keep":         {func(m *mines) *mine { return &m.keep }, 1, 1},
		"record":       {func(m *mines) *mine { return &m.record }, 1, 0},
		"now":          {func(m *mines) *mine { return &m.now }, 4, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for at := range tt.times {
				for _, stream := range []bool{false, true} {
					for _, key := range []string{"", "k"} {
						m := &mines{}
						n := start(t, m.lay)
						request := ask("svc_test_ok", "hello", stream)
						if key != "" {
							request = under(key, request)
						}
						tt.at(m).left.Store(at + 1)
						conn := send(t, n.main, strings.Replace(request, "\r\n", "\r\nConnection: close\r\n", 1))
						answer, err := io.ReadAll(conn)
						must(t, err)
						stepped := tt.at(m).blown.Load()
						tt.at(m).left.Store(-1)
						want := tt.records
						if !stepped {
							want = 1
						}
						what := fmt.Sprintf("at %d, stream %v, key %q, stepped on %v", at+1, stream, key, stepped)
						awaitCalls(t, func() bool { sum, streams := n.requests(t); return sum >= 1 && streams == 0 })
						if sum, _ := n.requests(t); sum != 1 || len(n.ledger.all()) != want {
							t.Errorf("%s: %v requests counted, %d records, want %d; got %.200q", what, sum, len(n.ledger.all()), want, answer)
						}
						if text := string(receive(t, send(t, n.main, ask("svc_test_ok", "hello", false)), "POST")); !strings.HasPrefix(text, "HTTP/1.1 200") {
							t.Errorf("%s: the next call: %.200q", what, text)
						}
					}
				}
			}
		})
	}
}
