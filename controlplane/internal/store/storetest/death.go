package storetest

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/store"
)

// deathsMax is how many deaths of one piece of work are tried: of longer work they are spread over all of it.
const deathsMax = 24

// Deaths shows what is left when a process dies in the middle of its work. It calls scene once with work that lives, and then once for
// each point at which it can die: before a statement is sent, and after it was executed but before its answer is used.
//
// A scene prepares what is to be done, gives die the work of the process that is to end, which uses the store s, does what another
// process does later, and judges the outcome. From its death on nothing of the work reaches the database, and its context has ended.
func Deaths(t *testing.T, url string, scene func(s *store.Store, die func(work func(ctx context.Context) error))) {
	t.Helper()
	l := &life{}
	s, err := store.OpenTraced(t.Context(), url, slog.New(slog.DiscardHandler), l)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(at int) (points int) {
		scene(s, func(work func(ctx context.Context) error) {
			ctx := l.begin(t.Context(), at)
			if err := work(ctx); err != nil && at == 0 {
				t.Errorf("alive: %v", err)
			}
			points = l.end()
		})
		if t.Failed() {
			t.Fatalf("the process died at point %d", at)
		}
		return points
	}
	all := run(0)
	if all == 0 {
		t.Fatal("the work has no statements")
	}
	tries := min(all, deathsMax)
	for i := range tries {
		run(1 + i*all/tries)
	}
	t.Logf("%d deaths at %d points", tries, all)
}

// life is that of a process. It hears of every statement, and denies those after the death.
type life struct {
	mu    sync.Mutex
	at    int // the point it dies at; 0 for never
	point int // it has reached
	die   context.CancelFunc
	dead  bool
}

func (l *life) begin(ctx context.Context, at int) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.point, l.dead = at, 0, false
	ctx, l.die = context.WithCancel(ctx)
	return ctx
}

// end returns how many points there were.
func (l *life) end() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.die()
	l.at, l.dead = 0, false
	return l.point
}

func (l *life) pass(ctx context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.point++; l.point == l.at {
		l.dead = true
		l.die()
	}
	if !l.dead {
		return ctx
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return ended
}

// TraceQueryStart implements [pgx.QueryTracer].
func (l *life) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return l.pass(ctx)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (l *life) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) { l.pass(ctx) }

// TraceBatchStart implements [pgx.BatchTracer].
func (l *life) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return l.pass(ctx)
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (*life) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (l *life) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) { l.pass(ctx) }
