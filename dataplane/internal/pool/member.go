package pool

import (
	"hash/maphash"
	"slices"
	"time"

	"modelgate.internal/shared/plane"
)

// member is a server as this node knows it, shared by all pools that name it. The lock of the Set guards it.
type member struct {
	id    string
	spec  plane.UpstreamSpec
	guard guard
	pools []*Pool // that seat it
	gone  bool    // no longer configured; kept while calls run

	inFlight int
	latency  [2]ewma // by op

	// The breaker.
	scope    scope
	era      uint64 // number of its changes; results of calls from an earlier one are not counted
	evidence evidence
	cuts     int                // streams in a row that broke off after their first event
	cutters  [quorum]string     // whose they were, without repetition
	nCutters int                // of them
	until    time.Duration      // while it is open: when a probe is due
	backOff  time.Duration      // between probes
	probing  int                // probes under way
	opinions int                // of this round
	worse    uint64             // the round in which a probe failed last
	blame    plane.FailureClass // of the failure that opened it
	seed     maphash.Seed

	fault plane.FailureClass // of the last answer or failure; "" when it was good

	rest time.Duration // asked for quiet until then

	// Health checks.
	down     bool
	streak   int // answers in a row that contradict down
	due      time.Duration
	checking bool
	shown    State
}

// scope is whom an open breaker stands against.
type scope uint8

const (
	closed  scope = iota
	forSome       // those whose calls failed, because it may be their calls
	forMost       // everybody, but a few others may say what they find
	forAll        // everybody: the evidence needs no witness
)

// standing is what stands against asking a member, the least first.
type standing uint8

const (
	ready   standing = iota
	probe            // the next call decides about the breaker
	full             // all of its concurrency is in use
	resting          // it asked for quiet
	ailing           // its health checks fail
	opinion          // its breaker is open, and what this caller finds would be news
	broken           // its breaker is open
	standings
)

// stands judges the member for a caller. The wake time is when a standing of resting, opinion or broken ends by itself.
func (m *member) stands(now time.Duration, f *From) (s standing, wake time.Duration) {
	against := m.scope != closed && m.against(f)
	news := against && now < m.until && m.news(now, f)
	switch {
	case against && now < m.until && !news:
		return broken, m.until
	case m.down:
		return ailing, 0
	case now < m.rest:
		return resting, m.rest
	case m.full():
		return full, 0
	case news:
		return opinion, m.until
	case against:
		return probe, 0
	}
	return ready, 0
}

func (m *member) full() bool { return m.guard.concurrency > 0 && m.inFlight >= m.guard.concurrency }

// against reports whether the open breaker stands against the caller. One that is open for some lets them ask something else once.
func (m *member) against(f *From) bool {
	if m.scope != forSome {
		return m.scope != closed
	}
	w := m.evidence.know(f.Account)
	return w != nil && w.round == m.evidence.round && (w.several || w.request == m.hash(f))
}

// news reports whether the caller may be asked for an opinion: another one than those of this round, and the second time one
// who has not failed of late, or a few that always fail could take every turn.
func (m *member) news(now time.Duration, f *From) bool {
	if m.scope != forMost || m.opinions >= opinionsMax || m.evidence.marked(f.Account) {
		return false
	}
	w := m.evidence.know(f.Account)
	return m.opinions == 0 || w == nil || !w.hasFailed || now-w.failedAt > m.guard.window+opinionRounds*m.backOff
}

// reset closes the breaker.
func (m *member) reset() {
	m.scope = closed
	m.era++
	m.probing, m.cuts, m.nCutters = 0, 0, 0
	m.evidence.renew()
}

// trip opens the breaker, or keeps it open.
func (m *member) trip(now time.Duration, class plane.FailureClass, s scope) {
	if m.scope != closed {
		m.backOff = min(2*m.backOff, m.guard.backOffMax)
	} else {
		m.backOff = m.guard.backOff
	}
	m.scope = s
	m.era++
	m.probing, m.opinions, m.cuts, m.nCutters = 0, 0, 0, 0
	m.until = max(now+m.backOff, m.rest)
	m.blame = class
}

// succeeded counts an answer of a call that began in the given era.
func (m *member) succeeded(now time.Duration, g *grant) {
	if g.era != m.era {
		return
	}
	switch {
	case m.scope != closed:
		m.reset()
	case m.evidence.failures > 0:
		m.evidence.renew()
	}
	if m.evidence.succeed(now, m.guard.window) {
		m.evidence.please(m.evidence.hear(g.from.Account, now, m.guard.window), m.hash(&g.from))
	}
}

// answered counts an answer that is neither good nor bad. It shows that the server can be reached, and no more.
func (m *member) answered(now time.Duration, g *grant) {
	if g.era == m.era && g.probe && m.blame == plane.FailConnect {
		m.reset()
		return
	}
	m.unprobe(now, g)
}

// failed counts a failure. One that is certain cannot be a request's fault.
func (m *member) failed(now time.Duration, g *grant, class plane.FailureClass, certain bool) {
	if g.era != m.era || m.guard.failures == 0 {
		return
	}
	e, window := &m.evidence, m.guard.window
	if certain {
		if g.probe {
			m.trip(now, class, forAll)
			return
		}
		m.count(now, class, nil, &g.from)
		return
	}
	w := e.hear(g.from.Account, now, window)
	believed := e.fail(w, now, window)
	switch {
	case g.probe:
		m.probing--
		m.worsen(now, class)
	case believed:
		m.count(now, class, w, &g.from)
	}
	if m.scope == closed && e.rife(now, window) {
		m.trip(now, class, e.reach())
	}
}

