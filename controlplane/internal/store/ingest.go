package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/ingest"
)

// ApplyUsage implements [ingest.Store].
func (s *Store) ApplyUsage(ctx context.Context, nodeID, incarnation string, at time.Time, decide func(next uint64) (*ingest.Delta, error)) (next uint64, err error) {
	err = s.Tx(ctx, "apply usage", func(ctx context.Context, tx pgx.Tx) error {
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

// applyDelta sends everything in one round trip, and in a second one what sketches became long by it.
func applyDelta(ctx context.Context, tx pgx.Tx, nodeID, incarnation string, at time.Time, d *ingest.Delta) error {
	var (
		b    pgx.Batch
		long []*rollups
	)
	b.Queue(upsertUsageProgress, nodeID, incarnation, int64(d.Next), at)
	for _, t := range []*rollups{
		rollupsOf(upsertUsageMinute, replaceSketchesMinute, d.Minutes),
		rollupsOf(upsertUsageHour, replaceSketchesHour, d.Hours),
		rollupsOf(upsertUsageDay, replaceSketchesDay, d.Days),
		rollupsOf(upsertUsageAppHour, replaceSketchesAppHour, appHours(d.Hours)),
	} {
		t.queue(&b, &long)
	}
	queueEdges(&b, nodeID, d.Edges)
	if n := len(d.Accounts); n > 0 {
		accounts, days, calls := make(ids, n), make([]time.Time, n), make([]int64, n)
		for i, a := range d.Accounts {
			accounts[i], days[i], calls[i] = idOf(a.Account), time.Unix(a.Day, 0).UTC(), a.Calls
		}
		b.Queue(upsertUsageAccountDay, accounts, days, calls)
	}
	if n := len(d.Keys); n > 0 {
		keys, used := make(ids, n), make([]time.Time, n)
		for i, k := range d.Keys {
			keys[i], used[i] = idOf(k.Key), k.At
		}
		b.Queue(updateKeysLastUsed, keys, used)
	}
	queueCalls(&b, d)
	for _, r := range d.Rejected {
		b.Queue(upsertUsageRejected, nodeID, incarnation, int64(r.Seq), r.Whole, r.Reason, r.Body, at)
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("add to the rollups: %w", err)
	}
	if len(long) == 0 {
		return nil
	}
	var again pgx.Batch
	for _, t := range long {
		t.queueReplace(&again)
	}
	if err := tx.SendBatch(ctx, &again).Close(); err != nil {
		return fmt.Errorf("compact sketches: %w", err)
	}
	return nil
}

// queueEdges queues one statement for what the node says it sent.
func queueEdges(b *pgx.Batch, nodeID string, edges []ingest.EdgeDay) {
	n := len(edges)
	if n == 0 {
		return
	}
	apps, keys, accounts := make(ids, n), make(ids, n), make(ids, n)
	buckets := make([]time.Time, n)
	calls, tokensIn, tokensOut := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, e := range edges {
		apps[i], keys[i], accounts[i], buckets[i] = idOf(e.App), idOf(e.Key), idOf(e.Account), time.Unix(e.Bucket, 0).UTC()
		calls[i], tokensIn[i], tokensOut[i] = e.Calls, e.TokensIn, e.TokensOut
	}
	b.Queue(upsertUsageEdgeDay, apps, buckets, keys, accounts, nodeID, calls, tokensIn, tokensOut)
}

// RejectSegment implements [ingest.Store].
func (s *Store) RejectSegment(ctx context.Context, nodeID, incarnation string, at time.Time, r ingest.Rejected) error {
	return s.Tx(ctx, "set segment aside", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, upsertUsageRejected, nodeID, incarnation, int64(r.Seq), r.Whole, r.Reason, r.Body, at)
		return err
	})
}
