package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/counter"
)

type countRow struct {
	Count int64 `db:"count"`
}

// Count implements [counter.Store]. A counter that is there is raised by one statement; only a new one takes a
// serializable transaction, because otherwise two new names could take the last place together.
func (s *Store) Count(ctx context.Context, name string, reserved []string, places int) (int64, error) {
	row, err := s.raise(ctx, countPublic, name)
	if errors.Is(err, pgx.ErrNoRows) {
		err = s.Tx(ctx, "add a public counter", func(ctx context.Context, tx pgx.Tx) error {
			row, err = one[countRow](ctx, tx, addPublicCounter, name, reserved, places)
			return err
		})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := s.raise(ctx, countDropped); err != nil {
			return 0, fmt.Errorf("note a dropped event: %w", err)
		}
		return 0, counter.ErrFull
	}
	if err != nil {
		return 0, fmt.Errorf("count an event: %w", err)
	}
	return row.Count, nil
}

// raise runs a statement that adds to one row, which many may do at once. They must wait for each other instead of colliding:
// PostgreSQL lets them with read committed isolation, which is not its default everywhere; CockroachDB repeats a single
// statement by itself. What it added is unknown when the connection breaks, so that is not tried again.
func (s *Store) raise(ctx context.Context, sql string, args ...any) (countRow, error) {
	if s.cockroach {
		return settled(ctx, collided, func(ctx context.Context) (countRow, error) {
			if err := checkText(args); err != nil {
				return countRow{}, err
			}
			return query(ctx, s.pool, func(r pgx.Rows) (countRow, error) {
				return pgx.CollectExactlyOneRow(r, pgx.RowToStructByName[countRow])
			}, sql, args)
		})
	}
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	var row countRow
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
		row, err = one[countRow](ctx, tx, sql, args...)
		return err
	})
	if err != nil {
		err = away(err)
	}
	return row, err
}

// Counters implements [counter.Store].
func (s *Store) Counters(ctx context.Context) (counter.State, error) {
	type row struct {
		Since   time.Time `db:"since"`
		Dropped int64     `db:"dropped"`
		Name    *string   `db:"name"`
		Count   *int64    `db:"count"`
	}
	found, err := rows[row](ctx, s.pool, selectPublicCounters)
	if err != nil {
		return counter.State{}, fmt.Errorf("read the public counters: %w", err)
	}
	state := counter.State{Events: make(map[string]int64, len(found))}
	for _, r := range found {
		state.Since, state.Dropped = r.Since.UTC(), r.Dropped
		if r.Name != nil && r.Count != nil {
			state.Events[*r.Name] = *r.Count
		}
	}
	return state, nil
}

// ResetCounters implements [counter.Store].
func (s *Store) ResetCounters(ctx context.Context, at time.Time) error {
	return s.Tx(ctx, "reset the public counters", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, resetPublicCounters, at)
		return err
	})
}
