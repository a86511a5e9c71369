package gateway_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/auth"
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/quota/quotatest"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/obs"
	"modelgate.internal/shared/plane"
)

// nowhere takes log lines: what a line costs belongs to a call.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// oneKey is an index of a single key.
type oneKey struct {
	checker   *key.Checker
	digest    key.Digest
	principal *plane.Principal
}

func (o *oneKey) Checker() *key.Checker { return o.checker }

func (o *oneKey) Lookup(d key.Digest) (*plane.Principal, bool, error) {
	return o.principal, d == o.digest, nil
}

// front is the real way of a request up to the upstream.
func front(t testing.TB) (text []byte, a *auth.Auth, l *limit.Limiter) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	pepper := []byte("pepper")
	minted, err := key.Mint(key.Live, pepper)
	check(err)
	l = limit.New(quotatest.New().Node(t, 1))
	a, err = auth.New(auth.Options{
		Index: &oneKey{key.NewChecker([][]byte{pepper}), key.Hash(minted), &plane.Principal{
			KeyID: "key_1", AppID: "app_1", DeveloperID: "dev_1", Kind: key.Live,
			Limits: []plane.Limit{
				{Name: plane.LimitKeyMinute, Bucket: "key/1/minute", Max: 1 << 40, Window: time.Minute},
				{Name: plane.LimitAppMinute, Bucket: "app/1/minute", Max: 1 << 40, Window: time.Minute},
				{Name: plane.LimitAccountDay, Bucket: "account/1/day", Max: 1 << 40, Window: 24 * time.Hour, Daily: true},
			},
		}},
		Cells: l.Cells, Now: time.Now,
	})
	check(err)
	t.Cleanup(a.Close)
	ctx := context.Background()
	for range 100 { // the cache takes a key in its own time
		_, err = a.Authenticate(ctx, []byte(minted), time.Now())
		check(err)
		time.Sleep(time.Millisecond)
	}
	return []byte(minted), a, l
}

func TestAuthAndLimitDoNotAllocate(t *testing.T) {
	text, a, l := front(t)
	ctx := context.Background()
	if n := testing.AllocsPerRun(2000, func() {
		now := time.Now()
		c, err := a.Authenticate(ctx, text, now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Admit(ctx, c.Cells, now); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// unaryAllocations is what a whole answer may allocate between the parsed request and the written answer: the account of
// the call, its context, its id, and the body of the answer.
const unaryAllocations = 7

// unary returns a function that answers one call.
func unary(t testing.TB) func() {
	text, a, l := front(t)
	operations, err := operations()
	if err != nil {
		t.Fatal(err)
	}
	whole := quick{answer: upstream.Whole{Text: []byte(`"Habari!"`)}}
	whole.answer.Use.Source = plane.SourceProvider
	config := current()
	calls, err := obs.NewLines(nowhere{}).Canon("info", "json", "request")
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{
		Authenticate: a.Authenticate, Admit: l.Admit, Record: (&sink{}).record, CanRecord: func() error { return nil },
		Current: func() *plane.Current { return config }, Operations: operations,
		Routes: gateway.Routes(api.New(api.Options{
			Pool: func(string) (api.Pool, bool) { return alone{&whole, "chat"}, true }, Now: time.Now,
		})),
		CallTimeMax: time.Minute, Metrics: gateway.NewMetrics(prometheus.NewRegistry()),
		Calls: calls, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	handle := g.Handler(gateway.MainHost)
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{}, nil)
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI("/api/v1/agent")
	ctx.Request.Header.Set("Authorization", "Bearer "+string(text))
	ctx.Request.SetBodyString(`{"prompt":"Say hello in Swahili.","messages":[{"role":"user","content":"hi"}]}`)
	return func() {
		ctx.Response.Reset()
		handle(&ctx)
		if ctx.Response.StatusCode() != 200 {
			t.Fatalf("got %s", ctx.Response.Body())
		}
	}
}

func TestAllocationsOfAWholeAnswer(t *testing.T) {
	answer := unary(t)
	answer()
	n := testing.AllocsPerRun(1000, answer)
	t.Logf("%v allocations", n)
	if n > unaryAllocations+raceAllocations {
		t.Errorf("%v allocations, at most %d are allowed", n, unaryAllocations)
	}
}

func BenchmarkWholeAnswer(b *testing.B) {
	answer := unary(b)
	b.ReportAllocs()
	for b.Loop() {
		answer()
	}
}

// quick is an upstream that costs nothing.
type quick struct {
	model
	answer upstream.Whole
}

func (q *quick) Ask(context.Context, *upstream.Chat) (upstream.Whole, error) { return q.answer, nil }

// sink counts without keeping.
type sink struct{ n int }

func (s *sink) record(*call.Call, int, *call.Outcome, time.Time) error {
	s.n++
	return nil
}
