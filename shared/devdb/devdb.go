package devdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"modelgate.internal/shared/child"
)

// Options says where a database lives. The zero value of everything but Dir is usable.
type Options struct {
	Dir     string              // holds data, socket, lock and log; made when missing, by an absolute or relative path
	Fsync   bool                // write data to disk for good; off only for data that nobody will miss
	LogFile string              // what the server says is appended here; Dir/server.log when empty
	Portal  string              // directory with node_modules; when empty, portal beside the nearest go.work above
	Log     *slog.Logger        // what devdb itself has to say; nothing when nil
	Getenv  func(string) string // os.Getenv when nil

	packages string // where Debian puts PostgreSQL
}

// DB is a running database server.
type DB struct {
	kind   string
	server server         // nil when DATABASE_URL names the server
	given  *url.URL       // DATABASE_URL, or nil
	proc   *child.Process // nil when DATABASE_URL names the server
	o      Options
	lock   *os.File
}

// server is a database program that devdb can run.
type server interface {
	// prepare makes ready for a start, the first or a later one.
	prepare(ctx context.Context) error
	// command is the server's command line; its output is connected by the caller.
	command() *exec.Cmd
	// settings are statements for a server that answers.
	settings() []string
	// url is the address of a database; empty means the one that is always there.
	url(database string) string
	// stop is how to end the server, politely first, and death the signal for when this program dies.
	stop() (death syscall.Signal, steps []child.Step)
	// remove deletes what lies outside of Options.Dir and is of no use after a stop.
	remove()
}

// Start finds a database, starts it unless DATABASE_URL names one, and waits until it answers. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*DB, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.packages == "" {
		o.packages = "/usr/lib/postgresql"
	}
	if text := o.Getenv("DATABASE_URL"); text != "" {
		return given(ctx, text)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the database directory: %w", err)
	}
	o.Dir = dir
	if o.LogFile == "" {
		o.LogFile = filepath.Join(o.Dir, "server.log")
	}
	//nolint:gosec // the user that runs PostgreSQL has to pass through
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the database directory: %w", err)
	}
	lock, err := child.Lock(filepath.Join(o.Dir, "lock"))
	var held *child.HeldError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("the database in %s is in use by process %s: stop that one first", o.Dir, held.Pid)
	}
	if err != nil {
		return nil, err
	}
	db := &DB{o: o, lock: lock}
	if db.server, err = choose(o); err == nil {
		err = db.run(ctx)
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return db, nil
}

// given connects to the server that DATABASE_URL names.
func given(ctx context.Context, text string) (*DB, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, errors.New("DATABASE_URL is not of the form postgres://user:password@host:port/database")
	}
	db := &DB{given: u}
	if db.kind, err = version(ctx, db.URL("")); err != nil {
		return nil, fmt.Errorf("connect to DATABASE_URL: %w", err)
	}
	return db, nil
}

// Kind is product and version, "postgresql 15.18".
func (db *DB) Kind() string { return db.kind }

// Pid is the server's process, or 0 when DATABASE_URL names the server.
func (db *DB) Pid() int {
	if db.proc == nil {
		return 0
	}
	return db.proc.Pid()
}

// Process is the server's process, another one after Restart. It is nil when DATABASE_URL names the server. Stop it by
// Halt only.
func (db *DB) Process() *child.Process { return db.proc }

// Given reports whether DATABASE_URL names the server, so that it is not ours to fill or to stop.
func (db *DB) Given() bool { return db.given != nil }

// Cockroach reports whether the server is a CockroachDB, which can neither copy nor drop a database quickly.
func (db *DB) Cockroach() bool { return strings.HasPrefix(db.kind, "cockroachdb") }

// URL is the address of a database on this server, for pgx and every other libpq-like client. An empty name is the database
// that DATABASE_URL names, or the private server's own one for administration.
func (db *DB) URL(database string) string {
	if db.server != nil {
		return db.server.url(database)
	}
	u := *db.given
	if database != "" {
		u.Path = "/" + database
	}
	return u.String()
}

