package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/shared/wire"
)

// AppUsage implements [ledger.Store].
func (s *Store) AppUsage(ctx context.Context, r ledger.Range) (ledger.Answer, error) {
	sql := selectAppUsageByDay
	if r.Hourly {
		sql = selectAppUsageByHour
	}
	found, err := settled(func() ([]usagePartRow, error) {
		return rows[usagePartRow](ctx, s.pool, sql, r.AppID, r.From, r.To)
	})
	if err != nil {
		return ledger.Answer{}, fmt.Errorf("read usage: %w", err)
	}
	var a ledger.Answer
	for _, row := range found {
		switch row.Sort {
		case "applied":
			a.Applied = row.Calls
		case "stored":
			a.Stored = row.Calls
		default:
			p := ledger.Part{Sort: ledger.Sort(row.Sort), Name: row.Name, Usage: wire.Counters{
				Calls: row.Calls, Errors: row.Errors, TokensIn: row.TokensIn, TokensOut: row.TokensOut,
			}}
			if row.At != nil {
				p.At = *row.At
			}
			a.Parts = append(a.Parts, p)
		}
	}
	return a, nil
}

// AccountDay implements [ledger.Store].
func (s *Store) AccountDay(ctx context.Context, accountID string, day time.Time) (int64, error) {
	type row struct {
		Calls int64 `db:"calls"`
	}
	found, err := settled(func() (row, error) { return one[row](ctx, s.pool, selectAccountDay, accountID, day.UTC()) })
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read usage of a day: %w", err)
	}
	return found.Calls, nil
}

type usagePartRow struct {
	Sort      string     `db:"sort"`
	Name      string     `db:"name"`
	At        *time.Time `db:"at"`
	Calls     int64      `db:"calls"`
	Errors    int64      `db:"errors"`
	TokensIn  int64      `db:"tokens_in"`
	TokensOut int64      `db:"tokens_out"`
}
