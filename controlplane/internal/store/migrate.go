package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema up to date. A file of new tables is a transaction, so a process that dies leaves it undone.
// Any number of processes may call it at once: one does the work, the others wait. The lock is a row with a lease, so a
// process that dies while it migrates is waited for no longer than that.
func (s *Store) Migrate(ctx context.Context) error {
	locker, err := lock.NewPostgresTableLocker(
		lock.WithTableLockTimeout(500*time.Millisecond, 600), // five minutes in all
		lock.WithTableUnlockTimeout(500*time.Millisecond, 60),
	)
	if err != nil {
		return fmt.Errorf("prepare the migration lock: %w", err)
	}
	return s.provide(stdlib.OpenDB(*s.unbounded()), func(p *goose.Provider) error {
		results, err := p.Up(ctx)
		for _, r := range results {
			s.log.Info("migration applied", slog.String("file", r.Source.Path), slog.Duration("took", r.Duration))
		}
		if err != nil {
			return fmt.Errorf("migrate the database: %w", away(err))
		}
		return nil
	}, goose.WithLocker(locker))
}

// Pending reports whether the database lacks migrations. It reads the list of those applied once, so it is fit for every start.
func (s *Store) Pending(ctx context.Context) (pending bool, err error) {
	err = s.provide(stdlib.OpenDBFromPool(s.pool), func(p *goose.Provider) error {
		if pending, err = p.HasPending(ctx); err != nil {
			return fmt.Errorf("read which migrations are applied: %w", away(err))
		}
		return nil
	})
	return pending, err
}

// unbounded is for the connections of migrations: to build an index takes the time it takes. CockroachDB commits before each DDL
// statement unless it is told otherwise; a file in a transaction is a tenth of the work there, and done wholly or not at all.
func (s *Store) unbounded() *pgx.ConnConfig {
	cfg := s.pool.Config().ConnConfig.Copy()
	cfg.RuntimeParams[statementBound], cfg.RuntimeParams[idleBound] = "0", "0"
	if s.cockroach {
		cfg.RuntimeParams["autocommit_before_ddl"] = "off"
	}
	return cfg
}

// provide closes db when use is done.
func (s *Store) provide(db *sql.DB, use func(p *goose.Provider) error, options ...goose.ProviderOption) (err error) {
	defer func() { err = errors.Join(err, db.Close()) }()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if s.cockroach {
		files = cockroachFS{files}
	}
	options = append(options, goose.WithTableName("schema_migrations"), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, options...)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	return use(p)
}

// cockroachOnly is what a migration does on CockroachDB only. For PostgreSQL it is a comment.
var cockroachOnly = regexp.MustCompile(`/\* CockroachDB: (.*?) \*/`)

// cockroachFS are migrations as CockroachDB gets them.
type cockroachFS struct{ fs.FS }

// Open implements [fs.FS].
func (c cockroachFS) Open(name string) (fs.File, error) {
	file, err := c.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return rewritten{file, strings.NewReader(cockroachOnly.ReplaceAllString(string(text), "$1"))}, nil
}

// rewritten is a file with another text.
type rewritten struct {
	fs.File
	text *strings.Reader
}

// Read implements [fs.File].
func (r rewritten) Read(b []byte) (int, error) { return r.text.Read(b) }
