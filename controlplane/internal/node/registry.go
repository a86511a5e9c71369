package node

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// secretPrefix makes the secret of a node recognizable to people and to scanners for leaked secrets.
const secretPrefix = "mgn_"

// Digest is the SHA-256 of a node's secret.
type Digest = [sha256.Size]byte

// The answers to those who are not let in.
var (
	ErrJoinToken = apierr.New(apierr.Unauthorized, "The join token is missing or wrong. Start the node with the join token of this control plane.")
	ErrJoinOff   = apierr.New(apierr.Unauthorized, "No node can join: this control plane has no join token configured.")
	ErrSecret    = apierr.New(apierr.Unauthorized, "The node secret is missing or not valid any more. Join again with the join token.")
)

// Registry lets nodes in and recognizes them.
type Registry struct {
	Now func() time.Time // set before use

	store Store
	watch *watch

	token Digest
	open  bool
	log   *slog.Logger

	mu         sync.Mutex
	recognized map[Digest]recognition
}

type recognition struct {
	node  Node
	until time.Time
}

// NewRegistry returns a registry that lets nodes join with joinToken; without one no node can join. A token shorter than
// TokenBytesMin is an error.
func NewRegistry(store Store, joinToken string, log *slog.Logger) (*Registry, error) {
	if joinToken != "" && len(joinToken) < TokenBytesMin {
		return nil, fmt.Errorf("the join token has %d bytes, fewer than %d: make a longer one", len(joinToken), TokenBytesMin)
	}
	r := &Registry{
		Now: time.Now, store: store, token: sha256.Sum256([]byte(joinToken)), open: joinToken != "", log: log,
		recognized: make(map[Digest]recognition),
	}
	r.watch = newWatch(r.look)
	return r, nil
}

// CheckToken returns ErrJoinToken or ErrJoinOff unless token is the join token. It takes the same time for every wrong token.
func (r *Registry) CheckToken(token string) error {
	if !r.open {
		return ErrJoinOff
	}
	digest := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(digest[:], r.token[:]) != 1 {
		return ErrJoinToken
	}
	return nil
}

// Join gives a node an identity. The secret is in the answer only. Joining again under a name withdraws its earlier secret;
// nobody has recognized that one for LiveFor, so it is remembered nowhere.
// Errors: what CheckToken returns; 422; 409 when a node of that name was seen within LiveFor.
func (r *Registry) Join(ctx context.Context, token string, req plane.JoinRequest) (plane.JoinAnswer, error) {
	if err := r.CheckToken(token); err != nil {
		return plane.JoinAnswer{}, err
	}
	if err := checkJoin(req); err != nil {
		return plane.JoinAnswer{}, err
	}
	var random [secretBytes]byte
	if _, err := rand.Read(random[:]); err != nil {
		return plane.JoinAnswer{}, fmt.Errorf("make a node secret: %w", err)
	}
	secret := secretPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	now := r.Now()
	n := Node{ID: uuid.NewString(), Name: req.Name, Build: req.Build, JoinedAt: now, LastSeenAt: now}
	id, ok, err := r.store.JoinNode(ctx, n, sha256.Sum256([]byte(secret)), now.Add(-LiveFor))
	if err != nil {
		return plane.JoinAnswer{}, fmt.Errorf("join node: %w", err)
	}
	if !ok {
		return plane.JoinAnswer{}, apierr.New(apierr.Conflict, fmt.Sprintf(
			"A node named %q is live. Give this node another name; or, if it replaces that one, stop the other and try again %s after it was last heard of.",
			req.Name, LiveFor)).After(LiveFor)
	}
	r.log.InfoContext(ctx, "node joined", slog.String("node_id", id), slog.String("node", req.Name), slog.String("build", req.Build))
	return plane.JoinAnswer{NodeID: id, Secret: secret}, nil
}

// Authenticate returns the node that the secret belongs to and notes that it was seen. Errors: ErrSecret; 503 while the
// database is away.
func (r *Registry) Authenticate(ctx context.Context, secret string) (Node, error) {
	if len(secret) <= len(secretPrefix) || len(secret) > bearerBytesMax || secret[:len(secretPrefix)] != secretPrefix {
		return Node{}, ErrSecret
	}
	digest := sha256.Sum256([]byte(secret))
	now := r.Now()
	r.mu.Lock()
	known, ok := r.recognized[digest]
	r.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.node, nil
	}
	n, found, err := r.store.NodeBySecret(ctx, digest)
	if err != nil {
		return Node{}, fmt.Errorf("recognize node: %w", err)
	}
	if !found {
		r.drop(digest)
		return Node{}, ErrSecret
	}
	if err := r.store.NodeSeen(ctx, n.ID, now); err != nil {
		return Node{}, fmt.Errorf("note that a node was seen: %w", err)
	}
	n.LastSeenAt = now
	r.remember(digest, n, now)
	return n, nil
}

