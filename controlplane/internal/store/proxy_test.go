package store

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/testkit"
)

// fault is what a proxy does to a COMMIT.
type fault string

const (
	conflict   fault = "answered with 40001" // the server is told to roll back
	lostAnswer fault = "committed, and the connection breaks before the answer"
	lostCommit fault = "not committed: the connection breaks before it"
)

// proxy stands between a store and its database and speaks their protocol (PostgreSQL's documentation, chapter 54). What it does
// to the next commits is set with arm.
type proxy struct {
	t       *testing.T
	network string
	address string

	commit, rollback string // what commits on this database, and what undoes instead

	mu    sync.Mutex
	fault fault
	left  int // commits that it is done to
	hits  int
	open  map[net.Conn]chan struct{} // ends of clients, and what is closed when their server hangs
}

// newProxy returns a proxy of the database at dbURL and an address that leads through it.
func newProxy(t *testing.T, dbURL string) (p *proxy, through string) {
	t.Helper()
	cfg, err := pgconn.ParseConfig(dbURL)
	if err != nil {
		t.Fatal(err)
	}
	p = &proxy{t: t, commit: "commit", rollback: "rollback", open: map[net.Conn]chan struct{}{}}
	p.network, p.address = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	u := url.URL{Scheme: "postgres", User: url.UserPassword(cfg.User, cfg.Password), Host: l.Addr().String(), Path: cfg.Database, RawQuery: "sslmode=disable"}
	return p, u.String()
}

func (p *proxy) arm(f fault, commits int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.left, p.hits = f, commits, 0
}

// sever ends all connections of now, as the death of a server does.
func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for client := range p.open {
		_ = client.Close()
	}
}

// hang lets nothing pass on all connections of now, and leaves them open.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for client, hung := range p.open {
		close(hung)
		p.t.Cleanup(func() { _ = client.Close() }) // or the store waits for it at its end
	}
}

// enter notes a connection and returns what is closed when its server hangs.
func (p *proxy) enter(client net.Conn) <-chan struct{} {
	hung := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[client] = hung
	return hung
}

func (p *proxy) leave(client net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
}

// next is what is done to a commit, "" for nothing.
func (p *proxy) next() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return ""
	}
	p.left--
	p.hits++
	return p.fault
}

func (p *proxy) hit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// serve passes one connection on until an end of it is closed. Either direction has a goroutine; answers says to the one that
// reads the server's what to do with the answer to a commit, which nothing else can overtake: a client waits for it.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	hung := p.enter(client)
	defer p.leave(client)
	server, err := (&net.Dialer{}).DialContext(context.WithoutCancel(p.t.Context()), p.network, p.address)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer server.Close()
	backend, frontend := pgproto3.NewBackend(client, client), pgproto3.NewFrontend(server, server)
	startup, err := backend.ReceiveStartupMessage()
	if err != nil {
		return
	}
	if m, ok := startup.(*pgproto3.StartupMessage); ok {
		frontend.Send(m)
	} else {
		return // a request to cancel; the deadline of the statement ends it as well
	}
	if frontend.Flush() != nil {
		return
	}
	answers := make(chan fault, 1)
	var back sync.WaitGroup
	back.Go(func() {
		defer client.Close()
		p.answers(frontend, backend, answers)
	})
	defer back.Wait()
	defer server.Close()
	for {
		m, err := backend.Receive()
		if err != nil {
			return
		}
		select {
		case <-hung:
			continue // until the client gives up
		default:
		}
		if q, ok := m.(*pgproto3.Query); ok && strings.EqualFold(q.String, p.commit) {
			switch f := p.next(); f {
			case lostCommit:
				return
			case conflict:
				answers <- f
				m = &pgproto3.Query{String: p.rollback}
			case lostAnswer:
				answers <- f
			}
		}
		frontend.Send(m)
		if frontend.Flush() != nil {
			return
		}
	}
}

// answers passes on what the server says.
func (p *proxy) answers(frontend *pgproto3.Frontend, backend *pgproto3.Backend, answers <-chan fault) {
	var f fault
	for {
		m, err := frontend.Receive()
		if err != nil {
			return
		}
		if f == "" {
			select {
			case f = <-answers:
			default:
			}
		}
		_, ready := m.(*pgproto3.ReadyForQuery)
		switch {
		case f == "":
		case f == lostAnswer && ready:
			return
		case !ready:
			continue
		default:
			f = ""
			backend.Send(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: codeSerialization, Message: "at the commit, by the proxy"})
		}
		switch m.(type) { // what the server sends for password exchanges is understood by the type the client is told
		case *pgproto3.AuthenticationOk, *pgproto3.AuthenticationSASL, *pgproto3.AuthenticationSASLContinue, *pgproto3.AuthenticationSASLFinal:
			_ = backend.SetAuthType(frontend.GetAuthType())
		}
		backend.Send(m)
		if backend.Flush() != nil {
			return
		}
	}
}

