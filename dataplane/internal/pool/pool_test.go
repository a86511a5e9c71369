package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// classified is an upstream's error that knows its class.
type classified struct{ class plane.FailureClass }

func (c classified) Error() string                    { return string(c.class) }
func (c classified) FailureClass() plane.FailureClass { return c.class }

func failing(class plane.FailureClass) error {
	return apierr.New(apierr.BadGateway, "It failed.").Because(classified{class})
}

var (
	errServer  = failing(plane.FailServerError)
	errConnect = failing(plane.FailConnect)
	errAway    = apierr.New(apierr.Unavailable, "It is loading.").Because(away{classified{plane.FailServerError}})
)

// away is an error that will not last.
type away struct{ classified }

func (away) Passing() bool { return true }

// server is a scripted upstream. Its zero value answers at once.
type server struct {
	id string

	mu     sync.Mutex
	takes  time.Duration
	err    error
	script []error // for the next calls, before err
	first  time.Duration
	events int              // of a stream, one a second
	cut    error            // how a stream ends after its events
	bad    map[string]error // of calls whose prompt is this, before err
	now    int              // in flight
	most   int
	asked  int
}

func (s *server) set(f func(s *server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *server) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *server) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *server) begin(c *upstream.Chat) (takes time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	s.now++
	s.most = max(s.most, s.now)
	err = s.err
	if len(s.script) > 0 {
		err, s.script = s.script[0], s.script[1:]
	}
	if c != nil && s.bad[string(c.Prompt)] != nil {
		err = s.bad[string(c.Prompt)]
	}
	return s.takes, err
}

func (s *server) end() { s.set(func(s *server) { s.now-- }) }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *server) Ask(ctx context.Context, c *upstream.Chat) (upstream.Whole, error) {
	takes, err := s.begin(c)
	defer s.end()
	if takes > 0 {
		if gone := sleep(ctx, takes); gone != nil {
			return upstream.Whole{}, gone
		}
	}
	if err != nil {
		return upstream.Whole{}, err
	}
	return upstream.Whole{Text: []byte(`"` + s.id + `"`)}, nil
}

// patience is the silence after which Open returns a stream that has not begun.
const patience = 10 * time.Second

func (s *server) Open(ctx context.Context, c *upstream.Chat) (call.Stream, error) {
	_, err := s.begin(c)
	if wait := sleep(ctx, min(s.first, patience)); wait != nil || err != nil && s.first <= patience {
		s.end()
		return nil, errors.Join(wait, err)
	}
	return &stream{ctx: ctx, server: s, err: err}, nil
}

type stream struct {
	ctx    context.Context
	server *server
	err    error // before the first event
	closed bool
}

func (s *stream) Started() bool { return s.server.first <= patience }

func (s *stream) Relay(w *sse.Writer) call.Outcome {
	if !s.Started() {
		if err := sleep(s.ctx, s.server.first-patience); err != nil {
			return call.Outcome{End: plane.EndClientGone, Err: err}
		}
		if s.err != nil {
			return call.Outcome{End: plane.EndFailed, Err: s.err}
		}
	}
	out := call.Outcome{End: plane.EndDone, First: time.Now()}
	for range s.server.events {
		w.DeltaRaw([]byte(s.server.id))
		if err := w.Flush(); err != nil {
			return call.Outcome{End: plane.EndClientGone, First: out.First, Err: err}
		}
		if err := sleep(s.ctx, time.Second); err != nil {
			return call.Outcome{End: plane.EndClientGone, First: out.First, Err: err}
		}
	}
	if s.server.cut != nil {
		out.End, out.Err = plane.EndUpstreamCut, s.server.cut
	}
	return out
}

func (s *stream) Close() {
	if !s.closed {
		s.closed = true
		s.server.end()
	}
}

// field is servers, a Set over them and what the Set told.
type field struct {
	*pool.Set
	t       *testing.T
	servers map[string]*server
	config  *plane.Current

	mu     sync.Mutex
	told   map[string]int // observations by their words
	states []string
	well   map[string]error
}

func (f *field) tell(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told[fmt.Sprintf(format, args...)]++
}

func (f *field) heard(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.told[what]
}

