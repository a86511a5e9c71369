package pool

import (
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// What a call is told when no member may be asked. They are sentinels; the answers carry a Retry-After.
var (
	// ErrBusy means that every member is at its cap, or the queue is full or too slow.
	ErrBusy = apierr.New(apierr.Unavailable, "The model servers are busy. Try again after the time in Retry-After.")
	// ErrBroken means that every breaker is open.
	ErrBroken = apierr.New(apierr.Unavailable,
		"The model servers keep failing and are not asked for the moment. Try again after the time in Retry-After.")
	// ErrResting means that the members asked for fewer requests.
	ErrResting = apierr.New(apierr.Limited, "The model servers asked for fewer requests. Try again after the time in Retry-After.")
	// ErrEmpty means that the pool has no members.
	ErrEmpty = apierr.New(apierr.Unavailable, "No model server is configured for this any more.")
)

// grant is a member's slot, taken for one attempt.
type grant struct {
	m     *member
	p     *Pool
	from  From
	era   uint64
	probe bool
	panic bool // its health checks fail
	at    time.Duration
}

// verdict is what came of looking for a member: one to ask, or why there is none now.
type verdict struct {
	seat *seat
	err  *apierr.Error      // why there is none; a sentinel
	as   plane.FailureClass // what a fallback makes of err
	wait bool               // one may become free
	wake time.Duration      // when one comes back by itself; 0 when that is not known
}

// look judges all members for an attempt. The lock of the Set must be held.
func (p *Pool) look(t *terms, tr *tries, now time.Duration) verdict {
	if len(p.seats) == 0 {
		return verdict{err: ErrEmpty, as: plane.FailBusy}
	}
	if t.concurrency > 0 && p.inFlight >= t.concurrency {
		return verdict{err: ErrBusy, as: plane.FailBusy, wait: true}
	}
	if len(p.seats) == 1 { // the usual pool, in its usual state
		if st, _ := p.seats[0].m.stands(now, &tr.from); st == ready && !tr.settled(p.seats[0].m) {
			return verdict{seat: p.seats[0]}
		}
	}
	sv := p.survey(tr, now)
	d := draw{now, tr.op, p.set.rand}
	switch {
	case sv.due != nil && tr.n == 0: // a later attempt is better off with a server that works
		return verdict{seat: sv.due}
	case len(p.usable[fresh]) > 0:
		return verdict{seat: t.policy.choose(p.usable[fresh], d)}
	case sv.due != nil:
		return verdict{seat: sv.due}
	case len(p.usable[tried]) > 0:
		return verdict{seat: t.policy.choose(p.usable[tried], d)}
	case sv.news != nil:
		return verdict{seat: sv.news}
	}
	v := p.obstacle(&sv)
	soon := sv.counts[full] > 0 || sv.counts[resting] > 0 && v.wake-now <= t.maxWait
	if len(p.usable[lastResort]) > 0 && !soon {
		return verdict{seat: t.policy.choose(p.usable[lastResort], d)}
	}
	return v
}

// The seats that a survey finds usable, by group.
const (
	fresh      = iota // not tried by this call
	tried             // tried by it
	lastResort        // only their health checks fail
	groups
)

// survey is where the members stand for an attempt. The usable ones are in the pool's scratch.
type survey struct {
	counts [standings]int
	wakes  [standings]time.Duration // the earliest
	due    *seat                    // for a probe
	news   *seat                    // for an opinion
}

func (p *Pool) survey(tr *tries, now time.Duration) (sv survey) {
	for i := range p.usable {
		p.usable[i] = p.usable[i][:0]
	}
	for _, x := range p.seats {
		st, wake := x.m.stands(now, &tr.from)
		sv.counts[st]++
		if wake > 0 && (sv.wakes[st] == 0 || wake < sv.wakes[st]) {
			sv.wakes[st] = wake
		}
		switch {
		case st == ready && tr.settled(x.m):
		case st == ready && !tr.have(x.m):
			p.usable[fresh] = append(p.usable[fresh], x)
		case st == ready:
			p.usable[tried] = append(p.usable[tried], x)
		case st == probe && sv.due == nil:
			sv.due = x
		case st == opinion && sv.news == nil:
			sv.news = x
		case st == ailing && !x.m.full() && now >= x.m.rest:
			p.usable[lastResort] = append(p.usable[lastResort], x)
		}
	}
	return sv
}

// obstacle says why no member can be asked.
func (p *Pool) obstacle(sv *survey) verdict {
	wake := sv.wakes[resting]
	if probe := sv.wakes[broken]; wake == 0 || probe > 0 && probe < wake {
		wake = probe
	}
	switch {
	case sv.counts[full] > 0:
		return verdict{err: ErrBusy, as: plane.FailBusy, wait: true, wake: wake}
	case sv.counts[resting] > 0:
		return verdict{err: ErrResting, as: plane.FailRateLimited, wait: true, wake: wake}
	case sv.counts[ailing] > 0: // and, if it is no last resort, full or resting besides
		return verdict{err: ErrBusy, as: plane.FailBusy, wait: true, wake: wake}
	}
	v := verdict{err: ErrBroken, as: plane.FailServerError, wake: sv.wakes[broken]}
	for _, x := range p.seats {
		if x.m.scope != closed && x.m.until == v.wake {
			v.as = x.m.blame
		}
	}
	return v
}

// prospects says whether a further attempt has a member to go to, or one to wait for that may come in time, and whether it
// would go to one that this call did not try yet, or wait anyway, so that no pause is needed.
func (p *Pool) prospects(t *terms, tr *tries, now time.Duration) (possible, elsewhere bool) {
	sv := p.survey(tr, now)
	switch {
	case len(p.usable[fresh]) > 0 || sv.due != nil:
		return true, true
	case len(p.usable[tried]) > 0:
		return true, false
	case sv.news != nil:
		return true, true
	case sv.counts[full] > 0:
		return true, true
	case sv.counts[resting] > 0 && sv.wakes[resting]-now <= t.maxWait:
		return true, true
	}
	return len(p.usable[lastResort]) > 0, false
}

// take gives out a slot of the member. The lock of the Set must be held.
func (p *Pool) take(x *seat, now time.Duration, f *From) grant {
	m := x.m
	g := grant{m: m, p: p, from: *f, era: m.era, probe: m.scope != closed && m.against(f), panic: m.down, at: now}
	m.inFlight++
	p.inFlight++
	if g.probe {
		m.ask(now, f)
		p.set.show(m, now)
	}
	return g
}

// free takes the slot back and hands it on. The lock of the Set must be held.
func (s *Set) free(g grant, now time.Duration) {
	m := g.m
	m.inFlight--
	g.p.inFlight--
	s.show(m, now)
	if m.gone && m.inFlight == 0 && s.members[m.id] == m {
		delete(s.members, m.id)
	}
	m.wakePools(now)
	g.p.serve(now) // its own cap, should it not seat the member any more
}

// wakePools serves the queues of all pools that seat the member.
func (m *member) wakePools(now time.Duration) {
	for _, p := range m.pools {
		p.serve(now)
	}
}
