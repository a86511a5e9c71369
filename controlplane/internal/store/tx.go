package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/cockroachdb/cockroach-go/v2/crdb"
	"github.com/cockroachdb/cockroach-go/v2/crdb/crdbpgxv5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// AmbiguousCommitError says that the connection broke while a transaction was being committed: it may have happened or
// not. It is never retried here, because that could do the work twice.
type AmbiguousCommitError struct{ cause error }

// Error implements error.
func (e *AmbiguousCommitError) Error() string {
	return "the outcome of the commit is unknown: " + e.cause.Error()
}

// Unwrap returns what broke the commit.
func (e *AmbiguousCommitError) Unwrap() error { return e.cause }

// serializable is stated in every transaction: it is the default of one of the two databases only.
var serializable = pgx.TxOptions{IsoLevel: pgx.Serializable}

// errTwice ends the first of two runs in test mode.
var errTwice = errors.New("run twice")

// Tx runs fn in a serializable transaction and commits it. A transaction that collides with another one is run again as a
// whole, and so is one whose connection broke before its commit: in a cluster another server takes it. So fn may run any number of times
// and touches nothing but tx. Its statements take fn's own context, which ends after TxTimeout. The name is for error messages.
//
// The error is fn's own, wrapped; an [*AmbiguousCommitError]; or a 503 *apierr.Error when the database is away or the
// transaction kept colliding.
func (s *Store) Tx(ctx context.Context, name string, fn func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.txTimeout)
	defer cancel()
	if s.twice != nil && s.twice() {
		if err := s.discard(ctx, fn); err != nil {
			return fmt.Errorf("%s: %w", name, away(err))
		}
	}
	run := s.attempt
	if s.inPlace {
		run = s.executeTx
	}
	if err := restart(ctx, run, fn); err != nil {
		return fmt.Errorf("%s: %w", name, away(err))
	}
	return nil
}

// Snapshot runs fn in a transaction that only reads, and reads all of one moment. Whoever writes neither waits for it nor collides with
// it. On CockroachDB the moment is just past, by the clock of the server that is asked. Errors and runs of fn are as with [Store.Tx].
func (s *Store) Snapshot(ctx context.Context, name string, fn func(ctx context.Context, tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.txTimeout)
	defer cancel()
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if s.cockroach {
		options = pgx.TxOptions{BeginQuery: "BEGIN TRANSACTION READ ONLY, AS OF SYSTEM TIME '-1us'"}
	}
	run := func(ctx context.Context, fn work) error {
		return pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error { return fn(ctx, tx) })
	}
	if err := restart(ctx, run, fn); err != nil {
		return fmt.Errorf("%s: %w", name, away(err))
	}
	return nil
}

// RunTwice makes every transaction for which choose returns true run once for nothing before it runs for good. It is for
// tests, to be called before the store is used: code that does something outside of its transaction does it twice then.
func (s *Store) RunTwice(choose func() bool) { s.twice = choose }

// discard runs fn and rolls back. A collision is no news here: the run for good meets it again.
func (s *Store) discard(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, serializable, func(tx pgx.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return errTwice
	})
	if errors.Is(err, errTwice) || collided(err) {
		return nil
	}
	return err
}

// work is what is done in a transaction.
type work = func(ctx context.Context, tx pgx.Tx) error

// restart runs fn until it neither collides nor loses its connection: in a new transaction, after a pause that grows.
func restart(ctx context.Context, run func(ctx context.Context, fn work) error, fn work) error {
	backoff := TxBackoffMin
	for attempt := 1; ; attempt++ {
		err := run(ctx, fn)
		if err == nil || !passing(err) {
			return err
		}
		if attempt == TxAttemptsMax {
			return &restartError{attempt, err}
		}
		if !pause(ctx, backoff) {
			return &restartError{attempt, errors.Join(ctx.Err(), err)}
		}
		backoff = min(2*backoff, TxBackoffMax)
	}
}

// pause waits for about so long, and reports false when ctx ended before.
func pause(ctx context.Context, about time.Duration) bool {
	timer := time.NewTimer(about/2 + rand.N(about)) //nolint:gosec // jitter needs no secrecy
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// executeTx is an attempt on CockroachDB, which restarts fn within the transaction a few times: that keeps its place among those that
// it waits for. Its library does not pause, so what keeps colliding is ended, and tried anew when its locks are gone.
func (s *Store) executeTx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := crdbpgx.ExecuteTx(crdb.WithMaxRetries(ctx, TxRestartsMax), beginner{s}, serializable, func(tx pgx.Tx) error { return fn(ctx, tx) })
	if ambiguous, ok := errors.AsType[*crdb.AmbiguousCommitError](err); ok && !refused(err) {
		return &AmbiguousCommitError{ambiguous}
	}
	return err
}

