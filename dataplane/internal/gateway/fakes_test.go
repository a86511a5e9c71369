package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
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
	single  bool // each key may make one call at a time
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
	case "svc_live_five":
		p.Kind = key.Live
		p.Limits = append(p.Limits, plane.Limit{Name: plane.LimitAccountDay, Bucket: "account/1/day", Max: 5, Window: 24 * time.Hour, Daily: true})
	case "svc_darwin_ok":
		p.Kind, p.AppID = key.Darwin, ""
	case "svc_test_narrow":
		p.Scope.Families = []string{"biometrix"}
	case "svc_test_used_up":
		p.Limits[0].Bucket, p.Limits[0].Max = "key/2/minute", 0 // another key: limits of a bucket are shared
	case "svc_test_tokens":
		p.Limits = append(p.Limits, plane.Limit{Name: plane.LimitKeyTokens, Bucket: "key/1/tokens", Max: 20, Window: time.Minute},
			plane.Limit{Name: plane.LimitKeyInFlight, Bucket: "key/1/in_flight", Max: 2})
	case "svc_test_other":
		p.KeyID, p.DeveloperID = "key_2", "dev_2"
	case "svc_test_revocable":
		c.Revoked = k.revoked
	case "svc_test_expired":
		return nil, auth.ErrExpired
	case "svc_test_unknown":
		return nil, auth.ErrUnknown
	default:
		return nil, auth.ErrMalformed
	}
	if k.single {
		p.Limits = append(p.Limits, plane.Limit{Name: plane.LimitKeyInFlight, Bucket: "key/3/in_flight", Max: 1})
	}
	c.Cells = k.limiter.Cells(p)
	return c, nil
}

// model stands for an upstream. The prompt says what it does.
type model struct {
	opened  chan context.Context // of calls that wait
	stopped chan error           // why they stopped waiting
	echo    atomic.Bool          // streams begin with what was asked
}

func newModel() *model {
	return &model{opened: make(chan context.Context, 100), stopped: make(chan error, 100)}
}

var errBusyModel = apierr.New(apierr.Unavailable, "The upstream is busy.").After(2 * time.Second)

var errModel = apierr.New(apierr.BadGateway, "The upstream of this model cannot be reached.")

func (m *model) Ask(ctx context.Context, c *upstream.Chat) (upstream.Whole, error) {
	prompt := said(c)
	switch prompt {
	case `"unreachable"`:
		return upstream.Whole{}, errModel.Because(errors.New("dial: refused"))
	case `"busy"`:
		return upstream.Whole{}, errBusyModel
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
	text := `"You said ` + strings.Trim(prompt, `"`) + `"`
	if c.Raw != nil {
		text = `{"id":` + string(c.Raw.ID) + `,"model":` + string(c.Raw.Model) + `,"choices":[{"index":0,"message":{"content":` + text + `}}]}`
	}
	return upstream.Whole{
		Text: []byte(text),
		Use:  call.Usage{TokensIn: 3, TokensOut: 5, Source: plane.SourceProvider},
	}, nil
}

func (m *model) Open(ctx context.Context, c *upstream.Chat) (call.Stream, error) {
	switch said(c) {
	case `"unreachable"`:
		return nil, errModel
	case `"busy"`:
		return nil, errBusyModel
	}
	return &script{m: m, ctx: ctx, prompt: said(c), raw: c.Raw != nil, budget: c.Budget}, nil
}

// said is the prompt, or the last thing that somebody says in a raw chat.
func said(c *upstream.Chat) string {
	if c.Raw == nil {
		return string(c.Prompt)
	}
	_, content, _ := strings.Cut(string(c.Raw.Fields), `"content":`)
	return content[:strings.IndexByte(content[1:], '"')+2]
}

// script is a stream of the model.
type script struct {
	m      *model
	ctx    context.Context
	prompt string
	raw    bool // in OpenAI's words
	budget upstream.Budget
	mu     sync.Mutex
	closed bool
}

func (s *script) Relay(w *sse.Writer) call.Outcome {
	out := call.Outcome{End: plane.EndDone, First: time.Now(), Usage: call.Usage{TokensIn: 3, TokensOut: 2, Source: plane.SourceProvider}}
	if s.m.echo.Load() {
		s.say(w, strings.Trim(s.prompt, `"`))
	}
	s.say(w, "Hab")
	if w.Flush() != nil {
		out.End = plane.EndClientGone
		return out
	}
	switch s.prompt {
	case `"cut"`:
		out.End, out.Err = plane.EndUpstreamCut, apierr.New(apierr.BadGateway, "The upstream broke off.")
		return out
	case `"endless"`:
		out.Usage = call.Usage{TokensIn: 3, TokensOut: 1, Source: plane.SourceCounted}
		for out.Err = s.budget.Use(5); out.Err == nil; out.Err = s.budget.Use(out.Usage.TokensIn + out.Usage.TokensOut + 1) {
			out.Usage.TokensOut++
			s.say(w, "a")
		}
		out.End, out.Limit = plane.EndLimit, s.budget.Reached()
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
	s.say(w, "ari!")
	return out
}

func (s *script) say(w *sse.Writer, text string) {
	if s.raw {
		w.Data([]byte(`{"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`))
		return
	}
	w.DeltaRaw([]byte(text))
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
type alone struct {
	upstream.Upstream
	id string
}

func (a alone) AskWith(ctx context.Context, _ pool.From, c *upstream.Chat, f *pool.Facts) (upstream.Whole, error) {
	f.Attempts = 1
	return a.Ask(ctx, c)
}

func (a alone) OpenWith(ctx context.Context, _ pool.From, c *upstream.Chat, f *pool.Facts) (call.Stream, error) {
	f.Attempts = 1
	return a.Open(ctx, c)
}

func (a alone) Do(ctx context.Context, _ pool.From, f *pool.Facts, ask func(ctx context.Context, id string) error) error {
	f.Attempts = 1
	return ask(ctx, a.id)
}

func (a alone) DoStream(
	ctx context.Context, _ pool.From, f *pool.Facts, ask func(ctx context.Context, id string) (call.Stream, error),
) (call.Stream, error) {
	f.Attempts = 1
	return ask(ctx, a.id)
}

// Began tells that nobody needs the request any more: the first event is there.
func (s *script) Began() bool { return true }

// admitAll stands for limits that nothing reaches.
func admitAll(context.Context, *limit.Cells, time.Time) (limit.Verdict, error) {
	return limit.Verdict{}, nil
}
