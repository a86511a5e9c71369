package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"modelgate.internal/shared/apierr"
)

// TestWhatTheServerSays holds what clients are told of a server's error: that they may come back, or that we have failed.
func TestWhatTheServerSays(t *testing.T) {
	for code, want := range map[string]apierr.Kind{
		codeSerialization:     apierr.Unavailable, // a read that kept colliding
		codeDeadlock:          apierr.Unavailable,
		codeCompletionUnknown: apierr.Unavailable, // may have happened
		"08006":               apierr.Unavailable,
		"53100":               apierr.Unavailable, // the disk is full
		"53200":               apierr.Unavailable, // no memory
		"53300":               apierr.Unavailable, // no connection is left
		"57014":               apierr.Unavailable, // given up by the bound of a statement
		"57P01":               apierr.Unavailable,
		"58C00":               apierr.Unavailable, // CockroachDB has lost a range
		"58C01":               apierr.Unavailable,
		"22012":               apierr.Internal, // division by zero
		"42601":               apierr.Internal, // a mistake in a statement
		"58030":               apierr.Internal, // the server cannot read its disk
		"XX000":               apierr.Internal,
	} {
		err := apierr.From(away(fmt.Errorf("read: %w", &pgconn.PgError{Severity: "ERROR", Code: code})))
		if err.Kind != want || (want == apierr.Unavailable) != (err.RetryAfter > 0) {
			t.Errorf("%s: %v, try again after %s; want %v", code, err.Kind, err.RetryAfter, want)
		}
	}
}

// failing returns a transaction whose first runs fail with an error of the server, and the number of its runs.
func failing(code, message string, times int) (fn func(context.Context, pgx.Tx) error, runs *int) {
	runs = new(int)
	return func(context.Context, pgx.Tx) error {
		if *runs++; *runs <= times {
			return &pgconn.PgError{Severity: "ERROR", Code: code, Message: message}
		}
		return nil
	}, runs
}

// bothWays runs a test with transactions that are restarted as a whole and with those that are first restarted in place. Only the
// latter are of interest on a database that can do it.
func bothWays(t *testing.T, s *Store, test func(t *testing.T)) {
	t.Helper()
	s.RunTwice(nil)
	ways := []bool{true}
	if !s.cockroach {
		ways = []bool{false, true}
	}
	for _, inPlace := range ways {
		t.Run(fmt.Sprintf("inPlace=%t", inPlace), func(t *testing.T) {
			s.inPlace = inPlace
			test(t)
		})
	}
}

// TestAPeerOfTheServerDies tells of the death of another server than the one that is asked, in CockroachDB's words.
func TestAPeerOfTheServerDies(t *testing.T) {
	s := open(t)
	const said = "rpc error: code = Unavailable desc = error reading from server: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"
	bothWays(t, s, func(t *testing.T) {
		fn, runs := failing(codeUncategorized, said, 2)
		if err := s.Tx(t.Context(), "test", fn); err != nil || *runs != 3 {
			t.Errorf("%d runs: %v", *runs, err)
		}
	})
	told := apierr.From(away(&pgconn.PgError{Severity: "ERROR", Code: codeUncategorized, Message: said}))
	if told.Kind != apierr.Unavailable || told.RetryAfter == 0 {
		t.Errorf("told %v", told)
	}
	if other := apierr.From(away(&pgconn.PgError{Severity: "ERROR", Code: codeUncategorized, Message: "unknown function"})); other.Kind != apierr.Internal {
		t.Errorf("another error without a code: told %v", other)
	}
}

func TestATransactionThatKeepsCollidingIsGivenUp(t *testing.T) {
	s := open(t)
	bothWays(t, s, func(t *testing.T) {
		fn, runs := failing(codeSerialization, "injected", math.MaxInt)
		err := s.Tx(t.Context(), "test", fn)
		if e := apierr.From(err); e == nil || e.Kind != apierr.Unavailable || e.RetryAfter == 0 {
			t.Errorf("got %v", err)
		}
		want := TxAttemptsMax
		if s.inPlace {
			want *= 1 + TxRestartsMax
		}
		if *runs != want {
			t.Errorf("%d runs, want %d", *runs, want)
		}
	})
}

