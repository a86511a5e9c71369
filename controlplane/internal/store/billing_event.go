package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
)

// AddEvent implements [billing.Store].
func (s *Store) AddEvent(ctx context.Context, e billing.Event, now time.Time) (fresh bool, err error) {
	err = s.Tx(ctx, "add billing event", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertEvent, e.ID, e.Type, e.CustomerID, e.ObjectID, e.CreatedAt, now)
		fresh = tag.RowsAffected() > 0
		return err
	})
	return fresh, err
}

// ClaimEvents implements [billing.Store].
func (s *Store) ClaimEvents(ctx context.Context, now, until time.Time, limit int) ([]billing.Event, error) {
	var found []billing.Event
	err := s.Tx(ctx, "claim billing events", func(ctx context.Context, tx pgx.Tx) (err error) {
		found, err = rows[billing.Event](ctx, tx, claimEvents, now, until, limit)
		return err
	})
	return found, err
}

// FinishEvent implements [billing.Store].
func (s *Store) FinishEvent(ctx context.Context, id, outcome string, now time.Time) error {
	return s.exec(ctx, "finish billing event", settleEvent, id, billing.EventDone, outcome, now)
}

// PostponeEvent implements [billing.Store].
func (s *Store) PostponeEvent(ctx context.Context, id, reason string, next time.Time) error {
	return s.exec(ctx, "postpone billing event", settleEvent, id, billing.EventWaiting, reason, next)
}

// BuryEvent implements [billing.Store].
func (s *Store) BuryEvent(ctx context.Context, id, reason string, now time.Time) error {
	return s.exec(ctx, "bury billing event", settleEvent, id, billing.EventDead, reason, now)
}

// CountEvents implements [billing.Store].
func (s *Store) CountEvents(ctx context.Context) (billing.EventCounts, error) {
	counts, err := one[billing.EventCounts](ctx, s.pool, countEvents)
	if err != nil {
		return counts, fmt.Errorf("count billing events: %w", err)
	}
	return counts, nil
}

// RecordOtherMode implements [billing.Store].
func (s *Store) RecordOtherMode(ctx context.Context, e billing.Event, live bool) error {
	return s.Record(ctx, audit.Entry{
		Chain: audit.Installation, Kind: audit.Payment, Target: e.ID, After: map[string]any{"refused": "other mode", "type": e.Type, "livemode": live},
	})
}

// Events returns the newest notifications in a state, or in any when it is empty.
func (s *Store) Events(ctx context.Context, state string) ([]billing.StoredEvent, error) {
	found, err := rows[billing.StoredEvent](ctx, s.pool, selectEvents, state, billing.EventsListedMax)
	if err != nil {
		return nil, fmt.Errorf("list billing events: %w", err)
	}
	return found, nil
}

// ReplayEvents makes notifications wait again: those named, or all dead ones. It returns how many.
func (s *Store) ReplayEvents(ctx context.Context, ids []string, now time.Time) (n int64, err error) {
	err = s.Tx(ctx, "replay billing events", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, replayEvents, list(ids), now)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

// ClaimAccounts implements [billing.Store].
func (s *Store) ClaimAccounts(ctx context.Context, now, until time.Time, limit int) ([]string, error) {
	var found []struct {
		AccountID string `db:"account_id"`
	}
	err := s.Tx(ctx, "claim billing accounts", func(ctx context.Context, tx pgx.Tx) (err error) {
		found, err = rows[struct {
			AccountID string `db:"account_id"`
		}](ctx, tx, claimBillingAccounts, now, until, limit)
		return err
	})
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.AccountID
	}
	return ids, err
}

// ReconcileAll makes every account due for a comparison with the payment processor.
func (s *Store) ReconcileAll(ctx context.Context, now time.Time) (n int64, err error) {
	err = s.Tx(ctx, "reconcile all", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, dueAllBillingAccounts, now)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}
