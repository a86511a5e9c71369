package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/audit"
)

// record appends entries to their chains. It belongs in the transaction of the change, before it announces anything. The row
// of the chain is held from here to the commit, so changes of one account or organization follow each other; those of
// different ones do not meet.
func (s *Store) record(ctx context.Context, tx pgx.Tx, entries ...audit.Entry) error {
	for _, e := range entries {
		head, err := one[headRow](ctx, tx, lockAuditHead, e.Chain)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("load the end of the audit log: %w", err)
		}
		r, err := audit.New(e, audit.From(ctx), head.Seq+1, s.Now())
		if err != nil {
			return err
		}
		r.Seal(head.Hash)
		if _, err := tx.Exec(ctx, upsertAuditHead, r.Chain, r.Seq, r.Hash); err != nil {
			return fmt.Errorf("move the end of the audit log: %w", err)
		}
		_, err = tx.Exec(ctx, insertAuditRecord, r.Chain, r.Seq, r.At, r.Actor, r.SessionID, r.Address, r.Operation, r.Kind, r.Target,
			r.Before, r.After, r.Hash)
		if err != nil {
			return fmt.Errorf("write the audit log: %w", err)
		}
	}
	return nil
}

// Record appends entries that tell of something outside of the database.
func (s *Store) Record(ctx context.Context, entries ...audit.Entry) error {
	return s.Tx(ctx, "record", func(ctx context.Context, tx pgx.Tx) error { return s.record(ctx, tx, entries...) })
}

type headRow struct {
	Seq  int64
	Hash []byte
}

// AuditHead implements [audit.Store].
func (s *Store) AuditHead(ctx context.Context, chain string) (seq int64, hash []byte, err error) {
	head, err := one[headRow](ctx, s.pool, selectAuditHead, chain)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, nil, fmt.Errorf("load the end of the audit log: %w", err)
	}
	return head.Seq, head.Hash, nil
}

// AuditChain implements [audit.Store].
func (s *Store) AuditChain(ctx context.Context, chain string, after int64, limit int) ([]audit.Record, error) {
	found, err := rows[audit.Record](ctx, s.pool, selectAuditChain, chain, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return found, nil
}

// AuditRecords implements [audit.Store].
func (s *Store) AuditRecords(ctx context.Context, q audit.Query) ([]audit.Record, error) {
	found, err := rows[audit.Record](ctx, s.pool, selectAuditRecords,
		q.Chain, q.Actor, q.Operation, q.Kind, q.Target, q.From, q.To, q.Before, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return found, nil
}

// AuditChains returns up to limit chains in the order of their ids, from the one that follows after.
func (s *Store) AuditChains(ctx context.Context, after string, limit int) ([]string, error) {
	found, err := rows[struct{ Chain string }](ctx, s.pool, selectAuditChains, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list audit logs: %w", err)
	}
	chains := make([]string, len(found))
	for i, f := range found {
		chains[i] = f.Chain
	}
	return chains, nil
}
