package ledger

import (
	"container/heap"
	"slices"
)

// wheel looks at every account now and then, so that idle ones go and lost sessions are let go of. What is due is looked at in
// the order of (tick, ID), and nothing is added to a tick that has come, so the order does not depend on history.
type wheel struct {
	ticks  map[uint32]*due
	cursor uint32 // the tick that is being worked off
}

// due are the accounts of a tick. They are sorted in runs as they come and merged as they are looked at, since sorting all of them would hold
// up the entry that happens to be the first of its tick.
type due struct {
	runs   runs
	newest []*account // not sorted yet
	opened bool       // the tick has come, and nothing is added any more
}

// runs are accounts in order, from the last one down; a heap by their first ones once their tick has come.
type runs [][]*account

func (r runs) Len() int           { return len(r) }
func (r runs) Less(i, j int) bool { return r[i][len(r[i])-1].id.Compare(r[j][len(r[j])-1].id) < 0 }
func (r runs) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *runs) Push(x any)        { *r = append(*r, x.([]*account)) }
func (r *runs) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

func (w *wheel) add(a *account, tick uint32) {
	a.due = tick
	d := w.ticks[tick]
	if d == nil {
		d = &due{}
		w.ticks[tick] = d
	}
	if d.newest = append(d.newest, a); len(d.newest) == runAccounts {
		d.seal()
	}
}

// seal sorts the newest accounts.
func (d *due) seal() {
	if len(d.newest) == 0 {
		return
	}
	slices.SortFunc(d.newest, func(a, b *account) int { return b.id.Compare(a.id) })
	d.runs = append(d.runs, d.newest)
	d.newest = nil
}

func (d *due) empty() bool { return len(d.runs) == 0 && len(d.newest) == 0 }

// next takes the next account out. There must be one.
func (d *due) next() *account {
	if !d.opened {
		d.opened = true
		d.seal()
		heap.Init(&d.runs)
	}
	first := d.runs[0]
	a := first[len(first)-1]
	if d.runs[0] = first[:len(first)-1]; len(d.runs[0]) > 0 {
		heap.Fix(&d.runs, 0)
	} else {
		heap.Pop(&d.runs)
	}
	return a
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
		if d := w.ticks[w.cursor]; d != nil {
			for ; budget > 0 && !d.empty(); budget-- {
				s.visit(d.next())
			}
			if !d.empty() {
				return
			}
			delete(w.ticks, w.cursor)
		}
		w.cursor++
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
