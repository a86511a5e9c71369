package client

import (
	"slices"
	"time"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// Frame returns the frame to send at the time now, if one is due. At most one frame is unanswered; after a while it is replaced by
// a newer one.
func (n *Core) Frame(now int64) (ledger.Frame, bool) {
	s := n.session.Load()
	if deadline := s.deadline.Load(); deadline != 0 && now >= deadline {
		s = n.register(s.incarnation + 1)
	}
	n.scan(now)
	if n.Due(now) > now {
		return ledger.Frame{}, false
	}
	if n.awaiting { // lost, or late: its cells are reported anew
		n.retry = max(n.retry, min(2*n.retry, int64(retryMost)))
		n.requeue()
	}
	n.urgent.Store(false)
	// After that, so that whoever sets it again is in this frame or the next one; and not before a frame is due, because the first cell in an
	// empty queue wakes the node, and should do that once per frame and not with every call.
	n.drain()
	return n.build(s, now, false), true
}

// Due returns when Frame is to be called next, if nothing happens before.
func (n *Core) Due(now int64) int64 {
	if n.awaiting {
		return n.sentAt + n.retry
	}
	due := n.sentAt + n.ttl/keepAliveDivide
	if len(n.dirty) > 0 || n.queue.Load() != nil {
		due = min(due, n.sentAt+int64(reportGap))
	}
	if n.urgent.Load() {
		due = min(due, n.sentAt+int64(urgentGap))
	}
	if len(n.holding)+len(n.debts) > 0 && due > now {
		due = min(due, max(now+1, n.scanAt))
	}
	return due
}

// Leave returns a last frame that gives everything back. Nothing is admitted from then on until a new session begins.
func (n *Core) Leave(now int64) ledger.Frame {
	s := n.session.Load()
	s.deadline.Store(1)
	n.requeue()
	n.drain()
	for _, c := range n.holding {
		n.mark(c)
	}
	for _, c := range n.dirty {
		c.flags |= flagRecalled
	}
	return n.build(s, now, true)
}

// Live reports whether leases are valid at the time now.
func (n *Core) Live(now int64) bool { return now < n.session.Load().deadline.Load() }

// register begins a new incarnation. All tokens of the old one are void.
func (n *Core) register(incarnation uint64) *session {
	old := n.session.Load()
	s := &session{incarnation: incarnation, epoch: (old.epoch + 1) & 0xff}
	n.session.Store(s)
	n.stats.Sessions++
	n.requeue()
	n.seq, n.awaiting, n.retry = 0, false, int64(retryFirst)
	n.sentAt -= int64(time.Hour) // at once
	for _, c := range slices.Clone(n.holding) {
		n.begin(c, s)
	}
	return s
}

// begin has the counters of the cell start over in the session.
func (n *Core) begin(c *Cell, s *session) {
	c.word.Store(s.epoch << epochShift)
	c.session, c.granted, c.void, c.reported = s, 0, 0, 0
	c.flags &^= flagRecalled
	n.unhold(c)
}

func (n *Core) requeue() {
	for _, c := range n.sent {
		c.flags &^= flagSent
		n.mark(c)
	}
	n.sent, n.sentTerms = n.sent[:0], n.sentTerms[:0]
	n.awaiting = false
}

func (n *Core) mark(c *Cell) {
	if c.flags&flagDirty == 0 {
		c.flags |= flagDirty
		n.dirty = append(n.dirty, c)
	}
}

// drain moves the queue to dirty.
func (n *Core) drain() {
	for c := n.queue.Swap(nil); c != nil; {
		next := c.next
		c.next = nil
		c.queued.Store(0) // before its word is read, so that a later take is in a later frame
		n.mark(c)
		c = next
	}
	n.owe()
}

// scan looks for cells whose tokens should go back.
func (n *Core) scan(now int64) {
	if now < n.scanAt {
		return
	}
	n.scanAt = now + int64(scanGap)
	n.remind(now)
	for range min(scanCells, len(n.holding)) {
		n.scanned++
		if n.scanned >= len(n.holding) {
			n.scanned = 0
		}
		c := n.holding[n.scanned]
		w := c.word.Load()
		switch {
		case left(w) == 0 && held(w) == 0 && c.flags&(flagDirty|flagSent) == 0 && c.queued.Load() == 0:
			n.unhold(c)
			if len(n.holding) == 0 {
				return
			}
		case left(w) > n.reserve(c, now) && n.spare(c, now):
			n.mark(c)
		}
	}
}

// spare reports whether the cell's tokens are not needed here.
func (n *Core) spare(c *Cell, now int64) bool {
	if c.waiting.Load() > 0 {
		return false
	}
	return c.flags&flagRecalled != 0 || now-c.activeAt >= int64(idleReturn) || now-c.leasedAt >= int64(heldReturn)
}

// reserve is how many tokens of a cell stay here although nobody needs them at the moment: one, for the next call of a caller that comes
// now and then and who would else wait for the ledger every time. It is what a crash may strand of the smallest limits anyway, it is kept
// only while a third of the limit is free, and whoever else needs it has it recalled.
func (n *Core) reserve(c *Cell, now int64) int64 {
	switch limit := c.Limit(); {
	case limit == 0, !c.plenty(), c.id.Kind.Amounts(), n.mutant.KeepNone:
		return 0
	case c.flags&flagRecalled != 0, now < c.restUntil, c.activeAt == 0, now-c.activeAt >= int64(reserveFor):
		return 0
	}
	return 1
}

func (n *Core) hold(c *Cell) {
	if c.place == 0 {
		n.holding = append(n.holding, c)
		c.place = int32(len(n.holding))
		n.byID[c.id] = c
	}
}

func (n *Core) unhold(c *Cell) {
	if c.place == 0 {
		return
	}
	last := n.holding[len(n.holding)-1]
	n.holding[c.place-1] = last
	last.place = c.place
	n.holding = n.holding[:len(n.holding)-1]
	c.place = 0
	delete(n.byID, c.id)
}

// build makes a frame of the dirty cells.
func (n *Core) build(s *session, now int64, leave bool) ledger.Frame {
	n.seq++
	f := ledger.Frame{Node: n.node, Incarnation: s.incarnation, Seq: n.seq, Leave: leave}
	count := min(len(n.dirty), recordsMax)
	if count > 0 {
		f.Records = make([]ledger.Record, count)
	}
	for i, c := range n.dirty[:count] {
		c.flags = c.flags&^flagDirty | flagSent
		t := c.terms.Load()
		f.Records[i] = n.record(c, s, now, t)
		n.sent, n.sentTerms = append(n.sent, c), append(n.sentTerms, t)
	}
	n.dirty = slices.Delete(n.dirty, 0, count)
	n.keep(f.Records, now)
	n.awaiting, n.sentAt = true, now
	n.stats.Frames++
	n.stats.Records += uint64(count)
	return f
}

// keep holds on to the cells of the newest frame. The ledger remembers what it granted to this session; should the caller drop a cell and
// make another one of the same limit before the ledger has forgotten, the new cell would take old grants for fresh tokens.
func (n *Core) keep(records []ledger.Record, now int64) {
	for _, c := range n.sent[len(n.sent)-len(records):] {
		if c.flags&flagKept == 0 {
			c.flags |= flagKept
			n.kept = append(n.kept, c)
		}
	}
	for range min(len(n.kept), keptScanned+len(records)) {
		c := n.kept[0]
		if now-c.builtAt < int64(keptFor) {
			if c == n.kept[len(n.kept)-1] {
				return
			}
			n.kept = append(n.kept[1:], c)
			continue
		}
		c.flags &^= flagKept
		n.kept[0] = nil
		n.kept = n.kept[1:]
	}
}

func (n *Core) record(c *Cell, s *session, now int64, t *terms) ledger.Record {
	if c.session != s {
		n.begin(c, s)
	}
	n.takeBack(c, s)
	n.pay(c)
	w := c.word.Load()
	if n.spare(c, now) {
		for kept := n.reserve(c, now); left(w) > kept; w = c.word.Load() {
			if back := left(w) - kept; c.word.CompareAndSwap(w, w-uint64(back)) {
				c.void += back
			}
		}
		c.flags &^= flagRecalled
	}
	used := c.granted - c.void - left(w) - held(w)
	if used != c.reported || held(w) > 0 {
		c.activeAt = now
	}
	dt := float32(max(now-c.builtAt, int64(time.Millisecond))) / float32(time.Second)
	c.rate += (float32(used-c.reported)/dt - c.rate) * min(1, dt/float32(aheadFor.Seconds()))
	c.builtAt, c.reported = now, used
	count := int64(0)
	if s := c.seed.Load(); s != nil {
		s.sent = true
		count = s.calls + 1
	}
	return ledger.Record{
		ID: c.id, Class: t.class, Seen: t.seen, Used: used, Void: c.void,
		Hold: min(held(w)+n.wish(c, left(w), now), ledger.LimitMax), Seed: count,
	}
}

// takeBack returns refunded tokens to the cell, unless the ledger knows of their use.
func (n *Core) takeBack(c *Cell, s *session) {
	r := c.refunds.Swap(0)
	if r&refundMask == 0 || r>>epochShift != s.epoch {
		return
	}
	for {
		w := c.word.Load()
		back := min(int64(r&refundMask), c.granted-c.void-left(w)-held(w)-c.reported)
		if back <= 0 || c.word.CompareAndSwap(w, w+uint64(back)) {
			return
		}
	}
}

// wish is how many tokens the cell should have: for those who wait, and ahead of need if it is used at a rate.
func (n *Core) wish(c *Cell, left, now int64) int64 {
	waiting := c.waiting.Load() + n.debts[c]
	ahead := int64(0)
	rest := now < c.restUntil
	if avail := int64(c.avail.Load()); avail > 0 && !rest && !c.id.Kind.InFlight() && !c.id.Kind.Amounts() {
		ahead = min(int64(c.rate*float32(aheadFor.Seconds())), (c.Limit()+aheadDivisor-1)/aheadDivisor, avail)
	}
	if waiting == 0 && float32(left) > c.rate*float32(refillBelow.Seconds()) {
		ahead = 0
	}
	ahead = max(ahead, n.reserve(c, now))
	return max(left, waiting+ahead)
}
