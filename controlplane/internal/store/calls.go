package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/ledger"
)

// queueCalls queues what a segment adds to the log of calls.
func queueCalls(b *pgx.Batch, d *ingest.Delta) {
	if n := len(d.Calls); n > 0 {
		apps, keys, at := make(ids, n), make(ids, n), make([]time.Time, n)
		id, endpoints, tasks, models := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		ends, sources, statuses := make([]string, n), make([]string, n), make([]int64, n)
		ttft, took, tokensIn, tokensOut := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		for i := range d.Calls {
			c := &d.Calls[i]
			apps[i], keys[i], at[i], id[i] = idOf(c.App), idOf(c.Key), c.At, c.ID
			endpoints[i], tasks[i], models[i] = c.Endpoint, c.Task, c.Model
			ends[i], sources[i], statuses[i] = c.End, c.Source, int64(c.Status)
			ttft[i], took[i], tokensIn[i], tokensOut[i] = c.TTFT.Microseconds(), c.Took.Microseconds(), c.TokensIn, c.TokensOut
		}
		b.Queue(insertCalls, apps, at, id, keys, endpoints, tasks, models, statuses, ends, sources, ttft, took, tokensIn, tokensOut)
	}
	if n := len(d.LeftOut); n > 0 {
		apps, days, calls := make(ids, n), make([]time.Time, n), make([]int64, n)
		for i, l := range d.LeftOut {
			apps[i], days[i], calls[i] = idOf(l.App), time.Unix(l.Day, 0).UTC(), l.Calls
		}
		b.Queue(upsertCallsLeft, apps, days, calls)
	}
}

// Calls implements [ledger.Store].
func (s *Store) Calls(ctx context.Context, q ledger.CallQuery) ([]ledger.Call, error) {
	type row struct {
		At        time.Time   `db:"at"`
		ID        string      `db:"id"`
		Key       pgtype.UUID `db:"key_id"`
		Hint      *string     `db:"hint"`
		Endpoint  string      `db:"endpoint"`
		Task      string      `db:"task"`
		Model     string      `db:"model"`
		Status    int         `db:"status"`
		End       string      `db:"end_reason"`
		Source    string      `db:"source"`
		TTFT      int64       `db:"ttft_us"`
		Took      int64       `db:"took_us"`
		TokensIn  int64       `db:"tokens_in"`
		TokensOut int64       `db:"tokens_out"`
	}
	var key any
	if q.KeyID != "" {
		key = q.KeyID
	}
	found, err := rows[row](ctx, s.pool, selectCalls, q.AppID, q.From, q.To, q.Before.At, q.Before.ID, key, q.Model,
		q.StatusFrom, cmp.Or(q.StatusTo, 1000), q.Limit)
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	calls := make([]ledger.Call, len(found))
	for i, r := range found {
		calls[i] = ledger.Call{
			Place: ledger.Place{At: r.At.UTC(), ID: r.ID}, KeyID: r.Key.String(), Hint: r.Hint, Endpoint: r.Endpoint, Task: r.Task,
			Model: r.Model, Status: r.Status, End: r.End, Source: r.Source, TTFT: time.Duration(r.TTFT) * time.Microsecond,
			Took: time.Duration(r.Took) * time.Microsecond, TokensIn: r.TokensIn, TokensOut: r.TokensOut,
		}
	}
	return calls, nil
}

// CallsLeftOut implements [ledger.Store].
func (s *Store) CallsLeftOut(ctx context.Context, appID string, since time.Time) (int64, error) {
	type row struct {
		Calls int64 `db:"calls"`
	}
	found, err := one[row](ctx, s.pool, selectCallsLeft, appID, since.UTC())
	if err != nil {
		return 0, fmt.Errorf("read how many calls were left out: %w", err)
	}
	return found.Calls, nil
}

// PruneCalls implements [ledger.Book].
func (s *Store) PruneCalls(ctx context.Context, before time.Time) (deleted int64, err error) {
	err = s.Tx(ctx, "prune calls", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, deleteOldCalls, before, PruneRows)
		if err != nil {
			return fmt.Errorf("delete old calls: %w", err)
		}
		deleted = tag.RowsAffected()
		if _, err := tx.Exec(ctx, deleteOldCallsLeft, before.UTC(), PruneRows); err != nil {
			return fmt.Errorf("delete what is known of old calls: %w", err)
		}
		return nil
	})
	return deleted, err
}
