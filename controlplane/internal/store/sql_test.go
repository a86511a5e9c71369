package store

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryStatementPrepares(t *testing.T) {
	s := open(t)
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, sql := range Statements() {
		if _, err := conn.Conn().Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRegistryIsComplete holds the constants of *_sql.go against Statements. Lists of columns are no statements.
func TestRegistryIsComplete(t *testing.T) {
	files, err := filepath.Glob("*_sql.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no SQL found")
	}
	registered := Statements()
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if _, ok := registered[name.Name]; !ok && !strings.HasSuffix(name.Name, "Columns") {
						t.Errorf("%s: %s is not registered", file, name.Name)
					}
				}
			}
		}
	}
}

// forbidden is what one of CockroachDB and PostgreSQL lacks, or takes to mean something else.
func forbidden() map[string]*regexp.Regexp {
	words := []string{
		"UPSERT", "AS OF SYSTEM TIME", "LISTEN", "NOTIFY", `PG_(TRY_)?ADVISORY\w*`, "DEFERRABLE", "CREATE DOMAIN", `\w+RANGE`, "CIDR",
		"MACADDR", "CITEXT", "PARTITION BY RANGE", "MERGE", "GROUPING SETS", "LOCK TABLE", "VACUUM", "REINDEX", "RESTART IDENTITY",
		"NULLS NOT DISTINCT", "JSONB_PATH_OPS", "XMAX", "CTID", "OVERRIDING", "DATE_BIN", "MAKE_INTERVAL", "REGEXP_MATCH", "HASHTEXT",
		`PG_\w+_SIZE`, "LANGUAGE PLPGSQL", "CREATE TRIGGER", "CREATE EXTENSION", "UNLOGGED", "TEMP", "TEMPORARY", "SERIAL", "BIGSERIAL", "SHA256",
		"INT", "INTEGER", "BIGINT", "SMALLINT", "EXCLUDE", "TABLESAMPLE", "JSONB\\[\\]", "HASH SHARDED", `SELECT \*`,
	}
	out := make(map[string]*regexp.Regexp, len(words))
	for _, w := range words {
		expr := `\b` + w
		if !strings.HasSuffix(w, "]") && !strings.HasSuffix(w, "*") {
			expr += `\b`
		}
		out[w] = regexp.MustCompile(expr)
	}
	return out
}

func TestOneDialect(t *testing.T) {
	texts := Statements()
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := migrations.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
		checkMigration(t, file, string(text))
	}
	rules := forbidden()
	for name, text := range texts {
		text = strings.ToUpper(comment.ReplaceAllString(text, ""))
		for word, rule := range rules {
			if rule.MatchString(text) {
				t.Errorf("%s: %s is not in the common dialect", name, word)
			}
		}
	}
}

var comment = regexp.MustCompile(`--[^\n]*|/\*.*?\*/`)

// checkMigration: new tables with their indexes in a transaction, changes of tables outside of one; statements that can be run
// again, with names for all constraints and primary keys.
func checkMigration(t *testing.T, file, text string) {
	if begins, changes := strings.HasPrefix(text, "-- +goose NO TRANSACTION\n-- +goose Up\n"), changing.MatchString(comment.ReplaceAllString(text, "")); begins != changes {
		t.Errorf("%s: NO TRANSACTION: %t; it changes tables: %t", file, begins, changes)
	}
	text = strings.TrimSpace(comment.ReplaceAllString(text, ""))
	statements := strings.Split(text, ";")
	if last := statements[len(statements)-1]; last != "" {
		t.Errorf("%s does not end with a statement: %s", file, last)
	}
	for _, statement := range statements[:len(statements)-1] {
		statement = strings.TrimSpace(statement)
		if statement != "" && !repeatable.MatchString(statement) { // it is empty where only CockroachDB has one
			t.Errorf("%s: a statement that cannot be run again: %s", file, statement)
		}
		if !strings.HasPrefix(statement, "CREATE TABLE") {
			continue
		}
		if !regexp.MustCompile(`CONSTRAINT \w+_pk PRIMARY KEY`).MatchString(statement) {
			t.Errorf("%s: a table without a named primary key: %s", file, statement)
		}
		for line := range strings.Lines(statement) {
			if regexp.MustCompile(`\b(CHECK|UNIQUE|REFERENCES|PRIMARY KEY)\b`).MatchString(line) && !strings.Contains(line, "CONSTRAINT") {
				t.Errorf("%s: a constraint without a name: %s", file, strings.TrimSpace(line))
			}
		}
	}
}

// changing is what CockroachDB does not do in a transaction with anything else.
var changing = regexp.MustCompile(`\b(ALTER TABLE|DROP TABLE|DROP INDEX)\b`)

// repeatable is what a migration may consist of: outside of a transaction, one that ended in the middle is begun again.
var repeatable = regexp.MustCompile(`(?s)^(CREATE (TABLE|INDEX|UNIQUE INDEX) IF NOT EXISTS |DROP (TABLE|INDEX) IF EXISTS |` +
	`ALTER TABLE (IF EXISTS )?\w+ (ADD COLUMN IF NOT EXISTS|DROP COLUMN IF EXISTS) |INSERT INTO .*\sON CONFLICT )`)

func TestMigrationsAreNumberedOneByOne(t *testing.T) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		if want := fmt.Sprintf("migrations/%04d_", i+1); !strings.HasPrefix(file, want) {
			t.Errorf("%s is at place %d", file, i+1)
		}
	}
}
