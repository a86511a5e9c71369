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

// AskDays says who is asked for the control plane's count of a UTC day, in days since 1970, when the ledger lacks it: ask must not block, and
// may lose a question. The answer goes to Seed. It is called before Run. Without it a day begins at 0.
func (n *Node) AskDays(ask func(c *Cell, day uint32)) { n.core.ask = ask }

// Seed answers a question of AskDays.
func (n *Node) Seed(c *Cell, calls int64) { n.core.Seed(c, calls) }

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

// Run serves until ctx ends, then gives back everything with a last frame, and waits leaveWait at most until that is applied, which it reports.
// Callers must have stopped.
func (n *Node) Run(ctx context.Context) (left bool) {
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
			return n.leave()
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

// leave gives everything back. The frame is repeated as a whole: the ledger has applied one of them if it calls another one stale.
func (n *Node) leave() bool {
	f := n.core.Leave(n.now())
	n.send(f)
	again, late := time.NewTicker(retryFirst), time.NewTimer(leaveWait)
	defer again.Stop()
	defer late.Stop()
	for {
		select {
		case <-again.C:
			n.send(f)
		case <-late.C:
			return false
		case r := <-n.replies:
			if r.Incarnation == f.Incarnation && r.Seq == f.Seq {
				return true
			}
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
	_, err := n.Take(ctx, nil, cells)
	return err
}

// Take is Admit for a call that also counts while it runs: it holds one token of inFlight, unless that is nil. What lacks is asked for at
// once, so a call waits for the ledger once and not for every limit.
func (n *Node) Take(ctx context.Context, inFlight *Cell, cells []*Cell) (Hold, error) {
	var h Hold
	lacks, out := n.take(&h, inFlight, cells)
	if out == Admitted {
		return h, nil
	}
	timer := time.NewTimer(MaxWait)
	defer timer.Stop()
	for {
		if out == Denied {
			n.Settle(h, 0)
			return Hold{}, n.limited(lacks)
		}
		g := lacks.wait() // before asking, so that no answer is missed
		asked := n.wantAll(lacks, inFlight, cells)
		var err error
		select {
		case <-g.open:
		case <-timer.C:
			err = ErrUnavailable
		case <-ctx.Done():
			err = ctx.Err()
		}
		lacks, out = n.take(&h, inFlight, cells)
		for _, c := range asked {
			n.core.Unwant(c, 1)
		}
		switch {
		case out == Admitted:
			return h, nil
		case err != nil:
			n.Settle(h, 0)
			return Hold{}, err
		}
	}
}

// take tries once. It returns the cell that lacks.
func (n *Node) take(h *Hold, inFlight *Cell, cells []*Cell) (*Cell, Outcome) {
	if inFlight != nil && h.cell == nil {
		var out Outcome
		if *h, out = n.core.Hold(inFlight, 1); out != Admitted {
			return inFlight, out
		}
	}
	switch len(cells) {
	case 0:
		return nil, Admitted
	case 1:
		return cells[0], n.core.Try(cells[0])
	}
	out, lacks := n.core.TryAll(cells)
	return cells[lacks], out
}

// wantAll says that a caller waits for the cell that lacks, and for all others that have no token now.
func (n *Node) wantAll(lacks, inFlight *Cell, cells []*Cell) []*Cell {
	asked := make([]*Cell, 0, 1+len(cells))
	epoch := n.core.session.Load().epoch
	for _, c := range append(cells[:len(cells):len(cells)], inFlight) {
		if c == nil {
			continue
		}
		if w := c.word.Load(); c == lacks || (c != inFlight && (left(w) == 0 || w>>epochShift != epoch)) {
			n.core.Want(c, 1)
			asked = append(asked, c)
		}
	}
	return asked
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

// Set says which class the limit of a cell has, read at a config version.
func (n *Node) Set(c *Cell, class ledger.Class, seen uint64) { n.core.Set(c, class, seen) }

// Frees returns how long after now the oldest counted token of the cell frees, as the ledger last said; 0 if it counted none.
func (n *Node) Frees(c *Cell, now time.Time) time.Duration {
	at := c.freesAt.Load()
	if at == 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(at)-now.Sub(n.start))
}

// Live reports whether the node's leases are valid: the ledger answered not long ago.
func (n *Node) Live() bool { return n.core.Live(n.now()) }

// Look waits until the ledger has told how the limit of the cell stands, MaxWait at most. It takes nothing.
func (n *Node) Look(ctx context.Context, c *Cell) error {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxWait, ErrUnavailable)
	defer cancel()
	c.looking.Add(1)
	defer c.looking.Add(-1)
	g := c.wait()
	n.core.Look(c)
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Settle ends a hold: used of its tokens are spent, the others are free again.
func (n *Node) Settle(h Hold, used int64) { n.core.Settle(h, used) }

// Owe charges tokens beyond what was held. They are taken from the node's next ones.
func (n *Node) Owe(c *Cell, tokens int64) { n.core.Owe(c, tokens) }

// Ticket returns what Refund needs; it is taken before Admit.
func (n *Node) Ticket() Ticket { return n.core.Ticket() }

// Refund takes back what Admit spent, as far as it was not reported to the ledger yet.
func (n *Node) Refund(t Ticket, cells []*Cell) { n.core.Refund(t, cells) }
