package client

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// owing hands debts to the goroutine of the core.
type owing struct {
	any  atomic.Bool
	mu   sync.Mutex
	cell map[*Cell]int64
}

// Owe charges tokens that were used and that nobody held, because an estimate was short. They are taken out of the next tokens that
// the ledger grants this node, before any caller gets some. The debt is the process's: what a crash finds unpaid is forgotten.
func (n *Core) Owe(c *Cell, tokens int64) {
	if tokens <= 0 {
		return
	}
	n.owing.mu.Lock()
	if n.owing.cell == nil {
		n.owing.cell = map[*Cell]int64{}
	}
	n.owing.cell[c] = min(n.owing.cell[c]+min(tokens, ledger.LimitMax), ledger.LimitMax)
	n.owing.mu.Unlock()
	n.owing.any.Store(true)
	n.enqueue(c)
}

// owe takes over what was charged since the last time.
func (n *Core) owe() {
	if !n.owing.any.Swap(false) {
		return
	}
	n.owing.mu.Lock()
	charged := n.owing.cell
	n.owing.cell = nil
	n.owing.mu.Unlock()
	for _, c := range inOrder(charged) {
		tokens := charged[c]
		n.debts[c] = min(n.debts[c]+tokens, ledger.LimitMax)
		c.flags |= flagOwes
		n.mark(c)
	}
}

// pay has tokens of the cell used up by its debt.
func (n *Core) pay(c *Cell) {
	if c.flags&flagOwes == 0 {
		return
	}
	for {
		w := c.word.Load()
		paid := min(n.debts[c], left(w))
		if !c.word.CompareAndSwap(w, w-uint64(paid)) {
			continue
		}
		if n.debts[c] -= paid; n.debts[c] == 0 {
			delete(n.debts, c)
			c.flags &^= flagOwes
		}
		return
	}
}

// remind asks again for what is owed.
func (n *Core) remind(now int64) {
	for _, c := range inOrder(n.debts) {
		if now-c.builtAt >= int64(debtRetry) {
			n.mark(c)
		}
	}
}

// inOrder returns the cells in an order that does not depend on the run.
func inOrder(debts map[*Cell]int64) []*Cell {
	return slices.SortedFunc(maps.Keys(debts), func(a, b *Cell) int { return a.id.Compare(b.id) })
}
