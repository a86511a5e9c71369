package store

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/testkit"
)

func isErr(err, target error) bool         { return errors.Is(err, target) }
func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

func TestCollidingTransactionsAreRestarted(t *testing.T) {
	s := open(t)
	const workers, each = 4, 5
	errs := make(chan error, workers)
	for range workers {
		go func() {
			ctx := context.WithoutCancel(t.Context())
			for range each {
				err := s.Tx(ctx, "count", func(ctx context.Context, tx pgx.Tx) error { // reads, thinks, writes: loses updates without isolation
					row, err := one[configRevRow](ctx, tx, selectConfigRev)
					if err != nil {
						return err
					}
					_, err = tx.Exec(ctx, `UPDATE config_rev SET rev = $1 WHERE id = 1`, row.Rev+1)
					return err
				})
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if c, err := s.Cursor(t.Context()); err != nil || c.Version != workers*each {
		t.Errorf("counted to %d, want %d: %v", c.Version, workers*each, err)
	}
}

func TestRunTwiceRunsTwice(t *testing.T) {
	s := open(t)
	s.RunTwice(func() bool { return true })
	runs := 0
	err := s.Tx(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
		runs++
		_, err := tx.Exec(t.Context(), `UPDATE config_rev SET rev = rev + 1 WHERE id = 1`)
		return err
	})
	if c, _ := s.Cursor(t.Context()); err != nil || runs != 2 || c.Version != 1 {
		t.Errorf("%d runs, version %d: %v", runs, c.Version, err)
	}
}

// cut is a connection that breaks after it has sent what commits, before the answer.
type cut struct {
	net.Conn
	armed *atomic.Bool
	sent  atomic.Bool
}

func (c *cut) Write(b []byte) (int, error) {
	if c.armed.Load() && (strings.Contains(string(b), "commit") || strings.Contains(string(b), "RELEASE SAVEPOINT")) {
		c.sent.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *cut) Read(b []byte) (int, error) {
	if c.sent.Load() {
		_, _ = c.Conn.Read(b) // the server has committed when it answers
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return c.Conn.Read(b)
}

func TestAnAmbiguousCommitIsNotRetried(t *testing.T) {
	s := open(t)
	s.RunTwice(nil)
	cfg := s.pool.Config()
	var armed atomic.Bool
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &cut{Conn: conn, armed: &armed}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	broken := &Store{Now: time.Now, pool: pool, log: slog.New(slog.DiscardHandler), txTimeout: TxTimeout, inPlace: s.cockroach, turn: make(chan struct{}, 1)}
	armed.Store(true)
	runs := 0
	err = broken.Tx(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
		runs++
		_, err := tx.Exec(t.Context(), `UPDATE config_rev SET rev = rev + 1 WHERE id = 1`)
		return err
	})
	if _, ok := errors.AsType[*AmbiguousCommitError](err); !ok || apierr.From(err).Kind != apierr.Unavailable || runs != 1 {
		t.Errorf("%d runs, error %v", runs, err)
	}
	if c, err := s.Cursor(t.Context()); err != nil || c.Version != 1 {
		t.Errorf("version %d, %v: the commit was to happen", c.Version, err)
	}
	armed.Store(false)
	if _, err := broken.Cursor(t.Context()); err != nil {
		t.Errorf("the pool did not recover: %v", err)
	}
}

func TestErrorsOfTheClosureComeThrough(t *testing.T) {
	s := open(t)
	want := apierr.New(apierr.Conflict, "No.")
	if err := s.Tx(t.Context(), "test", func(context.Context, pgx.Tx) error { return want }); !isErr(err, want) {
		t.Errorf("got %v", err)
	}
	err := s.Tx(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT 1/0`)
		return err
	})
	if err == nil || apierr.From(err).Kind != apierr.Internal {
		t.Errorf("got %v", err)
	}
}

func TestADatabaseThatIsAway(t *testing.T) {
	_, err := Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", slog.New(slog.DiscardHandler))
	if e := apierr.From(err); e == nil || e.Kind != apierr.Unavailable || e.RetryAfter == 0 {
		t.Errorf("got %v", err)
	}
	s := open(t)
	s.Close()
	if _, err := s.Cursor(t.Context()); apierr.From(err).Kind != apierr.Unavailable {
		t.Errorf("got %v", err)
	}
	if err := s.Tx(t.Context(), "test", func(context.Context, pgx.Tx) error { return nil }); apierr.From(err).Kind != apierr.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestTextThatIsNotKept is refused on either database, though CockroachDB could keep it.
func TestTextThatIsNotKept(t *testing.T) {
	s := open(t)
	_, err := s.CredentialsByEmail(t.Context(), "a\x00b")
	if apierr.From(err).Kind != apierr.Invalid {
		t.Errorf("read: got %v", err)
	}
	d := developer(t, s, plan.Free)
	a := newApp(d)
	a.Description = "\x00"
	if err := s.CreateApp(t.Context(), a); apierr.From(err).Kind != apierr.Invalid {
		t.Errorf("written: got %v", err)
	}
	a.Description, a.Tasks = "", []string{"a", "\x00"}
	if err := s.CreateApp(t.Context(), a); apierr.From(err).Kind != apierr.Invalid {
		t.Errorf("written in a list: got %v", err)
	}
}

func TestThreeStartersMigrateOnce(t *testing.T) {
	url := testkit.Database(t)
	errs := make(chan error, 3)
	for range 3 {
		go func() {
			s, err := Open(context.WithoutCancel(t.Context()), url, slog.New(slog.DiscardHandler))
			if err == nil {
				defer s.Close()
				if err = s.Migrate(context.WithoutCancel(t.Context())); err == nil {
					err = s.Ready(context.WithoutCancel(t.Context()))
				}
			}
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestNotReadyUntilMigrated(t *testing.T) {
	s, err := Open(t.Context(), testkit.Database(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Ready(t.Context()); err == nil || !contains(err, "controlplane migrate") {
		t.Errorf("ready without a schema: %v", err)
	}
}
