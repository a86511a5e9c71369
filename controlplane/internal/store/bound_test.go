package store

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/shared/apierr"
)

// sleep is a statement that hangs for longer than any test lasts.
const sleep = `SELECT pg_sleep(3600)`

func TestAStatementThatHangsEndsWithItsTransaction(t *testing.T) {
	s := open(t)
	s.RunTwice(nil)
	s.txTimeout = 300 * time.Millisecond
	err := s.Tx(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sleep)
		return err
	})
	if e := apierr.From(err); e == nil || e.Kind != apierr.Unavailable || e.RetryAfter == 0 {
		t.Errorf("got %v", err)
	}
}

// TestTheServerEndsAStatementThatHangs holds that the caller need not be there to end it.
func TestTheServerEndsAStatementThatHangs(t *testing.T) {
	address := database(t)
	for name, unit := range map[string]string{statementBound: "300ms", idleBound: "7000ms"} {
		address = with(t, address, name, unit)
	}
	s, err := Open(t.Context(), address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.pool.Exec(t.Context(), sleep)
	if e := apierr.From(away(err)); e == nil || e.Kind != apierr.Unavailable || e.RetryAfter == 0 {
		t.Errorf("got %v", err)
	}
	if got := setting(t, s, idleBound); got != 7*time.Second {
		t.Errorf("the address says that a transaction may be idle for 7s, the session %s", got)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	s := open(t)
	if got := setting(t, s, statementBound); got != StatementTimeout {
		t.Errorf("statements may take %s", got)
	}
	if got := setting(t, s, idleBound); got != IdleInTxTimeout {
		t.Errorf("transactions may be idle for %s", got)
	}
	conn, err := pgx.ConnectConfig(t.Context(), s.unbounded())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, name := range []string{statementBound, idleBound} {
		var text string
		if err := conn.QueryRow(t.Context(), `SHOW `+name).Scan(&text); err != nil || text != "0" {
			t.Errorf("%s of migrations is %q: %v", name, text, err)
		}
	}
}

// setting is what a session's server says. PostgreSQL says it with a unit, CockroachDB in milliseconds.
func setting(t *testing.T, s *Store, name string) time.Duration {
	t.Helper()
	var text string
	if err := s.pool.QueryRow(t.Context(), `SHOW `+name).Scan(&text); err != nil {
		t.Fatal(err)
	}
	if strings.Trim(text, "0123456789") == "" {
		text += "ms"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func with(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
