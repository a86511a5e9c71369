package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// ErrUnavailable says that there was no lease and that the ledger did not answer in time. The caller did nothing wrong.
var ErrUnavailable = errors.New("the quota ledger cannot be reached")

// LimitedError says which limit refuses and when a retry succeeds if nothing else comes.
type LimitedError struct {
	Cell  *Cell
	Retry time.Duration
}

func (e *LimitedError) Error() string { return fmt.Sprintf("limit %s is reached", e.Cell.id) }

// Node runs a Core: one goroutine that sends frames and takes replies, and callers that wait for it.
type Node struct {
	core    *Core
	start   time.Time
	send    func(ledger.Frame)
	woken   chan struct{}
	replies chan ledger.Reply
	recalls chan ledger.Recall
}

// gate is closed when the callers that wait at it should look again.
type gate struct{ open chan struct{} }

// NewNode returns a node. Send hands a frame to the leader; it must not block and may lose it. The incarnation must be above those
// of all former processes of the node.
func NewNode(node, incarnation uint64, ttl time.Duration, send func(ledger.Frame)) *Node {
	n := &Node{
		start: time.Now(), send: send, woken: make(chan struct{}, 1),
		replies: make(chan ledger.Reply, 16), recalls: make(chan ledger.Recall, 1024),
	}
	n.core = NewCore(node, incarnation, ttl, n.now, n.wake)
	return n
}

func (n *Node) now() int64 { return int64(time.Since(n.start)) }

func (n *Node) wake() {
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

// Deliver hands over a reply. It may lose it if the node is far behind.
func (n *Node) Deliver(r ledger.Reply) {
	select {
	case n.replies <- r:
	default:
	}
}

// Recall hands over a recall. It may lose it if the node is far behind.
func (n *Node) Recall(r ledger.Recall) {
	select {
	case n.recalls <- r:
	default:
	}
}

// Run serves until ctx ends, then gives back everything with a last frame. Callers must have stopped.
func (n *Node) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := n.now()
		if f, ok := n.core.Frame(now); ok {
			n.send(f)
		}
		timer.Reset(max(0, time.Duration(n.core.Due(now)-now)))
		select {
		case <-ctx.Done():
			n.send(n.core.Leave(n.now()))
			return
		case <-timer.C:
		case <-n.woken:
		case r := <-n.replies:
			for _, c := range n.core.Receive(n.now(), &r) {
				c.pass()
			}
		case r := <-n.recalls:
			n.core.Recall(n.now(), r)
		}
	}
}

// pass lets the waiting callers look again.
func (c *Cell) pass() {
	if g := c.gate.Swap(nil); g != nil {
		close(g.open)
	}
}

func (c *Cell) wait() *gate {
	for {
		if g := c.gate.Load(); g != nil {
			return g
		}
		if g := (&gate{make(chan struct{})}); c.gate.CompareAndSwap(nil, g) {
			return g
		}
	}
}

// Admit spends one token of each cell, or none. It waits for leases, MaxWait at most. It returns nil, a *LimitedError,
// ErrUnavailable or what ended the context.
func (n *Node) Admit(ctx context.Context, cells []*Cell) error {
	out, lacks := n.try(cells)
	if out == Admitted {
		return nil
	}
	var timeout <-chan time.Time
	for {
		c := cells[lacks]
		if out == Denied {
			return n.limited(c)
		}
		if timeout == nil {
			timer := time.NewTimer(MaxWait)
			defer timer.Stop()
			timeout = timer.C
		}
		g := c.wait() // before asking, so that no answer is missed
		n.core.Want(c, 1)
		var err error
		select {
		case <-g.open:
		case <-timeout:
			err = ErrUnavailable
		case <-ctx.Done():
			err = ctx.Err()
		}
		out, lacks = n.try(cells)
		n.core.Unwant(c, 1)
		switch {
		case out == Admitted:
			return nil
		case err != nil:
			return err
		}
	}
}

func (n *Node) try(cells []*Cell) (Outcome, int) {
	if len(cells) == 1 {
		return n.core.Try(cells[0]), 0
	}
	return n.core.TryAll(cells)
}

func (n *Node) limited(c *Cell) error {
	return &LimitedError{c, max(time.Millisecond, time.Duration(c.retryAt.Load()-n.now()))}
}

// Hold takes tokens of a cell aside, as Admit does.
func (n *Node) Hold(ctx context.Context, c *Cell, tokens int64) (Hold, error) {
	h, out := n.core.Hold(c, tokens)
	var timeout <-chan time.Time
	for out == Ask {
		if timeout == nil {
			timer := time.NewTimer(MaxWait)
			defer timer.Stop()
			timeout = timer.C
		}
		g := c.wait()
		n.core.Want(c, tokens)
		var err error
		select {
		case <-g.open:
		case <-timeout:
			err = ErrUnavailable
		case <-ctx.Done():
			err = ctx.Err()
		}
		h, out = n.core.Hold(c, tokens)
		n.core.Unwant(c, tokens)
		if err != nil && out == Ask {
			return Hold{}, err
		}
	}
	if out == Denied {
		return Hold{}, n.limited(c)
	}
	return h, nil
}

// Settle ends a hold: used of its tokens are spent, the others are free again.
func (n *Node) Settle(h Hold, used int64) { n.core.Settle(h, used) }

// Ticket returns what Refund needs; it is taken before Admit.
func (n *Node) Ticket() Ticket { return n.core.Ticket() }

// Refund takes back what Admit spent, as far as it was not reported to the ledger yet.
func (n *Node) Refund(t Ticket, cells []*Cell) { n.core.Refund(t, cells) }
