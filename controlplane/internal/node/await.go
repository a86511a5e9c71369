package node

import (
	"context"
	"fmt"
	"time"

	"modelgate.internal/shared/plane"
)

// Receipt says which nodes serve by a change.
type Receipt struct {
	Nodes   []Applied
	Missing []Missing     // by name
	Waited  time.Duration // until this was known, by the clock of this process
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

// Await waits until all live nodes serve by the version, for AwaitMax at most. A node that is behind (see [watch]) is waited for no
// longer than AwaitBehind. Any number of requests may wait; together they cost what one costs. When ctx ends first the receipt
// says what was known by then. An error means that nothing is known of the nodes, not that they lack anything.
func (r *Registry) Await(ctx context.Context, version plane.Version) (Receipt, error) {
	began := time.Now()
	enough := time.NewTimer(AwaitMax)
	defer enough.Stop()
	leave := r.watch.join() //nolint:contextcheck // what is looked at is for all who wait, and outlasts each of them
	defer leave()
	seen := make(map[string]Applied)
	for {
		s, next := r.watch.latest()
		if s != nil {
			if s.err != nil {
				return Receipt{}, fmt.Errorf("wait for nodes: %w", s.err)
			}
			if receipt, done := s.receipt(version, seen, time.Since(began)); done {
				return receipt, nil
			}
		}
		select {
		case <-next:
			continue
		case <-ctx.Done(): // whoever asked has gone, or has as little time as this
		case <-enough.C:
		}
		if s == nil {
			return Receipt{}, fmt.Errorf("wait for nodes: nothing was seen of them in %s", time.Since(began))
		}
		receipt, _ := s.receipt(version, seen, time.Since(began))
		return receipt, nil
	}
}

// AwaitNewest waits as Await does for everything that was announced so far. It is for changes whose own version nobody told.
func (r *Registry) AwaitNewest(ctx context.Context) (Receipt, error) {
	cursor, err := r.store.Cursor(ctx)
	if err != nil {
		return Receipt{}, fmt.Errorf("wait for nodes: %w", err)
	}
	return r.Await(ctx, cursor.Version)
}

// receipt says how the nodes stand to a version that has been waited for so long, and whether there is nobody left to wait for.
// What was seen of a node first counts.
func (s *sight) receipt(version plane.Version, seen map[string]Applied, waited time.Duration) (Receipt, bool) {
	receipt, done := Receipt{Nodes: []Applied{}, Missing: []Missing{}, Waited: waited}, true
	for _, n := range s.nodes {
		if !n.has(plane.Cursor{Epoch: s.newest.Epoch, Version: version}) {
			delete(seen, n.ID)
			receipt.Missing = append(receipt.Missing, Missing{n.Name, n.Live})
			if n.Live && (!s.behind[n.ID] || waited < AwaitBehind) {
				done = false
			}
			continue
		}
		if _, ok := seen[n.ID]; !ok {
			seen[n.ID] = Applied{n.Name, n.Acked.Version, waited}
		}
		receipt.Nodes = append(receipt.Nodes, seen[n.ID])
	}
	return receipt, done
}
