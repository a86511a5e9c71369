package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"modelgate.internal/dataplane/internal/auth"
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// keys stands for auth.Auth. The texts of its keys say what they are.
type keys struct {
	revoked context.Context // of the key "svc_test_revocable"
	limiter *limit.Limiter
}

func (k *keys) authenticate(_ context.Context, text []byte, _ time.Time) (*call.Caller, error) {
	p := &plane.Principal{
		KeyID: "key_1", AppID: "app_1", DeveloperID: "dev_1", Kind: key.Test,
		Limits: []plane.Limit{
			{Name: plane.LimitKeyMinute, Bucket: "key/1/minute", Max: 30, Window: time.Minute},
			{Name: plane.LimitAppMinute, Bucket: "app/1/minute", Max: 100, Window: time.Minute},
		},
	}
	c := &call.Caller{Principal: p, Revoked: context.Background()}
	switch string(text) {
	case "":
		return nil, auth.ErrMissing
	case "svc_test_ok":
	case "svc_live_ok":
		p.Kind = key.Live
	case "svc_darwin_ok":
		p.Kind, p.AppID = key.Darwin, ""
	case "svc_test_narrow":
		p.Scope.Families = []string{"biometrix"}
	case "svc_test_used_up":
		p.Limits[0].Max = 0
	case "svc_test_revocable":
		c.Revoked = k.revoked
	case "svc_test_expired":
		return nil, auth.ErrExpired
	case "svc_test_unknown":
		return nil, auth.ErrUnknown
	default:
		return nil, auth.ErrMalformed
	}
	c.Cells = k.limiter.Cells(p.Limits)
	return c, nil
}

// model stands for an upstream. The prompt says what it does.
type model struct {
	opened  chan context.Context // of calls that wait
	stopped chan error           // why they stopped waiting
}

func newModel() *model {
	return &model{opened: make(chan context.Context, 100), stopped: make(chan error, 100)}
}

var errModel = apierr.New(apierr.BadGateway, "The upstream of this model cannot be reached.")

func (m *model) Ask(ctx context.Context, c *upstream.Chat) (upstream.Whole, error) {
	switch string(c.Prompt) {
	case `"unreachable"`:
		return upstream.Whole{}, errModel.Because(errors.New("dial: refused"))
	case `"busy"`:
		return upstream.Whole{}, apierr.New(apierr.Unavailable, "The upstream is busy.").After(2 * time.Second)
	case `"too fast"`:
		return upstream.Whole{}, apierr.New(apierr.Limited, "The upstream asks to slow down.").After(7 * time.Second)
	case `"panic"`:
		panic("model broke")
	case `"wait"`:
		m.opened <- ctx
		<-ctx.Done()
		m.stopped <- context.Cause(ctx)
		return upstream.Whole{}, errModel.Because(ctx.Err())
	}
	return upstream.Whole{
		Text: append(append([]byte(`"You said `), bytes.Trim(c.Prompt, `"`)...), '"'),
		Use:  call.Usage{TokensIn: 3, TokensOut: 5, Source: plane.SourceProvider},
	}, nil
}

func (m *model) Open(ctx context.Context, c *upstream.Chat) (call.Stream, error) {
	if string(c.Prompt) == `"unreachable"` {
		return nil, errModel
	}
	return &script{m: m, ctx: ctx, prompt: string(c.Prompt)}, nil
}

// script is a stream of the model.
type script struct {
	m      *model
	ctx    context.Context
	prompt string
	mu     sync.Mutex
	closed bool
}

func (s *script) Relay(w *sse.Writer) call.Outcome {
	out := call.Outcome{End: plane.EndDone, First: time.Now(), Usage: call.Usage{TokensIn: 3, TokensOut: 2, Source: plane.SourceProvider}}
	w.DeltaRaw([]byte("Hab"))
	if w.Flush() != nil {
		out.End = plane.EndClientGone
		return out
	}
	switch s.prompt {
	case `"cut"`:
		out.End, out.Err = plane.EndUpstreamCut, apierr.New(apierr.BadGateway, "The upstream broke off.")
		return out
	case `"panic"`:
		panic("stream broke")
	case `"wait"`:
		s.m.opened <- s.ctx
		<-s.ctx.Done()
		s.m.stopped <- context.Cause(s.ctx)
		out.End, out.Err = plane.EndUpstreamCut, errModel
		return out
	}
	w.DeltaRaw([]byte("ari!"))
	return out
}

func (s *script) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

// ledger keeps what is recorded.
type ledger struct {
	mu      sync.Mutex
	records []record
	full    error
}

type record struct {
	call   call.Call
	status int
	out    call.Outcome
}

func (l *ledger) record(c *call.Call, status int, o *call.Outcome, _ time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, record{*c, status, *o})
	return nil
}

func (l *ledger) canRecord() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

func (l *ledger) all() []record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]record(nil), l.records...)
}

// alone is a pool of one upstream that is asked once.
type alone struct{ upstream.Upstream }

func (a alone) AskWith(ctx context.Context, c *upstream.Chat, f *pool.Facts) (upstream.Whole, error) {
	f.Attempts = 1
	return a.Ask(ctx, c)
}

func (a alone) OpenWith(ctx context.Context, c *upstream.Chat, f *pool.Facts) (call.Stream, error) {
	f.Attempts = 1
	return a.Open(ctx, c)
}