// beginner begins the transactions of a store for a library.
type beginner struct{ s *Store }

// Begin implements [crdbpgx.Conn].
func (b beginner) Begin(ctx context.Context) (pgx.Tx, error) { return b.BeginTx(ctx, pgx.TxOptions{}) }

// BeginTx implements [crdbpgx.Conn].
func (b beginner) BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error) {
	tx, err := b.s.pool.BeginTx(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if b.s.cockroach {
		tx = textTx{tx}
	}
	if b.s.faulty != nil {
		tx = b.s.faulty(tx)
	}
	return tx, nil
}

// restartError says that a transaction kept colliding with others, or losing its connection.
type restartError struct {
	attempts int
	cause    error
}

func (e *restartError) Error() string {
	return fmt.Sprintf("run %d times without success: %v", e.attempts, e.cause)
}

func (e *restartError) Unwrap() error { return e.cause }

// attempt is for PostgreSQL, where a restart needs a new transaction: it keeps its snapshot within one.
func (s *Store) attempt(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	tx, err := beginner{s}.BeginTx(ctx, serializable)
	if err != nil {
		return err
	}
	if err := fn(ctx, tx); err != nil {
		// The rollback must reach the server even if the caller has gone; if it does not, the pool closes the connection.
		rollback, cancel := context.WithTimeout(context.WithoutCancel(ctx), ConnectTimeout)
		defer cancel()
		_ = tx.Rollback(rollback)
		return err
	}
	err = tx.Commit(ctx)
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) || refused(err) {
		return err
	}
	return &AmbiguousCommitError{err}
}

// refused reports whether the server said that a commit did not happen. Only a rollback (class 40) and a violated constraint
// (class 23) say so: a commit that was cancelled or lost its range may have happened.
func refused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Severity == "ERROR" && e.Code != codeCompletionUnknown &&
		(strings.HasPrefix(e.Code, "40") || strings.HasPrefix(e.Code, "23"))
}

// SQLSTATEs that are told apart.
const (
	codeSerialization     = "40001"
	codeCompletionUnknown = "40003"
	codeDeadlock          = "40P01"
	codeForeignKey        = "23503"
	codeUnique            = "23505"
	codeBadCharacter      = "22021"
	codeUntranslatable    = "22P05"
	codeNoTable           = "42P01"
	codeNotSupported      = "0A000"
	codeCanceled          = "57014"
	codeUncategorized     = "XXUUU"
)

// passing reports whether err is gone if the work is done again, and says that it was not done.
func passing(err error) bool {
	if _, ok := errors.AsType[*AmbiguousCommitError](err); ok {
		return false
	}
	return collided(err) || severed(err)
}

// severed reports whether a connection ended under a statement, which may find another one: the server may have died, and in a
// cluster others live. A connection that could not be opened is another matter: all servers were tried.
func severed(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Severity == "FATAL" && strings.HasPrefix(e.Code, "57P") || peerAway(e) // the server is going, and says so
	}
	_, network := errors.AsType[*net.OpError](err)
	return broken(err) || network && !pgconn.Timeout(err)
}

// peerAway reports whether the server that was asked, one of CockroachDB's, lost another one that it asked itself. It has no code for that.
func peerAway(e *pgconn.PgError) bool {
	return e.Code == codeUncategorized && strings.Contains(e.Message, "rpc error: code = Unavailable")
}

// collided reports whether err is gone if the transaction runs again.
func collided(err error) bool {
	if _, ok := errors.AsType[*crdb.MaxRetriesExceededError](err); ok {
		return true
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch e.Code {
	case codeSerialization, codeDeadlock:
		return true
	default:
		return stalePlan(e)
	}
}

// stalePlan reports whether a prepared statement met a table that a migration has changed since. pgx has dropped the
// statement by then, so the next try works.
func stalePlan(e *pgconn.PgError) bool {
	return e.Code == codeNotSupported && strings.Contains(e.Message, "cached plan")
}

// violates reports whether err is the violation of the named constraint.
func violates(err error, constraint string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == codeUnique && e.ConstraintName == constraint
}
