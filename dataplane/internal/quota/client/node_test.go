package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// leader applies frames as they come and answers them.
type leader struct {
	mu    sync.Mutex
	s     *ledger.State
	nodes map[uint64]*Node
	deaf  atomic.Bool
}

func newLeader(t *testing.T, limit int64) *leader {
	t.Helper()
	l := &leader{s: ledger.New(ledger.DefaultPolicy()), nodes: map[uint64]*Node{}}
	l.apply(ledger.Entry{Commands: []ledger.Command{{Kind: ledger.SetClass, Class: 1, Version: 1, Max: limit}}})
	return l
}

func (l *leader) apply(e ledger.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.At = time.Now().UnixMilli()
	res, err := l.s.Apply(ledger.AppendEntry(nil, &e))
	if err != nil {
		panic(err)
	}
	for _, r := range res.Replies {
		if n := l.nodes[r.Node]; n != nil {
			n.Deliver(r)
		}
	}
	for _, r := range res.Recalls {
		if n := l.nodes[r.Node]; n != nil {
			n.Recall(r)
		}
	}
}

func (l *leader) node(t *testing.T, id uint64) *Node {
	t.Helper()
	n := NewNode(id, 1, ttl, func(f ledger.Frame) {
		if !l.deaf.Load() {
			go l.apply(ledger.Entry{Frames: []ledger.Frame{f}})
		}
	})
	l.mu.Lock()
	l.nodes[id] = n
	l.mu.Unlock()
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { n.Run(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
	return n
}

// Many callers on three nodes get exactly the limits of two shared cells, and the tighter one refuses.
func TestNodesShareALimitExactly(t *testing.T) {
	const limit = 300
	l := newLeader(t, limit)
	var admitted, limited atomic.Int64
	var done sync.WaitGroup
	for id := range uint64(3) {
		n := l.node(t, id+1)
		cells := []*Cell{minuteCell(1), NewCell(ledger.ID{Kind: ledger.AppMinute, Lo: 1}, 1, 1)}
		for range 8 {
			done.Go(func() {
				for range 100 {
					var refusal *LimitedError
					switch err := n.Admit(t.Context(), cells); {
					case err == nil:
						admitted.Add(1)
					case errors.As(err, &refusal):
						limited.Add(1)
						if refusal.Retry > 62*time.Second {
							t.Error(refusal.Retry)
						}
					default:
						t.Error(err)
					}
				}
			})
		}
	}
	done.Wait()
	if admitted.Load() > limit || admitted.Load() < limit-10 {
		t.Errorf("%d of %d admitted", admitted.Load(), limit)
	}
	if limited.Load()+admitted.Load() != 2400 {
		t.Errorf("%d limited", limited.Load())
	}
}

func TestHoldsOfANode(t *testing.T) {
	l := newLeader(t, 3)
	n := l.node(t, 1)
	c := NewCell(ledger.ID{Kind: ledger.KeyInFlight, Lo: 1}, 1, 1)
	var holds []Hold
	for range 3 {
		h, err := n.Hold(t.Context(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, h)
	}
	var refusal *LimitedError
	if _, err := n.Hold(t.Context(), c, 1); !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	n.Settle(holds[0], 0)
	if _, err := n.Hold(t.Context(), c, 1); err != nil {
		t.Fatal(err)
	}
}

func TestUnreachableLedger(t *testing.T) {
	l := newLeader(t, 3)
	l.deaf.Store(true)
	n := l.node(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := n.Admit(ctx, []*Cell{minuteCell(1)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := n.Admit(t.Context(), []*Cell{minuteCell(1)}); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	c := minuteCell(1)
	l.deaf.Store(false)
	if err := n.Admit(t.Context(), []*Cell{c}); err != nil {
		t.Fatal("no recovery", err)
	}
}

// A node that stops says whether the ledger took back what it held.
func TestLeavingIsReported(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		var n *Node
		n = NewNode(1, 1, ttl, func(f ledger.Frame) {
			if !deaf {
				n.Deliver(ledger.Reply{Node: f.Node, Incarnation: f.Incarnation, Seq: f.Seq, Status: ledger.Accepted})
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if left := n.Run(ctx); left == deaf {
			t.Errorf("left: %v, the ledger is deaf: %v", left, deaf)
		}
	}
}

// TestASlowLedgerIsWaitedFor: its disk may take longer for a frame than the node waits before it repeats one. Each repetition makes the
// answers on their way worthless, so the node has to learn to wait.
func TestASlowLedgerIsWaitedFor(t *testing.T) {
	for _, delay := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond, 900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			l := newLeader(t, 100)
			n := NewNode(1, 1, ttl, func(f ledger.Frame) {
				time.AfterFunc(delay, func() { l.apply(ledger.Entry{Frames: []ledger.Frame{f}}) })
			})
			l.nodes[1] = n
			ctx, stop := context.WithCancel(t.Context())
			var done sync.WaitGroup
			done.Go(func() { n.Run(ctx) })
			for i := range uint64(20) {
				began := time.Now()
				if err := n.Admit(t.Context(), []*Cell{minuteCell(i + 1)}); err != nil {
					t.Errorf("call %d at a ledger that takes %s: %v after %s", i+1, delay, err, time.Since(began))
				}
			}
			stop()
			done.Wait()
		})
	}
}