func TestATransactionIsRestartedAfterAMigration(t *testing.T) {
	s := open(t)
	bothWays(t, s, func(t *testing.T) {
		fn, runs := failing(codeNotSupported, "cached plan must not change result type", 1)
		if err := s.Tx(t.Context(), "test", fn); err != nil || *runs != 2 {
			t.Errorf("%d runs: %v", *runs, err)
		}
	})
}

// TestAStatementWhoseEndIsUnknown is not repeated: it may have happened.
func TestAStatementWhoseEndIsUnknown(t *testing.T) {
	s := open(t)
	bothWays(t, s, func(t *testing.T) {
		fn, runs := failing(codeCompletionUnknown, "result is ambiguous", 1)
		if err := s.Tx(t.Context(), "test", fn); apierr.From(err).Kind != apierr.Unavailable || *runs != 1 {
			t.Errorf("%d runs: %v", *runs, err)
		}
	})
}

// endTx is a transaction whose commit fails with an error of the server. In place, the commit is the release of the savepoint.
type endTx struct {
	pgx.Tx
	code string
}

func (e endTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if isCommit(sql) {
		return pgconn.CommandTag{}, e.Commit(ctx)
	}
	return e.Tx.Exec(ctx, sql, args...)
}

func (e endTx) Commit(ctx context.Context) error {
	_ = e.Rollback(ctx)
	return &pgconn.PgError{Severity: "ERROR", Code: e.code}
}

// isCommit reports whether a statement of [crdb.ExecuteInTx] commits.
func isCommit(sql string) bool { return strings.HasPrefix(sql, "RELEASE SAVEPOINT") }

// TestACommitIsRefusedOnlyByAnErrorThatSaysSo: of every other error of a commit the outcome is unknown.
func TestACommitIsRefusedOnlyByAnErrorThatSaysSo(t *testing.T) {
	s := open(t)
	bothWays(t, s, func(t *testing.T) {
		for code, unknown := range map[string]bool{"23503": false, "40002": false, codeCompletionUnknown: true, "57014": true, "58C00": true, "XX000": true} {
			runs := 0
			s.faulty = func(tx pgx.Tx) pgx.Tx { return endTx{tx, code} }
			err := s.Tx(t.Context(), "test", func(context.Context, pgx.Tx) error { runs++; return nil })
			if _, ambiguous := errors.AsType[*AmbiguousCommitError](err); err == nil || ambiguous != unknown || runs != 1 {
				t.Errorf("%s: %d runs: %v", code, runs, err)
			}
		}
	})
}

// colliding is a pool whose first statements collide.
type colliding struct {
	querier
	left int
}

func (c *colliding) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if c.left--; c.left >= 0 {
		return nil, &pgconn.PgError{Severity: "ERROR", Code: codeSerialization, Message: "injected"}
	}
	return c.querier.Query(ctx, sql, args...)
}

func TestAReadThatCollidesIsRunAgain(t *testing.T) {
	s := open(t)
	if _, err := one[configRevRow](t.Context(), &colliding{s.pool, ReadAttemptsMax - 1}, selectConfigRev); err != nil {
		t.Errorf("with %d collisions: %v", ReadAttemptsMax-1, err)
	}
	_, err := one[configRevRow](t.Context(), &colliding{s.pool, ReadAttemptsMax}, selectConfigRev)
	if e := apierr.From(err); e == nil || e.Kind != apierr.Unavailable || e.RetryAfter == 0 {
		t.Errorf("with %d collisions: %v", ReadAttemptsMax, err)
	}
}

// TestEveryStatementIsRunAgain: outside of transactions there is no way to the database but those of store.go, which do it.
func TestEveryStatementIsRunAgain(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files found")
	}
	direct := regexp.MustCompile(`pool\.(Query|QueryRow|Exec|SendBatch|CopyFrom)\(`)
	for _, file := range files {
		if file == "store.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := direct.FindString(string(text)); found != "" {
			t.Errorf("%s has %s…)", file, found)
		}
	}
}
