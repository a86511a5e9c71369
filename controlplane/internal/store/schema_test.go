package store

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/shared/testkit"
)

// TestTheSchemaIsWhatTheMigrationsSay compares the migrated database with testdata/schema-<database>.sql, which is there to be
// read and so that no migration changes more than it meant to. Write it anew with -update, on either database.
func TestTheSchemaIsWhatTheMigrationsSay(t *testing.T) {
	s := open(t)
	file, dump := "testdata/schema-postgresql.sql", schemaOfPostgres
	if s.cockroach {
		file, dump = "testdata/schema-cockroachdb.sql", schemaOfCockroach
	}
	got := dump(t, s)
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	has, had := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for _, line := range has {
		if !slices.Contains(had, line) {
			t.Errorf("%s lacks: %s", file, line)
		}
	}
	for _, line := range had {
		if !slices.Contains(has, line) {
			t.Errorf("the database lacks: %s", line)
		}
	}
	if !t.Failed() {
		t.Errorf("%s has the same lines in another order", file)
	}
}

// dying is a process that ends when it has sent a number of statements.
type dying struct {
	left int
	die  context.CancelFunc
}

func (d *dying) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if d.left--; d.left == 0 {
		d.die()
	}
	return ctx
}

func (*dying) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestAMigrationThatDiedIsBegunAgain(t *testing.T) {
	address := testkit.Database(t)
	for _, at := range []int{20, 45, 60} {
		ctx, die := context.WithCancel(t.Context())
		d := &dying{die: die}
		s, err := OpenTraced(ctx, address, slog.New(slog.DiscardHandler), d)
		if err != nil {
			t.Fatal(err)
		}
		d.left = at
		if err := s.Migrate(ctx); err == nil {
			t.Errorf("migrated with %d statements", at)
		}
		s.Close()
		die()
	}
	s := openAt(t, address)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEveryForeignKeyHasAnIndex: whoever deletes the row that it refers to reads the whole table otherwise, and collides with
// everybody who writes there.
func TestEveryForeignKeyHasAnIndex(t *testing.T) {
	s := open(t)
	type index struct {
		Table   string `db:"relname"`
		Columns string `db:"columns"` // their numbers: "3 1"
	}
	indexes, err := rows[index](t.Context(), s.pool, `
		SELECT c.relname::TEXT AS relname, i.indkey::TEXT AS columns FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
		WHERE i.indpred IS NULL`)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := rows[struct {
		index
		Name string `db:"conname"`
	}](t.Context(), s.pool, `
		SELECT c.relname::TEXT AS relname, array_to_string(f.conkey, ' ') AS columns, f.conname::TEXT AS conname
		FROM pg_constraint AS f JOIN pg_class AS c ON c.oid = f.conrelid WHERE f.contype = 'f'`)
	if err != nil || len(keys) == 0 {
		t.Fatalf("%d foreign keys: %v", len(keys), err)
	}
	for _, k := range keys {
		if !slices.ContainsFunc(indexes, func(i index) bool {
			return i.Table == k.Table && strings.HasPrefix(i.Columns+" ", k.Columns+" ")
		}) {
			t.Errorf("%s: no index of %s begins with its columns", k.Name, k.Table)
		}
	}
}

// schemaOfPostgres is all tables in the order of their names.
func schemaOfPostgres(t *testing.T, s *Store) string {
	t.Helper()
	lines := func(sql string, args ...any) []string {
		r, err := s.pool.Query(t.Context(), sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		found, err := pgx.CollectRows(r, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	var b strings.Builder
	for _, table := range lines(`SELECT relname::TEXT FROM pg_class WHERE relnamespace = 'public'::REGNAMESPACE AND relkind = 'r'
		AND relname NOT IN ('schema_migrations', 'goose_lock') ORDER BY relname`) {
		parts := lines(`
			SELECT attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END ||
				CASE WHEN attgenerated = 's' THEN ' GENERATED ALWAYS AS (' || pg_get_expr(adbin, adrelid) || ') STORED'
				ELSE coalesce(' DEFAULT ' || pg_get_expr(adbin, adrelid), '') END
			FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
			WHERE attrelid = $1::TEXT::REGCLASS AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, table)
		parts = append(parts, lines(`SELECT 'CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE conrelid = $1::TEXT::REGCLASS ORDER BY contype = 'p' DESC, conname`, table)...)
		options := lines(`SELECT ' WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class
			WHERE oid = $1::TEXT::REGCLASS AND reloptions IS NOT NULL`, table)
		fmt.Fprintf(&b, "CREATE TABLE %s (\n    %s\n)%s;\n", table, strings.Join(parts, ",\n    "), strings.Join(options, ""))
		for _, index := range lines(`SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
			WHERE indrelid = $1::TEXT::REGCLASS AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))
			ORDER BY relname`, table) {
			fmt.Fprintf(&b, "%s;\n", index)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// schemaOfCockroach is all tables in the order of their making, and how long old versions of rows are kept where that was said.
func schemaOfCockroach(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	for _, sql := range []string{
		`SELECT create_statement FROM [SHOW CREATE ALL TABLES]`,
		`SELECT raw_config_sql || ';' FROM [SHOW ZONE CONFIGURATIONS] WHERE target LIKE 'TABLE ' || current_database() || '.%' ORDER BY target`,
	} {
		r, err := s.pool.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := pgx.CollectRows(r, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(part, "schema_migrations") && !strings.Contains(part, "goose_lock") {
				b.WriteString(strings.ReplaceAll(part, s.pool.Config().ConnConfig.Database+".", "") + "\n")
			}
		}
	}
	return b.String()
}
