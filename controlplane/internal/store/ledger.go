package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"modelgate.internal/controlplane/internal/ledger"
)

// Usage implements [ledger.Store].
func (s *Store) Usage(ctx context.Context, r ledger.Range) (ledger.Answer, error) {
	args := []any{cmp.Or(r.AppID, r.AccountID), r.From, r.To, r.FirstDay, r.EndDay}
	if r.Unit == ledger.Hour {
		args = append(args, r.WholeFrom, r.WholeTo)
	}
	a, err := collect(ctx, s.pool, addUp, usageSQL(r), args)
	if err != nil {
		return ledger.Answer{}, fmt.Errorf("read usage: %w", err)
	}
	return a, nil
}

// addUp reads rows of usage one by one: there can be more of them than should be held.
func addUp(found pgx.Rows) (ledger.Answer, error) {
	var (
		sort       string
		app, key   pgtype.UUID
		at         time.Time
		ttft, took pgtype.DriverBytes // valid until the next row
		row        ledger.Row
		drift      int64
	)
	into := []any{
		&sort, &app, &at, &key, &row.Model, &row.Task, &row.Status, &row.Source, &row.End,
		&row.Usage.Calls, &row.Usage.Errors, &row.Usage.TokensIn, &row.Usage.TokensOut, &ttft, &took,
	}
	sum := ledger.NewSum()
	_, err := pgx.ForEachRow(found, into, func() error {
		if sort == "drift" {
			drift = row.Usage.Calls
			return nil
		}
		row.App, row.Key, row.At, row.TTFT, row.Took = app.Bytes, key.Bytes, at.Unix(), ttft, took
		row.Point, row.Group = sort != "group", sort != "point"
		return sum.Add(&row)
	})
	return ledger.Answer{Parts: sum.Parts(), Drift: drift}, err
}

func usageSQL(r ledger.Range) string {
	switch {
	case r.AppID != "" && r.Unit == ledger.Minute:
		return selectAppUsageByMinute
	case r.AppID != "" && r.Unit == ledger.Hour:
		return selectAppUsageByHour
	case r.AppID != "":
		return selectAppUsageByDay
	case r.Unit == ledger.Minute:
		return selectAccountUsageByMinute
	case r.Unit == ledger.Hour:
		return selectAccountUsageByHour
	default:
		return selectAccountUsageByDay
	}
}

// CloseDay implements [ledger.Book].
func (s *Store) CloseDay(ctx context.Context, day, now time.Time) (drift int64, err error) {
	err = s.Tx(ctx, "close a day of usage", func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, closeDay, day.UTC(), now).Scan(&drift)
	})
	return drift, err
}

// Closed implements [ledger.Book].
func (s *Store) Closed(ctx context.Context) (ledger.Closed, error) {
	type row struct {
		Drift int64      `db:"drift"`
		Days  int64      `db:"days"`
		At    *time.Time `db:"at"`
	}
	found, err := one[row](ctx, s.pool, selectClosed)
	if err != nil {
		return ledger.Closed{}, fmt.Errorf("read closed days: %w", err)
	}
	c := ledger.Closed{Drift: found.Drift, Days: found.Days}
	if found.At != nil {
		c.At = *found.At
	}
	return c, nil
}

// PruneUsage implements [ledger.Book].
func (s *Store) PruneUsage(ctx context.Context, minutes, hours time.Time) (deleted int64, err error) {
	err = s.Tx(ctx, "prune usage", func(ctx context.Context, tx pgx.Tx) error {
		deleted = 0
		for sql, before := range map[string]time.Time{deleteOldMinutes: minutes, deleteOldHours: hours, deleteOldAppHours: hours} {
			tag, err := tx.Exec(ctx, sql, before, PruneRows)
			if err != nil {
				return fmt.Errorf("delete old rollups: %w", err)
			}
			deleted += tag.RowsAffected()
		}
		return nil
	})
	return deleted, err
}

// AccountDay implements [ledger.Store].
func (s *Store) AccountDay(ctx context.Context, accountID string, day time.Time) (int64, error) {
	type row struct {
		Calls int64 `db:"calls"`
	}
	found, err := one[row](ctx, s.pool, selectAccountDay, accountID, day.UTC())
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read usage of a day: %w", err)
	}
	return found.Calls, nil
}

// AccountMinute implements [ledger.Store].
func (s *Store) AccountMinute(ctx context.Context, accountID string, minute time.Time) (ledger.MinuteAnswer, error) {
	type sums struct {
		Used     int64      `db:"used"`
		Before   int64      `db:"before"`
		LastUsed *time.Time `db:"last_used_at"`
	}
	type keyRow struct {
		KeyID string `db:"key_id"`
		AppID string `db:"app_id"`
		Hint  string `db:"hint"`
		sums
	}
	type appRow struct {
		AppID string `db:"app_id"`
		Limit int64  `db:"rate_limit"`
		sums
	}
	callsOf := func(r sums) ledger.MinuteCalls {
		c := ledger.MinuteCalls{Used: r.Used, Before: r.Before}
		if r.LastUsed != nil {
			c.LastUsed = *r.LastUsed
		}
		return c
	}
	args := []any{accountID, minute.Add(-time.Minute), minute, ledger.MinuteRowsMax}
	keys, err := rows[keyRow](ctx, s.pool, selectKeyMinutes, args...)
	if err != nil {
		return ledger.MinuteAnswer{}, fmt.Errorf("read what keys were used: %w", err)
	}
	apps, err := rows[appRow](ctx, s.pool, selectAppMinutes, args...)
	if err != nil {
		return ledger.MinuteAnswer{}, fmt.Errorf("read what apps were used: %w", err)
	}
	a := ledger.MinuteAnswer{Keys: make([]ledger.KeyMinute, len(keys)), Apps: make([]ledger.AppMinute, len(apps))}
	for i, r := range keys {
		a.Keys[i] = ledger.KeyMinute{KeyID: r.KeyID, AppID: r.AppID, Hint: r.Hint, MinuteCalls: callsOf(r.sums)}
	}
	for i, r := range apps {
		a.Apps[i] = ledger.AppMinute{AppID: r.AppID, Limit: r.Limit, MinuteCalls: callsOf(r.sums)}
	}
	return a, nil
}

// AccountDays implements [nodeapi.Days]. Accounts are UUIDs.
func (s *Store) AccountDays(ctx context.Context, accounts []string, day time.Time) (map[string]int64, error) {
	type row struct {
		AccountID string `db:"account_id"`
		Calls     int64  `db:"calls"`
	}
	found, err := rows[row](ctx, s.pool, selectAccountDays, accounts, day.UTC())
	if err != nil {
		return nil, fmt.Errorf("read usage of a day: %w", err)
	}
	calls := make(map[string]int64, len(found))
	for _, r := range found {
		calls[r.AccountID] = r.Calls
	}
	return calls, nil
}
