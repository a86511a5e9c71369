package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/shared/plane"
)

// JoinNode implements [node.Store].
func (s *Store) JoinNode(ctx context.Context, n node.Node, secret node.Digest, liveSince time.Time) (id string, ok bool, err error) {
	err = s.Tx(ctx, "join node", func(ctx context.Context, tx pgx.Tx) error {
		id, ok = "", false
		err := tx.QueryRow(ctx, joinNode, n.ID, n.Name, secret[:], n.Build, n.JoinedAt, liveSince).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return id, ok && err == nil, err
}

// NodeBySecret implements [node.Store].
func (s *Store) NodeBySecret(ctx context.Context, secret node.Digest) (node.Node, bool, error) {
	row, err := one[nodeRow](ctx, s.pool, selectNodeBySecret, secret[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return node.Node{}, false, nil
	}
	if err != nil {
		return node.Node{}, false, fmt.Errorf("read node: %w", err)
	}
	return row.node(), true, nil
}

// NodeSeen implements [node.Store].
func (s *Store) NodeSeen(ctx context.Context, id string, at time.Time) error {
	return s.Tx(ctx, "mark node seen", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, markNodeSeen, id, at)
		return err
	})
}

// NodeAcked implements [node.Store]. It is one statement without a transaction around it, because revocations wait for it and
// saying it twice does no harm.
func (s *Store) NodeAcked(ctx context.Context, id string, ack plane.Ack, at time.Time) error {
	_, err := s.alone(ctx, ackNode, id, int64(ack.Epoch), int64(ack.Version), at, ack.KeysHeld, ack.Build)
	if err != nil {
		return fmt.Errorf("store acknowledgement: %w", err)
	}
	return nil
}

// ForgetNode implements [node.Store].
func (s *Store) ForgetNode(ctx context.Context, name string, at time.Time) (bool, error) {
	var found bool
	err := s.Tx(ctx, "forget node", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, forgetNode, name, at)
		found = tag.RowsAffected() > 0
		return err
	})
	return found && err == nil, err
}

// Nodes implements [node.Store].
func (s *Store) Nodes(ctx context.Context) ([]node.Node, error) {
	found, err := rows[nodeRow](ctx, s.pool, selectNodes)
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	nodes := make([]node.Node, len(found))
	for i, row := range found {
		nodes[i] = row.node()
	}
	return nodes, nil
}

type nodeRow struct {
	ID           string     `db:"id"`
	Name         string     `db:"name"`
	Build        string     `db:"build"`
	JoinedAt     time.Time  `db:"joined_at"`
	LastSeenAt   time.Time  `db:"last_seen_at"`
	AckedEpoch   *int64     `db:"acked_epoch"`
	AckedVersion *int64     `db:"acked_version"`
	AckedAt      *time.Time `db:"acked_at"`
	KeysHeld     *int64     `db:"keys_held"`
	ForgottenAt  *time.Time `db:"forgotten_at"`
}

func (r nodeRow) node() node.Node {
	n := node.Node{
		ID: r.ID, Name: r.Name, Build: r.Build, JoinedAt: r.JoinedAt, LastSeenAt: r.LastSeenAt,
		AckedAt: r.AckedAt, Forgotten: r.ForgottenAt != nil,
	}
	if r.AckedEpoch != nil && r.AckedVersion != nil && r.KeysHeld != nil {
		n.Acked = plane.Cursor{Epoch: uint64(*r.AckedEpoch), Version: plane.Version(*r.AckedVersion)}
		n.KeysHeld = *r.KeysHeld
	}
	return n
}