// Acknowledge stores what a node serves by. The last word counts even if it is behind an earlier one: a node that went back
// must not pass for one that has the newest revocations. Errors: 422.
func (r *Registry) Acknowledge(ctx context.Context, n Node, ack plane.Ack) error {
	if ack.Epoch > math.MaxInt64 || uint64(ack.Version) > math.MaxInt64 || ack.KeysHeld < 0 || len(ack.Build) > BuildBytesMax {
		return apierr.Violations(apierr.Item{
			Type: "value_error", Loc: []any{"body"}, Msg: "Value error, epoch, version, keys_held or build is out of range", Input: nil,
		})
	}
	if err := r.store.NodeAcked(ctx, n.ID, ack, r.Now()); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	r.watch.acked.ring()
	return nil
}

// Forget withdraws the identity of the named node: it cannot come back without the join token, and nobody waits for it. It
// returns a 404 when there is no such node.
func (r *Registry) Forget(ctx context.Context, name string) error {
	found, err := r.store.ForgetNode(ctx, name, r.Now())
	if err != nil {
		return fmt.Errorf("forget node: %w", err)
	}
	if !found {
		return apierr.New(apierr.NotFound, fmt.Sprintf("There is no node named %q.", name))
	}
	r.mu.Lock()
	clear(r.recognized)
	r.mu.Unlock()
	return nil
}

// List returns all nodes, also forgotten ones, by name.
func (r *Registry) List(ctx context.Context) ([]NodeState, error) {
	nodes, err := r.store.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	live := r.Now().Add(-LiveFor)
	states := make([]NodeState, 0, len(nodes))
	for _, n := range nodes {
		states = append(states, NodeState{Node: n, Live: !n.Forgotten && !n.LastSeenAt.Before(live)})
	}
	return states, nil
}

// Have returns the nodes that are expected to have the changes up to the cursor, all but the forgotten ones, and says of
// each whether it has them. A node that cannot be reached has Live false and serves by what it had.
func (r *Registry) Have(ctx context.Context, cursor plane.Cursor) ([]NodeState, error) {
	all, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	expected := make([]NodeState, 0, len(all))
	for _, s := range all {
		if s.Forgotten {
			continue
		}
		s.Has = s.has(cursor)
		expected = append(expected, s)
	}
	return expected, nil
}

// look is one look at all nodes that are expected to follow.
func (r *Registry) look(ctx context.Context) sight {
	newest, err := r.store.Cursor(ctx)
	if err != nil {
		return sight{err: err}
	}
	nodes, err := r.Have(ctx, newest)
	return sight{nodes: nodes, newest: newest, err: err}
}

func (r *Registry) remember(digest Digest, n Node, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recognized) >= RecognizedMax {
		clear(r.recognized)
	}
	r.recognized[digest] = recognition{n, now.Add(RecognizedFor)}
}

func (r *Registry) drop(digest Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.recognized, digest)
}

// checkJoin holds names to what fits a log line, a metric label and a command line.
func checkJoin(req plane.JoinRequest) error {
	var items []apierr.Item
	if !plainName(req.Name) {
		items = append(items, apierr.Item{
			Type: "string_pattern_mismatch", Loc: []any{"body", "name"}, Msg: "String should match pattern '^[A-Za-z0-9._-]{1,64}$'",
			Input: req.Name, Ctx: map[string]any{"pattern": "^[A-Za-z0-9._-]{1,64}$"},
		})
	}
	if len(req.Build) > BuildBytesMax {
		items = append(items, apierr.Item{
			Type: "string_too_long", Loc: []any{"body", "build"}, Msg: fmt.Sprintf("String should have at most %d characters", BuildBytesMax),
			Input: req.Build, Ctx: map[string]any{"max_length": BuildBytesMax},
		})
	}
	if len(items) > 0 {
		return apierr.Violations(items...)
	}
	return nil
}

func plainName(name string) bool {
	if name == "" || len(name) > NameBytesMax {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
