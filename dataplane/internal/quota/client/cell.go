package client

import (
	"sync/atomic"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// Cell is what this node holds of one limit. A key's record points to its cells, so a request looks nothing up. All callers of a
// limit share its cell.
type Cell struct {
	// Shared by all goroutines.
	word      atomic.Uint64 // epoch of the session (8 bits), tokens held (28), tokens left (28)
	denyUntil atomic.Int64  // without tokens, requests are refused until then
	retryAt   atomic.Int64  // when a retry succeeds if nothing else comes
	refunds   atomic.Uint64 // epoch (8 bits), tokens to take back if their use was not reported yet
	waiting   atomic.Int64  // tokens that callers wait for
	looking   atomic.Int32  // callers that wait for news only
	avail     atomic.Int32  // tokens free in the ledger at the newest reply
	limit     atomic.Uint32
	queued    atomic.Uint32        // 1 while in the core's queue
	freesAt   atomic.Int64         // when the oldest counted token is free; 0 if none was counted
	seed      atomic.Pointer[seed] // the control plane's count of a day, to be reported
	gate      atomic.Pointer[gate]
	terms     atomic.Pointer[terms]
	next      *Cell // in the core's queue

	// The core's own.
	id            ledger.ID
	session       *session // of the counters
	granted, void int64
	reported      int64 // use in the newest frame
	rate          float32
	place         int32 // in holding, plus one
	flags         uint32
	seedAskedAt   uint32 // for the count of the day, in tenths of a second; 0 if never
	builtAt       int64
	activeAt      int64 // newest use or grant
	leasedAt      int64 // newest grant
	pendSince     int64 // the ledger first said to wait for other nodes
	restUntil     int64 // nothing is leased ahead
}

// seed is the control plane's count of a day.
type seed struct {
	calls int64
	sent  bool // it is in the newest frame
}

// terms are a class and the config version at which it was read.
type terms struct {
	class ledger.Class
	seen  uint64
}

// Flags of a cell.
const (
	flagDirty    = 1 << iota // in dirty: the next frame has it
	flagSent                 // in sent: an unanswered frame has it
	flagRecalled             // return what is left
	flagPend                 // pendSince counts
	flagKept                 // in kept
	flagOwes                 // in debts
)

const (
	countBits  = 28
	countMask  = 1<<countBits - 1
	heldShift  = countBits
	epochShift = 2 * countBits
	refundMask = 1<<epochShift - 1
)

func left(word uint64) int64 { return int64(word & countMask) }
func held(word uint64) int64 { return int64(word >> heldShift & countMask) }

// NewCell returns the cell of a limit, which the caller keeps unique per node. [Node.Set] gives it newer terms.
func NewCell(id ledger.ID, class ledger.Class, seen uint64) *Cell {
	c := &Cell{id: id}
	c.terms.Store(&terms{class, seen})
	return c
}

// set says which class the limit has, read at a config version. It reports whether that is newer than what the cell had.
func (c *Cell) set(class ledger.Class, seen uint64) bool {
	next := &terms{class, seen}
	for {
		old := c.terms.Load()
		if seen < old.seen || *next == *old {
			return false
		}
		if c.terms.CompareAndSwap(old, next) {
			return true
		}
	}
}

// ID returns the limit's name.
func (c *Cell) ID() ledger.ID { return c.id }

// Limit returns the limit that the ledger enforces, as of the newest reply.
func (c *Cell) Limit() int64 { return int64(c.limit.Load()) }

// plenty reports whether a third of the limit was free at the newest reply.
func (c *Cell) plenty() bool { return 3*int64(c.avail.Load()) >= c.Limit() }

// Remaining estimates how many tokens are free: what the ledger had left plus what this node holds, refunds that are on their way
// included.
func (c *Cell) Remaining() int64 {
	return max(0, int64(c.avail.Load())) + left(c.word.Load()) + int64(c.refunds.Load()&refundMask)
}
