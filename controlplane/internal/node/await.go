package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"modelgate.internal/shared/plane"
)

// Receipt says which nodes serve by a change.
type Receipt struct {
	Nodes   []Applied
	Missing []Missing // by name
}

// Applied is a node that serves by the change.
type Applied struct {
	Name    string
	Version plane.Version // what it serves by: the change or later
	After   time.Duration // since the waiting began, by the clock of this process
}

// Missing is a node that is not known to serve by the change. One that is not live was not waited for: it goes on serving
// by what it had, if it runs and only cannot reach us.
type Missing struct {
	Name string
	Live bool
}

// Await waits until all live nodes serve by the version, a node stops being live, or AwaitMax is over. Acknowledgements
// arrive at any process, so it looks at what is stored: now and then, and when one has arrived at this process. With too many waiting already it looks once. An error means that
// the database is away, not that the nodes lack anything.
func (r *Registry) Await(ctx context.Context, version plane.Version) (Receipt, error) {
	began := time.Now()
	patience := AwaitMax
	select {
	case r.awaiters <- struct{}{}:
		defer func() { <-r.awaiters }()
	default:
		patience = 0
	}
	cursor, err := r.store.Cursor(ctx)
	if err != nil {
		return Receipt{}, fmt.Errorf("wait for nodes: %w", err)
	}
	cursor.Version = version
	seen := make(map[string]Applied)
	for longest := awaitPauseMin; ; longest = min(2*longest, awaitPauseMax) {
		acked := r.acked.wait() // before the look, so that none is missed
		receipt, done, err := r.look(ctx, cursor, seen, began)
		if err != nil || done || time.Since(began) >= patience {
			return receipt, err
		}
		if !pause(ctx, acked, longest) {
			return receipt, nil // whoever asked has gone, or has as little time as this
		}
	}
}

// pause waits for an acknowledgement, no shorter than awaitPauseMin and no longer than longest, and reports whether ctx still runs.
func pause(ctx context.Context, acked <-chan struct{}, longest time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(awaitPauseMin):
	}
	select {
	case <-ctx.Done():
		return false
	case <-acked:
	case <-time.After(longest - awaitPauseMin):
	}
	return true
}

// bell wakes everyone who waits for an acknowledgement, any number of times.
type bell struct {
	mu sync.Mutex
	c  chan struct{} // nil when nobody waits
}

func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// look says how the nodes stand to the cursor and whether there is nobody left to wait for. What it saw first counts.
func (r *Registry) look(ctx context.Context, cursor plane.Cursor, seen map[string]Applied, began time.Time) (Receipt, bool, error) {
	nodes, err := r.Have(ctx, cursor)
	if err != nil {
		return Receipt{}, false, fmt.Errorf("wait for nodes: %w", err)
	}
	receipt, done := Receipt{Nodes: []Applied{}, Missing: []Missing{}}, true
	for _, n := range nodes {
		if !n.Has {
			delete(seen, n.ID)
			receipt.Missing = append(receipt.Missing, Missing{n.Name, n.Live})
			done = done && !n.Live
			continue
		}
		if _, ok := seen[n.ID]; !ok {
			seen[n.ID] = Applied{n.Name, n.Acked.Version, time.Since(began)}
		}
		receipt.Nodes = append(receipt.Nodes, seen[n.ID])
	}
	return receipt, done, nil
}
