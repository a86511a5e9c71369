package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// used is a database that tests use one after the other.
type used struct {
	name   string
	tables []string          // those it was filled with; a row refers to rows of later ones only
	rows   map[string]string // statements that put back what they were filled with
}

// reuse lends a database of a kind that nobody uses, or fills one.
func (c *cluster) reuse(t testing.TB, kind string, fill func(ctx context.Context, url string) error) string {
	t.Helper()
	u := c.takeIdle(kind)
	if u == nil {
		var err error
		if u, err = c.fillNew(t.Context(), fill); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), databaseWait)
		defer cancel()
		if err := c.restore(ctx, u); err != nil { // the test has broken more than rows
			if err := c.db.DropDatabase(ctx, u.name); err != nil {
				t.Error(err)
			}
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.idle[kind] = append(c.idle[kind], u)
	})
	return c.db.URL(u.name)
}

func (c *cluster) takeIdle(kind string) *used {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := c.idle[kind]
	if len(idle) == 0 {
		return nil
	}
	c.idle[kind] = idle[:len(idle)-1]
	return idle[len(idle)-1]
}

func (c *cluster) fillNew(ctx context.Context, fill func(ctx context.Context, url string) error) (*used, error) {
	u := &used{name: newName(), rows: map[string]string{}}
	if err := c.db.CreateDatabase(ctx, u.name); err != nil {
		return nil, err
	}
	if err := fill(ctx, c.db.URL(u.name)); err != nil {
		return nil, fmt.Errorf("fill a database for tests: %w", err)
	}
	conn, err := pgconn.Connect(ctx, c.db.URL(u.name))
	if err != nil {
		return nil, fmt.Errorf("look at a database for tests: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if u.tables, err = tables(ctx, conn); err != nil {
		return nil, err
	}
	for _, table := range u.tables {
		results, err := conn.Exec(ctx, "SELECT * FROM "+table).ReadAll()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		if len(results[0].Rows) > 0 {
			u.rows[table] = insert(table, results[0])
		}
	}
	return u, nil
}

// restore makes a database what it was when it was filled.
func (c *cluster) restore(ctx context.Context, u *used) error {
	conn, err := pgconn.Connect(ctx, c.db.URL(u.name))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	has, err := tables(ctx, conn)
	if err != nil {
		return err
	}
	var sql strings.Builder
	for _, table := range has {
		if !slices.Contains(u.tables, table) {
			sql.WriteString("DROP TABLE " + table + " CASCADE;")
		}
	}
	looks := make([]string, len(u.tables))
	for i, table := range u.tables {
		looks[i] = fmt.Sprintf("SELECT '%s' WHERE EXISTS (SELECT 1 FROM %s)", table, table)
	}
	filled, err := column(ctx, conn, strings.Join(looks, " UNION ALL "))
	if err != nil {
		return err
	}
	for _, table := range u.tables {
		if slices.Contains(filled, table) {
			sql.WriteString("DELETE FROM " + table + ";")
		}
	}
	for _, table := range slices.Backward(u.tables) {
		sql.WriteString(u.rows[table])
	}
	if _, err := conn.Exec(ctx, sql.String()).ReadAll(); err != nil {
		return fmt.Errorf("empty a database for the next test: %w", err)
	}
	return nil
}

// tables are those of a database; each refers to later ones only.
func tables(ctx context.Context, conn *pgconn.PgConn) ([]string, error) {
	left, err := column(ctx, conn, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	refers, err := column(ctx, conn, `SELECT f.conrelid::REGCLASS::TEXT || ' ' || f.confrelid::REGCLASS::TEXT FROM pg_constraint AS f
		JOIN pg_namespace AS n ON n.oid = f.connamespace WHERE f.contype = 'f' AND n.nspname = 'public' AND f.conrelid <> f.confrelid`)
	if err != nil {
		return nil, err
	}
	sorted := make([]string, 0, len(left))
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(table string) bool {
			return !slices.ContainsFunc(refers, func(r string) bool { return strings.HasSuffix(r, " "+table) })
		})
		if i < 0 {
			return nil, errors.New("tables refer to each other in a circle")
		}
		table := left[i]
		sorted, left = append(sorted, table), slices.Delete(left, i, i+1)
		refers = slices.DeleteFunc(refers, func(r string) bool { return strings.HasPrefix(r, table+" ") })
	}
	return sorted, nil
}

func column(ctx context.Context, conn *pgconn.PgConn, sql string) ([]string, error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("look at a database for tests: %w", err)
	}
	values := make([]string, len(results[0].Rows))
	for i, row := range results[0].Rows {
		values[i] = string(row[0])
	}
	return values, nil
}

// insert is a statement that adds rows. Values are what the database said of them, as text.
func insert(table string, r *pgconn.Result) string {
	columns, rows := make([]string, len(r.FieldDescriptions)), make([]string, len(r.Rows))
	for i, f := range r.FieldDescriptions {
		columns[i] = f.Name
	}
	for i, row := range r.Rows {
		values := make([]string, len(row))
		for j, v := range row {
			values[j] = "NULL"
			if v != nil {
				values[j] = "'" + strings.ReplaceAll(string(v), "'", "''") + "'"
			}
		}
		rows[i] = "(" + strings.Join(values, ", ") + ")"
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + strings.Join(rows, ", ") + ";"
}
