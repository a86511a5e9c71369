package client

import (
	"time"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// Receive takes a reply. It returns the cells that had callers waiting and that were answered; the slice is valid until the next
// call.
func (n *Core) Receive(now int64, r *ledger.Reply) []*Cell {
	s := n.session.Load()
	if r.Node != n.node || r.Incarnation != s.incarnation || !n.awaiting {
		return nil
	}
	if r.Seq != n.seq {
		if r.Seq < n.seq && r.Status == ledger.Accepted { // slow as it is, it would never answer the newest frame before that is repeated
			n.retry = max(n.retry, int64(retrySlow))
		}
		return nil
	}
	deadline := n.sentAt + n.ttl*deadlineParts/100
	old := s.deadline.Load()
	switch {
	case r.Status == ledger.Refused:
		return nil // the frame is repeated, ever less often
	case r.Status == ledger.Stale:
		n.stats.Stale++
		n.register(max(s.incarnation, r.Newest) + 1)
		return nil
	case len(r.Grants) != len(n.sent):
		return nil
	case now >= deadline || (old != 0 && now >= old):
		n.register(s.incarnation + 1) // too late: a session that ended is never revived
		return nil
	}
	s.deadline.Store(deadline)
	n.awaiting, n.retry = false, min(max(int64(retryFirst), 2*(now-n.sentAt)), int64(retrySlow))
	woken := n.sent[:0]
	for i := range r.Grants {
		c := n.sent[i]
		c.flags &^= flagSent
		if c.id == r.Grants[i].ID {
			n.grant(c, s, now, &r.Grants[i], n.sentTerms[i])
			if n.unseeded(c, now, &r.Grants[i]) {
				continue // who waits goes on waiting
			}
		}
		waiting := c.waiting.Load()
		// Who waits takes what is there, in a moment. That is reported at once only where it counts when it was: as the limit runs short.
		if waiting > left(c.word.Load()) || (waiting > 0 && !c.plenty()) {
			n.mark(c)
			n.urgent.Store(true)
		}
		if waiting > 0 || c.looking.Load() > 0 {
			woken = append(woken, c)
		}
	}
	n.sent, n.sentTerms = n.sent[:0], n.sentTerms[:0]
	return woken
}

// grant takes what the ledger says of a cell, which it was asked under the given terms.
func (n *Core) grant(c *Cell, s *session, now int64, g *ledger.Grant, asked *terms) {
	c.limit.Store(uint32(g.Limit))
	c.avail.Store(int32(g.Avail))
	c.freesAt.Store(0)
	if g.FreesMS > 0 {
		c.freesAt.Store(now + g.FreesMS*int64(time.Millisecond))
	}
	if fresh := g.Granted - c.granted; fresh > 0 && c.session == s {
		c.granted = g.Granted
		c.word.Add(uint64(min(fresh, ledger.LimitMax-left(c.word.Load()))))
		c.activeAt, c.leasedAt = now, now
		n.hold(c)
		n.pay(c)
	}
	if g.RetryMS == 0 {
		c.denyUntil.Store(0)
		c.flags &^= flagPend
		return
	}
	retry := g.RetryMS * int64(time.Millisecond)
	c.retryAt.Store(now + retry)
	if g.Pend {
		if c.flags&flagPend == 0 {
			c.flags |= flagPend
			c.pendSince = now
		}
		if now-c.pendSince < int64(pendWait) {
			return // ask again
		}
	}
	c.flags &^= flagPend
	c.denyUntil.Store(now + min(retry, int64(denyMost)))
	if c.terms.Load() != asked { // looked at last, as Set changes them first: the refusal is by terms that are no more
		c.denyUntil.Store(0)
	}
}

// unseeded asks for the control plane's count of a day, if the ledger lacks it. It reports whether nothing is granted before.
func (n *Core) unseeded(c *Cell, now int64, g *ledger.Grant) bool {
	if s := c.seed.Load(); s != nil && s.sent {
		c.seed.CompareAndSwap(s, nil) // what is newer is reported next
	}
	again := seedAgain
	if g.Wait {
		again = seedRetry
	}
	const unit = 100 * time.Millisecond
	if at := uint32(now/int64(unit)) + 1; g.SeedDay != 0 && (c.seedAskedAt == 0 || at-c.seedAskedAt >= uint32(again/unit)) {
		c.seedAskedAt = at
		if n.ask == nil {
			n.Seed(c, 0)
		} else {
			n.ask(c, g.SeedDay)
		}
	}
	return g.Wait
}

// Recall has the tokens of a limit returned in the next frame.
func (n *Core) Recall(now int64, r ledger.Recall) {
	c := n.byID[r.ID]
	if c == nil || r.Node != n.node || r.Incarnation != n.session.Load().incarnation {
		return
	}
	n.stats.Recalls++
	c.restUntil = now + int64(recallRest)
	if left(c.word.Load()) > 0 && c.waiting.Load() == 0 {
		c.flags |= flagRecalled
		n.mark(c)
		n.urgent.Store(true)
	}
}