// TestCommitsThatGoWrongOnTheWire runs every transaction of the store while its first commit fails in each way. Work is done
// once or not at all: a refused commit is tried again, an unknown one is reported and never repeated.
func TestCommitsThatGoWrongOnTheWire(t *testing.T) {
	dbURL := testkit.Database(t)
	direct := openAt(t, dbURL)
	direct.RunTwice(nil)
	p, through := newProxy(t, dbURL)
	if direct.inPlace {
		p.commit, p.rollback = "RELEASE SAVEPOINT cockroach_restart", "ROLLBACK TO SAVEPOINT cockroach_restart"
	}
	s, err := Open(t.Context(), through, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	all := operations(s, apps(t, s))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			run := func(f fault, commits int) (added map[string]int, err error) {
				x := thingsOf(t, direct)
				before := census(t, direct)
				p.arm(f, commits)
				err = all[name](t.Context(), x)
				if got := p.hit(); got != commits {
					t.Fatalf("%d commits were %s, not %d", got, f, commits)
				}
				return grown(before, census(t, direct)), err
			}
			if _, err := run("", 0); err != nil { // makes what an installation has one of
				t.Fatal(err)
			}
			want, err := run("", 0)
			if err != nil {
				t.Fatal(err)
			}
			for commits := 1; commits <= 2; commits++ {
				got, err := run(conflict, commits)
				if err != nil || !maps.Equal(got, want) {
					t.Errorf("%d commits %s: added %v, not %v: %v", commits, conflict, got, want, err)
				}
			}
			if name == "delete account" {
				return // several transactions: its first one alone is no whole
			}
			if got, err := run(lostAnswer, 1); !unknown(err) || !maps.Equal(got, want) {
				t.Errorf("%s: added %v, not %v; told %v", lostAnswer, got, want, err)
			}
			if got, err := run(lostCommit, 1); !unknown(err) || len(got) > 0 {
				t.Errorf("%s: added %v; told %v", lostCommit, got, err)
			}
		})
	}
}

// TestAConnectionThatBreaksIsReplaced takes away what a pool holds, as the death of one server of a cluster does. Whoever comes next must
// not hear of it.
func TestAConnectionThatBreaksIsReplaced(t *testing.T) {
	dbURL := testkit.Database(t)
	direct := openAt(t, dbURL)
	d := developer(t, direct, plan.Free)
	p, through := newProxy(t, dbURL)
	s, err := Open(t.Context(), through, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	uses := map[string]func() error{
		"a statement": func() error { _, err := s.Apps(t.Context(), d.ID); return err },
		"a transaction": func() error {
			return s.Tx(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT 1")
				return err
			})
		},
		"a snapshot": func() error {
			return s.Snapshot(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SELECT 1")
				return err
			})
		},
		"the look at the version": func() error { _, err := s.Cursor(t.Context()); return err },
	}
	for _, what := range slices.Sorted(maps.Keys(uses)) {
		t.Run(what, func(t *testing.T) {
			hold(t, s)
			p.sever()
			if err := uses[what](); err != nil {
				t.Errorf("the connections ended: %v", err)
			}
		})
	}
	t.Run("within a transaction", func(t *testing.T) {
		hold(t, s)
		runs := 0
		err := s.Tx(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
				return err
			}
			if runs++; runs == 1 {
				p.sever()
			}
			_, err := tx.Exec(ctx, "SELECT 2")
			return err
		})
		if err != nil || runs != 2 {
			t.Errorf("run %d times: %v", runs, err)
		}
	})
	t.Run("a server that hangs", func(t *testing.T) {
		hold(t, s)
		p.hang()
		time.Sleep(1100 * time.Millisecond) // a pool asks whether a connection lives when it was idle for a second
		if err := uses["a statement"](); err != nil {
			t.Error(err)
		}
	})
}

// hold fills a pool with three connections that are idle.
func hold(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), TxTimeout)
	defer cancel()
	var held []*pgxpool.Conn
	for range 3 {
		c, err := s.pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Release()
	}
}

// unknown reports whether an error says that a commit may have happened, and to clients that the database is away.
func unknown(err error) bool {
	return err != nil && contains(err, "the outcome of the commit is unknown") && apierr.From(err).Kind == apierr.Unavailable
}
