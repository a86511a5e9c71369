package ledger

import "slices"

// account is the state of one limit. counted = settled + outstanding tokens never exceed the limit by a grant.
type account struct {
	id          ID
	class       Class
	index       uint32 // in the slab
	gen         uint32 // newest capture that has it
	due         uint32 // wheel tick at which it is looked at
	day         uint32 // of the daily kinds: UTC day of settled
	recalled    uint32 // low bits of the time of the newest recall
	seeds       uint32 // of the state, when the control plane's count was last taken in
	seen        uint64 // config version of class
	settled     int64
	outstanding int64
	slots       []slot // of the other kinds: what settled consists of, oldest first
	holders     []holder
}

// slot are tokens that were settled in one slot of the ledger clock: 1/240 of the window. Numbers of slots wrap at 32 bits, so
// they are compared by difference; an account is looked at far more often than they wrap.
type slot struct {
	at    uint32
	count uint32
}

// holder is what a session holds of a limit.
type holder struct {
	session     *session
	used, void  int64  // counters of the newest record
	outstanding uint32 // granted and neither used nor void
	asked       uint32 // low bits of the time of the newest record
}

func (h *holder) granted() int64 { return h.used + h.void + int64(h.outstanding) }

func (a *account) counted() int64 { return a.settled + a.outstanding }

func (a *account) empty() bool { return a.settled == 0 && len(a.holders) == 0 }

// window is how long a settled token counts, in milliseconds. In-flight tokens are settled only when a session is lost.
func (a *account) window(p *Policy) int64 {
	if a.id.Kind.InFlight() {
		return p.RequestMS
	}
	return p.WindowMS
}

func (a *account) slotMS(p *Policy) int64 { return max(1, a.window(p)/slotsPerWindow) }

// horizon is the first slot that still counts: a slot counts until its end is one window and the guard ago.
func (a *account) horizon(s *State) int64 {
	if s.mutant.NoGuard {
		return (s.now-a.window(&s.policy))/a.slotMS(&s.policy) + 1
	}
	return (s.now - a.window(&s.policy) - s.policy.GuardMS) / a.slotMS(&s.policy)
}

// releaseMS returns how long from now the slot counts.
func (a *account) releaseMS(s *State, at uint32) int64 {
	slots := int64(int32(at-uint32(a.horizon(s)))) + 1 // the horizon must move past the slot
	step := a.slotMS(&s.policy)
	into := (s.now - a.window(&s.policy) - s.policy.GuardMS) % step
	return max(0, slots*step-into)
}

// advance brings the account to the time of the state: old slots stop counting, tokens of ended sessions are settled.
func (a *account) advance(s *State) {
	if a.id.Kind.Daily() {
		if today := uint32(s.now / dayMS); today != a.day {
			a.day, a.settled = today, 0
		}
	} else {
		a.prune(s)
	}
	kept := a.holders[:0]
	for _, h := range a.holders {
		end := h.session.end(&s.policy)
		switch {
		case s.now >= end:
			a.outstanding -= int64(h.outstanding)
			if !s.mutant.FreeOnExpiry {
				a.settle(s, int64(h.outstanding), end)
			}
			s.unhold(h.session)
		case h.outstanding == 0 && uint32(s.now)-h.asked > holderIdleMS:
			s.unhold(h.session)
		default:
			kept = append(kept, h)
		}
	}
	clear(a.holders[len(kept):])
	a.holders = kept
	if len(kept) == 0 {
		a.holders = nil
	}
}

func (a *account) prune(s *State) {
	horizon := a.horizon(s)
	n := 0
	for n < len(a.slots) {
		old := int32(a.slots[n].at-uint32(horizon)) < 0
		if s.mutant.NarrowSlots {
			old = int64(int32(a.slots[n].at)) < horizon
		}
		if !old {
			break
		}
		a.settled -= int64(a.slots[n].count)
		n++
	}
	switch {
	case n == len(a.slots):
		a.slots = nil
	case n > 0:
		a.slots = slices.Delete(a.slots, 0, n)
	}
}

// settle counts n tokens from the time at, which is never earlier than their use, until one window later.
func (a *account) settle(s *State, n, at int64) {
	if n == 0 {
		return
	}
	if a.id.Kind.Daily() {
		if uint32(at/dayMS) == a.day {
			a.settled += n
		}
		return
	}
	number := at / a.slotMS(&s.policy)
	if number < a.horizon(s) && !s.mutant.NarrowSlots {
		return
	}
	a.settled += n
	i := len(a.slots)
	for i > 0 && int32(a.slots[i-1].at-uint32(number)) > 0 {
		i--
	}
	if i > 0 && a.slots[i-1].at == uint32(number) {
		a.slots[i-1].count += uint32(n)
		return
	}
	a.slots = slices.Insert(a.slots, i, slot{uint32(number), uint32(n)})
}

// holder returns the holder of the session, made from the counters of its record if there is none: it then holds nothing.
func (a *account) holder(x *session, r *Record) *holder {
	for i := range a.holders {
		if a.holders[i].session == x {
			return &a.holders[i]
		}
	}
	x.refs++
	if n := len(a.holders); n == cap(a.holders) && n < holdersExact {
		a.holders = append(make([]holder, 0, n+1), a.holders...) // most limits have few, and there are many limits
	}
	a.holders = append(a.holders, holder{session: x, used: r.Used, void: r.Void})
	return &a.holders[len(a.holders)-1]
}
