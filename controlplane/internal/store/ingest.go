package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/ingest"
)

// ApplyUsage implements [ingest.Store].
func (s *Store) ApplyUsage(ctx context.Context, nodeID, incarnation string, at time.Time, decide func(next uint64) (*ingest.Delta, error)) (next uint64, err error) {
	err = s.Tx(ctx, "apply usage", func(tx pgx.Tx) error {
		var stored int64
		err := tx.QueryRow(ctx, selectUsageProgress, nodeID, incarnation).Scan(&stored)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			stored = 1
		case err != nil:
			return fmt.Errorf("read progress: %w", err)
		}
		next = uint64(stored)
		delta, err := decide(next)
		if err != nil || delta == nil {
			return err
		}
		next = delta.Next
		return applyDelta(ctx, tx, nodeID, incarnation, at, delta)
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// applyDelta sends everything in one round trip.
func applyDelta(ctx context.Context, tx pgx.Tx, nodeID, incarnation string, at time.Time, d *ingest.Delta) error {
	var b pgx.Batch
	b.Queue(upsertUsageProgress, nodeID, incarnation, int64(d.Next), at)
	queueRollups(&b, upsertUsageHour, d.Hours)
	queueRollups(&b, upsertUsageDay, d.Days)
	if n := len(d.Accounts); n > 0 {
		accounts, days, calls := make([]uuid.UUID, n), make([]time.Time, n), make([]int64, n)
		for i, a := range d.Accounts {
			accounts[i], days[i], calls[i] = a.Account, time.Unix(a.Day, 0).UTC(), a.Calls
		}
		b.Queue(upsertUsageAccountDay, accounts, days, calls)
	}
	if n := len(d.Apps); n > 0 {
		apps, calls := make([]uuid.UUID, n), make([]int64, n)
		for i, a := range d.Apps {
			apps[i], calls[i] = a.App, a.Calls
		}
		b.Queue(upsertUsageAppApplied, apps, calls, nodeID)
	}
	if n := len(d.Keys); n > 0 {
		keys, used := make([]uuid.UUID, n), make([]time.Time, n)
		for i, k := range d.Keys {
			keys[i], used[i] = k.Key, k.At
		}
		b.Queue(updateKeysLastUsed, keys, used)
	}
	for _, r := range d.Rejected {
		b.Queue(upsertUsageRejected, nodeID, incarnation, int64(r.Seq), r.Whole, r.Reason, r.Body, at)
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("add to the rollups: %w", err)
	}
	return nil
}

// queueRollups queues one statement for all rollups of a segment: at most plane.SegmentRecordsMax rows.
func queueRollups(b *pgx.Batch, sql string, rollups []ingest.Rollup) {
	n := len(rollups)
	if n == 0 {
		return
	}
	var (
		apps, keys, accounts                 = make([]uuid.UUID, n), make([]uuid.UUID, n), make([]uuid.UUID, n)
		buckets                              = make([]time.Time, n)
		models, tasks, sources               = make([]string, n), make([]string, n), make([]string, n)
		statuses                             = make([]int64, n)
		calls, failures, tokensIn, tokensOut = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	)
	for i := range rollups {
		r := &rollups[i]
		apps[i], keys[i], accounts[i] = r.App, r.Key, r.Account
		buckets[i], statuses[i] = time.Unix(r.Bucket, 0).UTC(), int64(r.Status)
		models[i], tasks[i], sources[i] = r.Model, r.Task, r.Source
		calls[i], failures[i], tokensIn[i], tokensOut[i] = r.Calls, r.Errors, r.TokensIn, r.TokensOut
	}
	b.Queue(sql, apps, buckets, keys, accounts, models, tasks, statuses, sources, calls, failures, tokensIn, tokensOut)
}

// RejectSegment implements [ingest.Store].
func (s *Store) RejectSegment(ctx context.Context, nodeID, incarnation string, at time.Time, r ingest.Rejected) error {
	return s.Tx(ctx, "set segment aside", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, upsertUsageRejected, nodeID, incarnation, int64(r.Seq), r.Whole, r.Reason, r.Body, at)
		return err
	})
}