// CreateDatabase creates an empty database and leaves one that exists as it is. Names are lower-case letters, digits
// and underscores.
func (db *DB) CreateDatabase(ctx context.Context, name string) error {
	err := db.exec(ctx, "CREATE DATABASE ", name, "")
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "42P04" { // duplicate_database
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// CopyDatabase creates a database with all that another one holds, which nobody may be connected to. PostgreSQL does it; from
// CockroachDB comes an error.
func (db *DB) CopyDatabase(ctx context.Context, name, from string) error {
	if !plain(from) {
		return errors.New("not a plain database name")
	}
	if err := db.exec(ctx, "CREATE DATABASE ", name, " TEMPLATE "+from); err != nil {
		return fmt.Errorf("copy database %s to %s: %w", from, name, err)
	}
	return nil
}

// DropDatabase deletes a database with all it holds, cutting the connections to it.
func (db *DB) DropDatabase(ctx context.Context, name string) error {
	how := " WITH (FORCE)"
	if db.Cockroach() {
		how = " CASCADE"
	}
	if err := db.exec(ctx, "DROP DATABASE IF EXISTS ", name, how); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

func (db *DB) exec(ctx context.Context, before, name, after string) error {
	if !plain(name) {
		return errors.New("not a plain database name")
	}
	return db.statement(ctx, before+name+after)
}

func (db *DB) statement(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	conn, err := pgconn.Connect(ctx, db.URL(""))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// plain reports whether a name needs no quotes in SQL.
func plain(name string) bool {
	return name != "" && len(name) <= nameBytesMax && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Restart brings an ended server back at the same address with the same data. It does nothing while the server runs.
func (db *DB) Restart(ctx context.Context) error {
	if db.proc == nil || db.proc.Running() {
		return nil
	}
	return db.run(ctx)
}

// Halt ends a private server, politely first, and keeps its directory and address for Restart.
func (db *DB) Halt() {
	if db.proc == nil {
		return
	}
	_, steps := db.server.stop()
	db.proc.Stop(steps...)
}

// Stop ends a private server and gives its directory free. It leaves the server of DATABASE_URL alone.
func (db *DB) Stop() {
	if db.server == nil {
		return
	}
	db.Halt()
	db.server.remove()
	_ = db.lock.Close()
}

// run starts the server and waits for its first answer.
func (db *DB) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := db.server.prepare(ctx); err != nil {
		return err
	}
	log, err := os.OpenFile(db.o.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the database's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := db.server.command()
	cmd.Stdout, cmd.Stderr = log, log
	death, steps := db.server.stop()
	proc, err := child.Start(cmd, death)
	if err != nil {
		return fmt.Errorf("start the database: %w", err)
	}
	kind, err := db.answer(ctx, proc)
	for _, sql := range db.server.settings() {
		if err == nil {
			err = db.statement(ctx, sql)
		}
	}
	if err != nil {
		proc.Stop(steps...)
		return err
	}
	db.kind, db.proc = kind, proc
	db.o.Log.Info("database is ready", slog.String("kind", kind), slog.Int("pid", proc.Pid()))
	return nil
}

// answer waits for the server to take a connection and returns its kind.
func (db *DB) answer(ctx context.Context, proc *child.Process) (string, error) {
	for {
		kind, err := version(ctx, db.URL(""))
		if err == nil {
			return kind, nil
		}
		select {
		case <-proc.Done():
			return "", fmt.Errorf("the database ended at its start (%w); its log %s ends:\n%s", ended(proc), db.o.LogFile, tail(db.o.LogFile))
		case <-ctx.Done():
			return "", fmt.Errorf("the database does not answer (%w); its log %s ends:\n%s", err, db.o.LogFile, tail(db.o.LogFile))
		case <-time.After(startPoll):
		}
	}
}

func ended(proc *child.Process) error {
	if err := proc.Err(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

// version asks a server for its product and version.
func version(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	conn, err := pgconn.Connect(ctx, address)
	if err != nil {
		return "", err
	}
	results, err := conn.Exec(ctx, "SELECT version()").ReadAll()
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return "", err
	}
	return kindOf(string(results[0].Rows[0][0])), nil
}

// kindOf shortens what version() says: "PostgreSQL 15.18 (Debian …) on …", "CockroachDB CCL v25.2.1 (…) …".
func kindOf(text string) string {
	words := strings.Fields(text)
	if len(words) > 2 && words[0] == "CockroachDB" {
		return "cockroachdb " + words[2]
	}
	if len(words) > 1 {
		return strings.ToLower(words[0]) + " " + words[1]
	}
	return strings.ToLower(text)
}

// tail is the end of a log file.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > logTailBytes {
		_, _ = file.Seek(-logTailBytes, 2)
	}
	text := make([]byte, logTailBytes)
	n, _ := file.Read(text)
	lines := strings.Split(strings.TrimSpace(string(text[:n])), "\n")
	return strings.Join(lines[max(0, len(lines)-logTailLines):], "\n")
}
