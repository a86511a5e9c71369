package limit

import (
	"strconv"
	"sync"
	"time"

	"modelgate.internal/shared/plane"
)

// Cell is the counter of one bucket on this node. All callers that share the bucket share the cell.
type Cell struct {
	id     uint64 // order in which cells are locked
	bucket string
	daily  bool
	unkept *unkept

	mu     sync.Mutex
	terms  *terms
	idle   bool // held by the registry weakly only; the next admission changes that
	window window
	day    day
}

// terms are what a cell enforces now. They are replaced as a whole when the control plane publishes other ones.
type terms struct {
	name   string
	max    int64
	window time.Duration
	policy string
}

func termsOf(l plane.Limit) *terms {
	t := &terms{name: l.Name, max: max(l.Max, 0), window: l.Window}
	if l.Daily || t.window <= 0 {
		t.window = 24 * time.Hour
	}
	t.policy = strconv.Quote(l.Name) + ";q=" + strconv.FormatInt(t.max, 10) +
		";w=" + strconv.FormatInt(int64(t.window/time.Second), 10)
	return t
}

// set puts new terms in force. The counted history stays; a window of another length is measured from now on.
func (c *Cell) set(t *terms) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.terms = t
	if !c.daily {
		c.window.fit(t)
	}
}

// remaining returns what is left at the instant. The cell must be locked.
func (c *Cell) remaining(at instant) int64 {
	if c.daily {
		c.day.turn(at.day)
		return c.terms.max - c.day.count
	}
	c.window.expire(at.since)
	return c.terms.max - c.window.counted
}

// frees returns how long after the instant at least one more call fits, if nothing is admitted until then. The cell must be
// locked and without remaining calls.
func (c *Cell) frees(at instant) time.Duration {
	switch {
	case c.daily:
		return at.dayLeft
	case c.terms.max == 0:
		return c.terms.window
	default:
		return c.window.frees(at.since, c.window.counted-c.terms.max+1)
	}
}

// renews returns when the oldest counted call stops counting. The cell must be locked.
func (c *Cell) renews(at instant) time.Duration {
	if c.daily {
		return at.dayLeft
	}
	return c.window.frees(at.since, 1)
}

func (c *Cell) take(at instant) {
	if c.daily {
		c.day.count++
		c.changed()
		return
	}
	c.window.push(at.since)
}

func (c *Cell) giveBack(at instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.daily {
		c.window.remove(at.since)
		return
	}
	if c.day.number == at.day && c.day.count > 0 {
		c.day.count--
		c.changed()
	}
}

// changed has the daily count written. The cell must be locked.
func (c *Cell) changed() {
	if !c.day.dirty {
		c.day.dirty = true
		c.unkept.add(c)
	}
}

// rest reports whether the cell counts nothing at the instant, and if so marks it as idle.
func (c *Cell) rest(at instant) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.daily {
		c.day.turn(at.day)
		c.idle = c.day.count == 0
	} else {
		c.window.expire(at.since)
		c.idle = c.window.counted == 0
	}
	return c.idle
}

// day counts the calls of one UTC day.
type day struct {
	number int64 // days since 1970
	count  int64
	dirty  bool // among the unkept
}

// turn starts a new day. A clock that steps back keeps the count, so that no step back frees anything.
func (d *day) turn(number int64) {
	if number > d.number {
		d.count = 0
	}
	d.number = number
}

// unkept are the cells whose daily count is not in the journal as it is. Its lock is taken while a cell is locked.
type unkept struct {
	mu    sync.Mutex
	cells []*Cell
}

func (u *unkept) add(c *Cell) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cells = append(u.cells, c)
}

// takeAll empties the list and puts an empty one with the given backing in its place.
func (u *unkept) takeAll(backing []*Cell) []*Cell {
	u.mu.Lock()
	defer u.mu.Unlock()
	cells := u.cells
	u.cells = backing[:0]
	return cells
}