// count adds a failure that is believed to the row. One that is certain has no witness.
func (m *member) count(now time.Duration, class plane.FailureClass, w *witness, f *From) {
	e, window := &m.evidence, m.guard.window
	stale := now-e.since > window && (m.scope == closed || now-m.until > window)
	if stale && m.scope != closed {
		m.reset()
	}
	if stale || e.failures == 0 && m.scope == closed {
		e.renew()
		e.since = now
	}
	e.failures++
	if w == nil {
		e.certain++
	} else {
		e.mark(w, m.hash(f))
	}
	reach := e.reach()
	if e.certain >= m.guard.failures {
		reach = forAll
	}
	switch {
	case m.scope == closed && e.failures >= m.guard.failures:
		m.trip(now, class, reach)
	case m.scope != closed && m.scope < reach: // others find the same
		m.scope = reach
		m.opinions = 0
		m.until = max(now+m.backOff, m.rest)
	}
}

// worsen keeps the breaker open after a probe that failed in doubt. The others of the same round may still find that the server
// is well.
func (m *member) worsen(now time.Duration, class plane.FailureClass) {
	m.blame = class
	if m.worse == m.evidence.round {
		return
	}
	m.worse = m.evidence.round
	m.backOff = min(2*m.backOff, m.guard.backOffMax)
	m.until = max(now+m.backOff, m.rest)
}

// cut counts a stream that broke off after its first event.
func (m *member) cut(now time.Duration, g *grant) {
	if g.era != m.era || m.guard.failures == 0 {
		return
	}
	if n := m.nCutters; n < quorum && !slices.Contains(m.cutters[:n], g.from.Account) {
		m.cutters[n] = g.from.Account
		m.nCutters++
	}
	if m.cuts++; m.cuts < m.guard.failures {
		return
	}
	m.evidence.renew()
	for _, account := range m.cutters[:m.nCutters] {
		w := m.evidence.hear(account, now, m.guard.window)
		m.evidence.mark(w, 0)
		w.several = true // whatever it asks
	}
	m.trip(now, plane.FailServerError, m.evidence.reach())
}

// whole counts a stream that ended well.
func (m *member) whole(g *grant) {
	if g.era == m.era {
		m.cuts, m.nCutters = 0, 0
	}
}

// ask makes the call that is about to be made a probe. When it is due, a round begins: until the back-off has passed only a few
// other callers are asked. The next round comes although the last has decided nothing, since a call may take long to show how
// it goes; the back-off doubles then, too.
func (m *member) ask(now time.Duration, f *From) {
	w := m.evidence.hear(f.Account, now, m.guard.window)
	several := w.several && w.round == m.evidence.round
	if now >= m.until {
		if m.probing > 0 {
			m.backOff = min(2*m.backOff, m.guard.backOffMax)
		}
		m.evidence.renew()
		m.opinions, m.until = 0, now+m.backOff
	} else {
		m.opinions++
	}
	m.probing++
	m.evidence.mark(w, m.hash(f))
	w.several = w.several || several
}

// unprobe takes back a probe that decided nothing.
func (m *member) unprobe(now time.Duration, g *grant) {
	if g.era != m.era || !g.probe {
		return
	}
	m.probing--
	if m.probing == 0 && m.worse != m.evidence.round {
		m.until = max(now, m.rest)
	}
}

// quiet keeps the member out for as long as it asked.
func (m *member) quiet(now, after time.Duration) {
	if after <= 0 {
		return
	}
	m.rest = max(m.rest, now+min(after, restMax))
	if m.scope != closed {
		m.until = max(m.until, m.rest)
	}
}

// checked counts the answer of a health check.
func (m *member) checked(now time.Duration, well bool) {
	if well && m.scope != closed && m.probing == 0 {
		m.until = min(m.until, now) // probe at once
	}
	if well != m.down {
		m.streak = 0
		return
	}
	m.streak++
	if well && m.streak >= m.guard.up || !well && m.streak >= m.guard.down {
		m.down, m.streak = !well, 0
	}
}

// forget drops what was learned about another server, but not the calls that run.
func (m *member) forget() {
	m.reset()
	m.evidence = evidence{round: m.evidence.round}
	m.latency = [2]ewma{}
	m.fault = ""
	m.rest, m.down, m.streak, m.due = 0, false, 0, 0
}

// stateFor is the member's standing as a caller meets it.
func (m *member) stateFor(now time.Duration, f *From) State {
	if m.scope != closed && !m.against(f) && !m.down && now >= m.rest {
		return StateUp
	}
	return m.state(now)
}

// state is the member's standing for people.
func (m *member) state(now time.Duration) State {
	switch {
	case m.scope != closed && m.probing == 0 && now < m.until:
		return StateOpen
	case m.down:
		return StateDown
	case now < m.rest:
		return StateResting
	case m.scope != closed:
		return StateProbing
	}
	return StateUp
}