// newField has the servers a, b, c, ... and the pool "p" of the first members of them; change may alter the configuration.
func newField(t *testing.T, servers, members int, change func(c *plane.Current, p *plane.PoolSpec)) *field {
	t.Helper()
	f := &field{t: t, servers: map[string]*server{}, told: map[string]int{}, well: map[string]error{}}
	f.config = &plane.Current{
		Upstreams: map[string]plane.UpstreamSpec{}, Pools: map[string]plane.PoolSpec{}, Models: map[string]plane.Model{},
	}
	p := plane.PoolSpec{ID: "p", Policy: plane.PolicyRoundRobin}
	for i := range servers {
		id := string(rune('a' + i))
		f.servers[id] = &server{id: id, events: 1}
		f.config.Upstreams[id] = plane.UpstreamSpec{ID: id, Dialect: plane.DialectChat, BaseURL: "http://" + id + "/v1"}
		if i < members {
			p.Members = append(p.Members, plane.Member{Upstream: id})
		}
	}
	if change != nil {
		change(f.config, &p)
	}
	f.config.Pools["p"] = p
	if err := f.config.CheckPools(); err != nil {
		t.Fatal(err)
	}
	f.Set = pool.NewSet(pool.Options{
		Upstream: func(id string) (upstream.Upstream, error) {
			s, ok := f.servers[id]
			if !ok {
				return nil, apierr.New(apierr.Unavailable, "Not there.")
			}
			return s, nil
		},
		Probe: func(_ context.Context, spec plane.UpstreamSpec, path string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.told["probe "+spec.ID+" "+path]++
			return f.well[spec.ID]
		},
		Observer: pool.Observer{
			Attempt:  func(p, up, result string, _ time.Duration) { f.tell("%s/%s %s", p, up, result) },
			Broken:   func(p, up string) { f.tell("%s/%s broken", p, up) },
			Waited:   func(p, how string, _ time.Duration) { f.tell("%s waited %s", p, how) },
			Held:     func(p, why string) { f.tell("%s held %s", p, why) },
			Fallback: func(p, to string, class plane.FailureClass) { f.tell("%s to %s for %s", p, to, class) },
			Panic:    func(p, up string) { f.tell("%s/%s panic", p, up) },
			State: func(up string, s pool.State) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.states = append(f.states, up+" "+string(s))
			},
		},
		Log: slog.New(slog.DiscardHandler), Rand: rand.New(rand.NewPCG(1, 2)),
	})
	f.Update(f.config)
	t.Cleanup(f.settled)
	return f
}

// settled checks that every slot was given back.
func (f *field) settled() {
	for _, id := range []string{"p", "a", "b", "c", "d"} {
		for _, m := range f.Members(id) {
			if m.InFlight != 0 {
				f.t.Errorf("%s: %d calls are still counted in flight", m.Upstream, m.InFlight)
			}
		}
	}
	for id, s := range f.servers {
		if s.now != 0 {
			f.t.Errorf("%s: %d calls or streams were left open", id, s.now)
		}
	}
}

func (f *field) pool(id string) *pool.Pool {
	f.t.Helper()
	p, ok := f.Get(id)
	if !ok {
		f.t.Fatalf("there is no pool %s", id)
	}
	return p
}

// ask returns who answered.
func (f *field) ask() (string, error) {
	whole, err := f.pool("p").Ask(f.t.Context(), nil)
	if err != nil {
		return "", err
	}
	return string(whole.Text[1 : len(whole.Text)-1]), nil
}

// chat is the request of a caller.
func (*field) chat(from pool.From) *upstream.Chat { return &upstream.Chat{Prompt: from.Body} }

// Members is how servers stand for nobody in particular.
func (f *field) Members(id string) []pool.MemberStatus { return f.Set.Members(id, pool.From{}) }

func (f *field) state(id string) pool.State {
	f.t.Helper()
	for _, m := range f.Members(id) {
		return m.State
	}
	f.t.Fatalf("there is no member %s", id)
	return ""
}

// way is one of the two ways to ask a pool.
type way struct {
	name string
	ask  func(f *field, ctx context.Context) (pool.Facts, error)
	of   func(f *field, ctx context.Context, from pool.From) (pool.Facts, error)
}

// ways are both; what is demanded of one is demanded of the other.
var ways = []way{
	{"ask", nobody(asks), asks},
	{"open", nobody(opens), opens},
}

func nobody(of func(*field, context.Context, pool.From) (pool.Facts, error)) func(*field, context.Context) (pool.Facts, error) {
	return func(f *field, ctx context.Context) (pool.Facts, error) { return of(f, ctx, pool.From{}) }
}

func asks(f *field, ctx context.Context, from pool.From) (facts pool.Facts, err error) {
	_, err = f.pool("p").AskWith(ctx, from, f.chat(from), &facts)
	return facts, err
}

func opens(f *field, ctx context.Context, from pool.From) (facts pool.Facts, err error) {
	s, err := f.pool("p").OpenWith(ctx, from, f.chat(from), &facts)
	if err != nil {
		return facts, err
	}
	defer s.Close()
	return facts, s.Relay(sse.NewWriter(io.Discard, nil)).Err
}

// both runs a test in virtual time for each way.
func both(t *testing.T, test func(t *testing.T, w way)) {
	t.Helper()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, w) })
		})
	}
}

// counts asks n times in a row and counts who answered.
func (f *field) counts(n int) map[string]int {
	f.t.Helper()
	got := map[string]int{}
	for range n {
		id, err := f.ask()
		if err != nil {
			f.t.Fatalf("a call failed: %v", err)
		}
		got[id]++
	}
	return got
}

// near reports whether got is within tolerance percent of want.
func near(got, want, tolerance int) bool {
	return got*100 >= want*(100-tolerance) && got*100 <= want*(100+tolerance)
}
