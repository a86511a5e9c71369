package pool

import (
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
	tripped  bool   // open, and once until has passed half open
	era      uint64 // number of its changes; results of calls from an earlier one are not counted
	failures int    // in a row
	cuts     int    // streams in a row that broke off after their first event
	since    time.Duration
	until    time.Duration      // while tripped: when a probe is due
	backOff  time.Duration      // between probes
	probing  bool               // a probe is under way
	blame    plane.FailureClass // of the failure that opened it

	fault plane.FailureClass // of the last answer or failure; "" when it was good

	rest time.Duration // asked for quiet until then

	// Health checks.
	down     bool
	streak   int // answers in a row that contradict down
	due      time.Duration
	checking bool
	shown    State
}

// standing is what stands against asking a member, the least first.
type standing uint8

const (
	ready   standing = iota
	probe            // the next call decides about the breaker
	full             // all of its concurrency is in use
	resting          // it asked for quiet
	ailing           // its health checks fail
	broken           // its breaker is open
	standings
)

// stands judges the member. The wake time is when a standing of resting or broken ends by itself.
func (m *member) stands(now time.Duration) (s standing, wake time.Duration) {
	switch {
	case m.tripped && now < m.until:
		return broken, m.until
	case m.down:
		return ailing, 0
	case now < m.rest:
		return resting, m.rest
	case m.full():
		return full, 0
	case m.tripped:
		return probe, 0
	}
	return ready, 0
}

func (m *member) full() bool { return m.guard.concurrency > 0 && m.inFlight >= m.guard.concurrency }

// set opens or closes the breaker.
func (m *member) set(tripped bool) {
	m.tripped = tripped
	m.era++
	m.failures, m.cuts, m.probing = 0, 0, false
}

// trip opens the breaker at a failure.
func (m *member) trip(now time.Duration, class plane.FailureClass) {
	if m.tripped {
		m.backOff = min(2*m.backOff, m.guard.backOffMax)
	} else {
		m.backOff = m.guard.backOff
	}
	m.set(true)
	m.until = max(now+m.backOff, m.rest)
	m.blame = class
}

// succeeded counts an answer of a call that began in the given era.
func (m *member) succeeded(g grant) {
	if g.era != m.era {
		return
	}
	m.failures = 0
	if g.probe {
		m.set(false)
	}
}

// answered counts an answer that is neither good nor bad: the server is there.
func (m *member) answered(g grant) {
	if g.era == m.era && g.probe {
		m.set(false)
	}
}

// failed counts a failure.
func (m *member) failed(now time.Duration, g grant, class plane.FailureClass) {
	if g.era != m.era || m.guard.failures == 0 {
		return
	}
	if g.probe {
		m.trip(now, class)
		return
	}
	if m.failures == 0 || now-m.since > m.guard.window {
		m.failures, m.since = 0, now
	}
	if m.failures++; m.failures >= m.guard.failures {
		m.trip(now, class)
	}
}

// cut counts a stream that broke off after its first event.
func (m *member) cut(now time.Duration, g grant) {
	if g.era != m.era || m.guard.failures == 0 {
		return
	}
	if m.cuts++; m.cuts >= m.guard.failures {
		m.trip(now, plane.FailServerError)
	}
}

// whole counts a stream that ended well.
func (m *member) whole(g grant) {
	if g.era == m.era {
		m.cuts = 0
	}
}

// ask makes the call that is about to be made a probe. Another one follows when it has decided nothing for the back-off,
// which then doubles, too: a call may take long to show how it goes.
func (m *member) ask(now time.Duration) {
	if m.probing {
		m.backOff = min(2*m.backOff, m.guard.backOffMax)
	}
	m.probing = true
	m.until = now + m.backOff
}

// unprobe takes back a probe that decided nothing.
func (m *member) unprobe(now time.Duration, g grant) {
	if g.era == m.era && g.probe {
		m.probing = false
		m.until = max(now, m.rest)
	}
}

// quiet keeps the member out for as long as it asked.
func (m *member) quiet(now, after time.Duration) {
	m.rest = max(m.rest, now+min(after, restMax))
	if m.tripped {
		m.until = max(m.until, m.rest)
	}
}

// checked counts the answer of a health check.
func (m *member) checked(now time.Duration, well bool) {
	if well && m.tripped && !m.probing {
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
	m.set(false)
	m.latency = [2]ewma{}
	m.fault = ""
	m.rest, m.down, m.streak, m.due = 0, false, 0, 0
}

// state is the member's standing for people.
func (m *member) state(now time.Duration) State {
	switch {
	case m.tripped && !m.probing && now < m.until:
		return StateOpen
	case m.down:
		return StateDown
	case now < m.rest:
		return StateResting
	case m.tripped:
		return StateProbing
	}
	return StateUp
}
