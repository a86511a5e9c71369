package ledger

import "slices"

// wheel looks at every account now and then, so that idle ones go and lost sessions are let go of. What is due is looked at in
// the order of (tick, ID), and nothing is added to a tick that has come, so the order does not depend on history.
type wheel struct {
	ticks  map[uint32][]*account
	cursor uint32 // the tick that is being worked off
	sorted bool   // the cursor's accounts are in order, from the last one down
}

func (w *wheel) add(a *account, tick uint32) {
	a.due = tick
	w.ticks[tick] = append(w.ticks[tick], a)
}

func (s *State) tick() uint32 { return uint32(s.now / wheelTickMS) }

// restTicks is how long an account in use is left alone.
func (s *State) restTicks() uint32 { return uint32(max(2, s.policy.WindowMS/4/wheelTickMS)) }

// collect works off what is due, at most collectPerEntryMax accounts.
func (s *State) collect() {
	w := &s.wheel
	if len(s.slab) == 0 || w.cursor > s.tick() {
		return
	}
	s.collectNodes()
	for budget := collectPerEntryMax; w.cursor <= s.tick() && budget > 0; budget-- {
		due := w.ticks[w.cursor]
		if !w.sorted {
			slices.SortFunc(due, func(a, b *account) int { return b.id.Compare(a.id) })
			w.sorted = true
		}
		for len(due) > 0 && budget > 0 {
			budget--
			a := due[len(due)-1]
			due = due[:len(due)-1]
			s.visit(a)
		}
		if len(due) > 0 {
			w.ticks[w.cursor] = due
			return
		}
		delete(w.ticks, w.cursor)
		w.cursor++
		w.sorted = false
	}
}

// collectNodes drops forgotten nodes whose last session is over.
func (s *State) collectNodes() {
	for _, x := range s.nodes {
		if x.forgotten {
			s.release(x)
		}
	}
}

// visit drops an account that counts nothing, or sets its next visit.
func (s *State) visit(a *account) {
	s.own(a)
	a.advance(s)
	if a.empty() {
		s.remove(a)
		return
	}
	next := s.tick() + s.restTicks()
	if len(a.holders) == 0 && !a.id.Kind.Daily() {
		next = s.tick() + 1 + uint32(a.releaseMS(s, a.slots[len(a.slots)-1].at)/wheelTickMS)
	}
	s.wheel.add(a, next)
}
