package node

import (
	"context"
	"time"

	"modelgate.internal/shared/plane"
)

// Node is a data-plane node as it is stored.
type Node struct {
	ID         string // UUID
	Name       string // chosen by the operator, unique
	Build      string // version of the node's binary
	JoinedAt   time.Time
	LastSeenAt time.Time
	Acked      plane.Cursor // what it serves by; zero until it acknowledges something after a join
	AckedAt    *time.Time
	KeysHeld   int64
	Forgotten  bool // an operator withdrew its identity and expects it no more
}

// has reports whether the node serves by a configuration that includes the changes up to the cursor.
func (n *Node) has(cursor plane.Cursor) bool {
	return n.AckedAt != nil && n.Acked.Epoch == cursor.Epoch && n.Acked.Version >= cursor.Version
}

// NodeState is a node and how it stands to a change.
type NodeState struct { //nolint:revive // node.State would be the whole state of a node, which this is not
	Node
	Live bool // seen within LiveFor
	Has  bool // serves by a configuration that includes the change
}

// Store keeps nodes.
type Store interface {
	// JoinNode stores the node under its name, with the given id only if the name is new, and returns the id it has. It
	// returns false when a node of that name was seen since liveSince and is not forgotten.
	JoinNode(ctx context.Context, n Node, secret Digest, liveSince time.Time) (id string, ok bool, err error)
	// NodeBySecret returns the node with the secret and false when there is none or it is forgotten.
	NodeBySecret(ctx context.Context, secret Digest) (Node, bool, error)
	NodeSeen(ctx context.Context, id string, at time.Time) error
	NodeAcked(ctx context.Context, id string, ack plane.Ack, at time.Time) error
	// ForgetNode reports false when there is no node of that name.
	ForgetNode(ctx context.Context, name string, at time.Time) (bool, error)
	Nodes(ctx context.Context) ([]Node, error)
	// Cursor is the newest version that was announced.
	Cursor(ctx context.Context) (plane.Cursor, error)
}
