package store

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errNUL refuses text with the character U+0000. PostgreSQL does it by itself; CockroachDB would keep it.
var errNUL = errors.New("text with the character U+0000")

// checkText looks at the arguments of a statement.
func checkText(args []any) error {
	for _, arg := range args {
		var texts []string
		switch a := arg.(type) {
		case string:
			texts = []string{a}
		case *string:
			if a != nil {
				texts = []string{*a}
			}
		case []string:
			texts = a
		}
		for _, text := range texts {
			if strings.IndexByte(text, 0) >= 0 {
				return errNUL
			}
		}
	}
	return nil
}

// textTx is a transaction that looks at text.
type textTx struct{ pgx.Tx }

func (t textTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := checkText(args); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.Tx.Exec(ctx, sql, args...)
}

func (t textTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := checkText(args); err != nil {
		return nil, err
	}
	return t.Tx.Query(ctx, sql, args...)
}

func (t textTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := checkText(args); err != nil {
		return refusedRow{err}
	}
	return t.Tx.QueryRow(ctx, sql, args...)
}

// refusedRow is the answer to a statement that was not sent.
type refusedRow struct{ err error }

func (r refusedRow) Scan(...any) error { return r.err }
