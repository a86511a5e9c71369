package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"modelgate.internal/shared/apierr"
)

// Store is the database. Its methods may be called from any number of goroutines.
type Store struct {
	Now func() time.Time // stamps what has no time of its own; set before use

	pool      *pgxpool.Pool
	log       *slog.Logger
	cockroach bool
	inPlace   bool                // transactions are restarted in place first; only CockroachDB does it
	txTimeout time.Duration       // TxTimeout, less in tests
	twice     func() bool         // nil outside of tests
	faulty    func(pgx.Tx) pgx.Tx // nil outside of tests
	turn      chan struct{}
	news      news
	migrated  atomic.Bool // once true, always true
}

// Open connects to the database at url, a postgres:// address for CockroachDB and PostgreSQL alike. The database must
// answer; it need not be migrated.
func Open(ctx context.Context, url string, log *slog.Logger) (*Store, error) {
	return OpenTraced(ctx, url, log, nil)
}

// OpenTraced is Open for tests that want to hear of every statement, or to stop it; the tracer may be nil.
func OpenTraced(ctx context.Context, url string, log *slog.Logger, tracer pgx.QueryTracer) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("open the database: the address is not of the form postgres://user:password@host:port/database")
	}
	cfg.ConnConfig.ConnectTimeout = ConnectTimeout
	cfg.PingTimeout = PingTimeout
	cfg.ConnConfig.RuntimeParams["application_name"] = "modelgate-controlplane"
	for name, bound := range map[string]time.Duration{statementBound: StatementTimeout, idleBound: IdleInTxTimeout} {
		if cfg.ConnConfig.RuntimeParams[name] == "" { // the address may say otherwise
			cfg.ConnConfig.RuntimeParams[name] = strconv.FormatInt(bound.Milliseconds(), 10)
		}
	}
	cfg.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{Now: time.Now, pool: pool, log: log, txTimeout: TxTimeout, turn: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	var version string
	//nolint:unqueryvet // what the server calls itself, before anything is known about it
	if err := pool.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", away(err))
	}
	s.cockroach = strings.HasPrefix(version, "CockroachDB")
	s.inPlace = s.cockroach
	return s, nil
}

// What the server itself bounds, in milliseconds: a statement goes on there after its caller has gone, and a transaction holds its
// locks while nobody ends it.
const (
	statementBound = "statement_timeout"
	idleBound      = "idle_in_transaction_session_timeout"
)

// Close closes all connections after their statements have ended.
func (s *Store) Close() { s.pool.Close() }

// Ready returns nil when the database answers and is migrated.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	if _, err := s.Cursor(ctx); err != nil {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == codeNoTable {
			return errors.New("the database has no schema: run controlplane migrate")
		}
		return err
	}
	if s.migrated.Load() {
		return nil
	}
	pending, err := s.Pending(ctx)
	if err != nil {
		return err
	}
	if pending {
		return errors.New("the database lacks migrations of this build: run controlplane migrate")
	}
	s.migrated.Store(true)
	return nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// rows returns the rows of a query as structs, matched by column name.
func rows[T any](ctx context.Context, q querier, sql string, args ...any) ([]T, error) {
	return collect(ctx, q, func(r pgx.Rows) ([]T, error) { return pgx.CollectRows(r, pgx.RowToStructByName[T]) }, sql, args)
}

// one returns the only row of a query; without any the error is pgx.ErrNoRows.
func one[T any](ctx context.Context, q querier, sql string, args ...any) (T, error) {
	return collect(ctx, q, func(r pgx.Rows) (T, error) { return pgx.CollectExactlyOneRow(r, pgx.RowToStructByName[T]) }, sql, args)
}

func collect[R any](ctx context.Context, q querier, read func(pgx.Rows) (R, error), sql string, args []any) (R, error) {
	if _, inTx := q.(pgx.Tx); inTx {
		return query(ctx, q, read, sql, args)
	}
	return settled(ctx, passing, func(ctx context.Context) (R, error) {
		if err := checkText(args); err != nil {
			var none R
			return none, err
		}
		return query(ctx, q, read, sql, args)
	})
}

// alone executes a statement that needs no transaction around it and does no harm when it is executed twice.
func (s *Store) alone(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return settled(ctx, passing, func(ctx context.Context) (pgconn.CommandTag, error) { return s.pool.Exec(ctx, sql, args...) })
}

// settled runs a statement outside of a transaction, within QueryTimeout, and again while again says so of its error. Isolation that is
// serializable lets it collide even when it only reads. What only reads, or does no harm when it is executed twice, may also be run again
// when its connection broke: [passing].
func settled[R any](ctx context.Context, again func(error) bool, run func(ctx context.Context) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	result, err := run(ctx)
	for n, backoff := 1, TxBackoffMin; n < ReadAttemptsMax && again(err) && pause(ctx, backoff); n++ {
		result, err = run(ctx)
		backoff = min(2*backoff, TxBackoffMax)
	}
	if err != nil {
		err = away(err)
	}
	return result, err
}

func query[R any](ctx context.Context, q querier, read func(pgx.Rows) (R, error), sql string, args []any) (R, error) {
	r, err := q.Query(ctx, sql, args...)
	if err != nil {
		var none R
		return none, err
	}
	return read(r)
}

// errAway is what clients are told while the database cannot be used.
func errAway() *apierr.Error {
	return apierr.New(apierr.Unavailable, "The database cannot be reached right now. Try again in a moment.").After(RetryAfter)
}

// away makes a 503 of an error that says nothing but that the database cannot be used now. An error that is an answer
// already, or a statement's own, is returned as it is.
func away(err error) error {
	if _, ok := errors.AsType[*apierr.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*AmbiguousCommitError](err); ok {
		return errAway().Because(err)
	}
	if collided(err) {
		return apierr.New(apierr.Unavailable, "Too many changes at once. Try again in a moment.").After(RetryAfter).Because(err)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if serverAway(e) {
			return errAway().Because(err)
		}
		if e.Code == codeBadCharacter || e.Code == codeUntranslatable {
			return notText(err)
		}
		return err
	}
	if errors.Is(err, errNUL) {
		return notText(err)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	if connecting || network || pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) || broken(err) {
		return errAway().Because(err)
	}
	return err
}

// serverAway reports whether the server itself says that it cannot serve now, or gave a statement up.
func serverAway(e *pgconn.PgError) bool {
	if e.Severity == "FATAL" || e.Severity == "PANIC" || e.Code == codeCanceled || e.Code == codeCompletionUnknown || peerAway(e) {
		return true
	}
	for _, class := range []string{
		"08",  // the connection
		"53",  // too many connections, no memory
		"57P", // shutting down or starting
		"58C", // CockroachDB: a range or a node is unavailable
	} {
		if strings.HasPrefix(e.Code, class) {
			return true
		}
	}
	return false
}

// notText makes a 422 of text that is not kept.
func notText(err error) error {
	return apierr.Violations(apierr.Item{
		Type: "value_error", Loc: []any{"body"}, Msg: "Value error, text must not contain the character U+0000",
	}).Because(err)
}

// broken reports whether a connection ended under a statement.
func broken(err error) bool {
	text := err.Error()
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(text, "conn closed") || strings.Contains(text, "closed pool")
}

// Connections returns how many connections are in use, how many are idle and how many there can be.
func (s *Store) Connections() (used, idle, limit int) {
	stat := s.pool.Stat()
	return int(stat.AcquiredConns()), int(stat.IdleConns()), int(stat.MaxConns())
}
