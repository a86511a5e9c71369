package listener

import (
	"sync"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
)

// Budget bounds the memory of the large request bodies of a node, and what one account may hold of it. See DESIGN.md.
type Budget struct {
	max int64

	mu   sync.Mutex
	used int64
	held map[string]int64 // by account; there is no entry for an account that holds nothing
}

// NewBudget returns a budget of max bytes.
func NewBudget(max int64) *Budget { return &Budget{max: max, held: map[string]int64{}} }

// Used returns the bytes that are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

var (
	errNoRoom = apierr.New(apierr.Unavailable, "Too many large requests at the moment. Try again.").After(overloadRetry)
	errShare  = apierr.New(apierr.Limited, "The bodies of this account's calls hold as much memory of this gateway node as one account may. "+
		"Try again when some of these calls have ended, or send fewer large requests at a time.").After(overloadRetry)
)

// hold is what one body has of a budget. Its fields are guarded by the budget.
type hold struct {
	account string
	bytes   int64
	closed  bool // it takes nothing more
}

// begin says whose body comes next.
func (b *Budget) begin(h *hold, account string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.account = account
}

// take adds n bytes to a hold. An account may hold no more than is left for the others, so there is always room for one that comes
// later.
func (b *Budget) take(h *hold, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.max - b.used - n
	switch {
	case h.closed:
		return call.ErrClientGone
	case left < 0 || b.held[h.account] == 0 && n > left: // what others hold leaves no room
		return errNoRoom
	case b.held[h.account]+n > left:
		return errShare
	}
	b.add(h, n)
	return nil
}

// give takes n bytes from a hold.
func (b *Budget) give(h *hold, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(h, -min(n, h.bytes))
}

// release ends a hold, for ever if its connection is closed.
func (b *Budget) release(h *hold, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(h, -h.bytes)
	h.closed = h.closed || closed
}

// add changes a hold. The budget must be locked.
func (b *Budget) add(h *hold, n int64) {
	if n == 0 {
		return
	}
	h.bytes += n
	b.used += n
	if b.held[h.account] += n; b.held[h.account] == 0 {
		delete(b.held, h.account)
	}
}
