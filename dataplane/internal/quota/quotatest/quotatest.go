// Package quotatest gives tests of other packages a ledger without disk, raft or network. The ledger and the leases are the real ones.
//
// A Ledger may be used by any goroutine. It ends with its test.
package quotatest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

// Ledger is a ledger in memory.
type Ledger struct {
	mu    sync.Mutex
	state *ledger.State
	nodes map[uint64]*client.Node
	deaf  atomic.Bool
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{state: ledger.New(ledger.DefaultPolicy()), nodes: map[uint64]*client.Node{}}
}

// Deaf makes the ledger unreachable, or reachable again.
func (l *Ledger) Deaf(deaf bool) { l.deaf.Store(deaf) }

// Node returns a node of the ledger, which runs until the test ends.
func (l *Ledger) Node(t testing.TB, number uint64) *client.Node {
	t.Helper()
	frames := make(chan ledger.Frame, 16)
	n := client.NewNode(number, 1, 2*time.Second, func(f ledger.Frame) {
		select {
		case frames <- f:
		default: // lost
		}
	})
	l.mu.Lock()
	l.nodes[number] = n
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	running, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(running)
		n.Run(ctx)
	}()
	go func() {
		defer close(stopped)
		for {
			select {
			case f := <-frames:
				l.apply(&f)
			case <-running:
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-running
		<-stopped
	})
	return n
}

func (l *Ledger) apply(f *ledger.Frame) {
	if l.deaf.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	res, err := l.state.Apply(ledger.AppendEntry(nil, &ledger.Entry{At: time.Now().UnixMilli(), Frames: []ledger.Frame{*f}}))
	if err != nil {
		panic("BUG: an entry of ours is not understood: " + err.Error())
	}
	for _, r := range res.Replies {
		l.nodes[r.Node].Deliver(r)
	}
	for _, r := range res.Recalls {
		l.nodes[r.Node].Recall(r)
	}
}
