package client

import (
	"sync/atomic"
	"time"

	"modelgate.internal/dataplane/internal/quota/internal/mutant"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

// Core is a node of the ledger as a step function. See the package documentation.
type Core struct {
	session atomic.Pointer[session]
	clock   func() int64
	queue   atomic.Pointer[Cell] // cells with something to report, newest first
	urgent  atomic.Bool          // someone waits
	wake    func()               // the queue is not empty any more, or someone waits
	ask     func(*Cell, uint32)  // for the control plane's count of a day; nil if nobody knows
	mutant  mutant.Set
	owing   owing

	// Used by one goroutine.
	node     uint64
	ttl      int64
	seq      uint64
	awaiting bool  // the newest frame has no reply
	sentAt   int64 // of the newest frame
	retry    int64 // wait for its reply
	scanAt   int64
	scanned  int
	dirty    []*Cell // to report
	sent     []*Cell // in the newest frame, in the order of its records
	holding  []*Cell // with tokens left or held
	byID     map[ledger.ID]*Cell
	kept     []*Cell // reported lately, the longest ago first
	debts    map[*Cell]int64
	stats    Stats

	sentTerms []*terms // of sent, when the frame was made
}

// Stats count what a core did.
type Stats struct {
	Frames, Records, Sessions, Stale, Recalls uint64
}

// session is an incarnation. Tokens that were taken while it was the node's session are valid before its deadline.
type session struct {
	incarnation uint64
	epoch       uint64 // in the words of the cells
	deadline    atomic.Int64
}

// Outcome is what a look at the cells gave.
type Outcome uint8

// The outcomes.
const (
	Ask      Outcome = iota // there is no token here; the ledger may have one
	Admitted                // a token was spent
	Denied                  // the ledger had none a moment ago
)

// NewCore returns a core without a session. Clock is a monotonic clock in nanoseconds that goes on while the process is stopped;
// wake is called when Frame may have become due, from any goroutine. The first incarnation must be above all former ones.
func NewCore(node, incarnation uint64, ttl time.Duration, clock func() int64, wake func()) *Core {
	n := &Core{
		clock: clock, wake: wake, node: node, ttl: int64(ttl), retry: int64(retryFirst), byID: map[ledger.ID]*Cell{}, debts: map[*Cell]int64{},
		sentAt: -int64(time.Hour),
	}
	n.session.Store(&session{incarnation: incarnation, epoch: 1})
	n.stats.Sessions = 1
	return n
}

// Mutate breaks the core on purpose, for tests of package quota.
func (n *Core) Mutate(m mutant.Set) { n.mutant = m }

// Stats returns the counts so far. It belongs to the one goroutine.
func (n *Core) Stats() Stats { return n.stats }

// Try spends one token of the cell.
func (n *Core) Try(c *Cell) Outcome {
	s := n.session.Load()
	if n.mutant.ClockFirst {
		if n.clock() >= s.deadline.Load() {
			return Ask
		}
	}
	for {
		w := c.word.Load()
		if w&countMask == 0 || w>>epochShift != s.epoch {
			return n.lack(c)
		}
		if c.word.CompareAndSwap(w, w-1) {
			break
		}
	}
	// The clock is read after the take: had the process been stopped in between, the token would be void.
	if !n.mutant.ClockFirst && n.clock() >= s.deadline.Load() {
		return Ask
	}
	if c.queued.Load() == 0 {
		n.enqueue(c)
	}
	return Admitted
}

// TryAll spends one token of each of the cells, or none. Unless all were spent it also returns the index of the cell that lacks.
func (n *Core) TryAll(cells []*Cell) (Outcome, int) {
	s := n.session.Load()
	for i, c := range cells {
		if w := c.word.Load(); w&countMask == 0 || w>>epochShift != s.epoch {
			return n.lack(c), i
		}
	}
	for i, c := range cells {
		for {
			w := c.word.Load()
			if w&countMask == 0 || w>>epochShift != s.epoch {
				for _, taken := range cells[:i] { // lost a race for the last token
					n.refund(s, taken, 1)
				}
				return n.lack(c), i
			}
			if c.word.CompareAndSwap(w, w-1) {
				break
			}
		}
	}
	if n.clock() >= s.deadline.Load() {
		return Ask, 0
	}
	for _, c := range cells {
		if c.queued.Load() == 0 {
			n.enqueue(c)
		}
	}
	return Admitted, 0
}

func (n *Core) lack(c *Cell) Outcome {
	if n.clock() < c.denyUntil.Load() {
		return Denied
	}
	return Ask
}

// Hold are tokens in use: of a request that will tell how many it needed, or that counts while it runs.
type Hold struct {
	cell    *Cell
	session *session
	tokens  int64
}

// Hold takes tokens aside. Unless the outcome is Admitted, the hold is empty.
func (n *Core) Hold(c *Cell, tokens int64) (Hold, Outcome) {
	s := n.session.Load()
	for {
		w := c.word.Load()
		if left(w) < tokens || w>>epochShift != s.epoch {
			return Hold{}, n.lack(c)
		}
		if c.word.CompareAndSwap(w, w-uint64(tokens)+uint64(tokens)<<heldShift) {
			break
		}
	}
	if n.clock() >= s.deadline.Load() {
		return Hold{}, Ask
	}
	n.enqueue(c)
	return Hold{c, s, tokens}, Admitted
}

// Tokens is how many the hold has.
func (h Hold) Tokens() int64 { return h.tokens }

// Settle ends a hold: so many of its tokens were used, the others are free again. More than it holds cannot be used; Owe is for that. It
// reports false if the hold's session is lost: its tokens were charged in full when that ended.
func (n *Core) Settle(h Hold, used int64) bool {
	if h.cell == nil {
		return false
	}
	used = min(max(used, 0), h.tokens)
	if n.mutant.SettleNothing {
		used = 0
	}
	for {
		w := h.cell.word.Load()
		if n.session.Load() != h.session || w>>epochShift != h.session.epoch {
			return false
		}
		if h.cell.word.CompareAndSwap(w, w-uint64(h.tokens)<<heldShift+uint64(h.tokens-used)) {
			break
		}
	}
	n.enqueue(h.cell)
	return true
}

// Ticket remembers the session that tokens were spent in.
type Ticket struct{ session *session }

// Ticket returns what Refund needs. It is taken before the tokens are.
func (n *Core) Ticket() Ticket { return Ticket{n.session.Load()} }

// Refund takes back one token of each cell, as far as its use was not reported to the ledger yet.
func (n *Core) Refund(t Ticket, cells []*Cell) {
	for _, c := range cells {
		n.refund(t.session, c, 1)
	}
}

func (n *Core) refund(s *session, c *Cell, tokens uint64) {
	for n.session.Load() == s {
		r := c.refunds.Load()
		next := s.epoch<<epochShift | tokens
		if r>>epochShift == s.epoch {
			next = r + tokens
		}
		if c.refunds.CompareAndSwap(r, next) {
			n.enqueue(c)
			return
		}
	}
}

// Set says which class the limit of a cell has, read at a config version. An older version has no effect. What is newer is reported at
// once, and refusals by the old terms are forgotten.
func (n *Core) Set(c *Cell, class ledger.Class, seen uint64) {
	if c.set(class, seen) {
		c.denyUntil.Store(0)
		n.enqueue(c)
	}
}

// Want says that a caller waits for tokens of the cell; Unwant that it does not any more.
func (n *Core) Want(c *Cell, tokens int64) {
	c.waiting.Add(tokens)
	n.enqueue(c)
	n.urgent.Store(true)
	n.wake()
}

// Look has the cell reported at once, so that the ledger tells how its limit stands.
func (n *Core) Look(c *Cell) {
	n.enqueue(c)
	n.urgent.Store(true)
	n.wake()
}

// Seed tells the control plane's count of the day that the ledger asked for.
func (n *Core) Seed(c *Cell, calls int64) {
	c.seed.Store(&seed{calls: min(max(calls, 0), ledger.LimitMax)})
	n.Look(c)
}

// Unwant takes back a Want.
func (n *Core) Unwant(c *Cell, tokens int64) { c.waiting.Add(-tokens) }

// enqueue has the cell in the next frame.
func (n *Core) enqueue(c *Cell) {
	if !c.queued.CompareAndSwap(0, 1) {
		return
	}
	for {
		head := n.queue.Load()
		c.next = head
		if n.queue.CompareAndSwap(head, c) {
			if head == nil {
				n.wake()
			}
			return
		}
	}
}
