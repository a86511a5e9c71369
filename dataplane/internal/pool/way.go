package pool

import (
	"cmp"
	"context"
	"slices"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// failure is why an attempt, or the search for a member, brought nothing. The zero value means that it did.
type failure struct {
	err   error
	class plane.FailureClass
}

// failureOf classifies what an attempt returned.
func failureOf(ctx context.Context, err error) failure {
	switch {
	case err == nil:
		return failure{}
	case ctx.Err() != nil:
		return failure{err, failEnded}
	}
	return failure{err, ClassOf(err)}
}

// result is the observer's word for it.
func (f failure) result() string {
	if f.err == nil {
		return ResultOK
	}
	return string(f.class)
}

// tries are a call's attempts in one pool.
type tries struct {
	op     op
	from   From
	n      int
	whom   [plane.PoolAttemptsMax]*member
	said   [plane.PoolAttemptsMax]bool // the server answered with an error of its own
	waited time.Duration
}

// have reports whether the member was tried.
func (t *tries) have(m *member) bool { return slices.Contains(t.whom[:t.n], m) }

// settled reports whether the member has answered twice with an error of its own, as it would a third time.
func (t *tries) settled(m *member) bool {
	times := 0
	for i, tried := range t.whom[:t.n] {
		if tried == m && t.said[i] {
			times++
		}
	}
	return times >= saidMax
}

// way is a call's way through its pools: first the one it asked, then the fallbacks. Whole answers, streams and streams that
// are opened anew take the same one.
type way struct {
	start *Pool
	pool  *Pool // now
	next  int   // of the start's fallbacks
	tries tries
	facts *Facts
	last  failure
}

func (p *Pool) way(o op, from From, f *Facts) way {
	return way{start: p, pool: p, tries: tries{op: o, from: from}, facts: f}
}

// first returns the first member to ask, or the error that the call ends with.
func (w *way) first(ctx context.Context) (grant, error) {
	for {
		g, f := w.pool.acquire(ctx, &w.tries)
		if w.facts != nil {
			w.facts.Queued += w.tries.waited
			w.tries.waited = 0
		}
		if f.err == nil {
			w.note(g)
			return g, nil
		}
		if f.class == failEnded || w.tries.n == 0 { // else what the servers said tells more than that there is no other
			w.last = f
		}
		if !w.turn() {
			return grant{}, w.last.err
		}
	}
}

// again returns the next member to ask after an attempt failed, or the error that the call ends with.
func (w *way) again(ctx context.Context, f failure) (grant, error) {
	w.last = f
	w.tries.said[w.tries.n-1] = said(f.class, f.err)
	switch {
	case w.mayRetry(ctx):
	case !w.turn():
		return grant{}, w.last.err
	}
	if ctx.Err() != nil {
		return grant{}, w.last.err
	}
	return w.first(ctx)
}

// note records that a member is about to be asked.
func (w *way) note(g grant) {
	w.tries.whom[w.tries.n] = g.m
	w.tries.n++
	if w.facts != nil {
		w.facts.Pool, w.facts.Upstream = g.p.id, g.m.id
		w.facts.Attempts++
	}
	if o := &w.pool.set.observer; g.panic && o.Panic != nil {
		o.Panic(g.p.id, g.m.id)
	}
}

// mayRetry decides on another attempt in the same pool, and pauses before it if it would go to the same member.
func (w *way) mayRetry(ctx context.Context) bool {
	p, t := w.pool, w.pool.terms.Load()
	if !retryable(w.last.class, w.last.err) {
		return false
	}
	if w.tries.n >= t.attempts {
		if t.attempts > 1 {
			p.set.observer.held(p.id, HeldAttempts)
		}
		return false
	}
	s := p.set
	s.mu.Lock()
	now := s.now()
	possible, elsewhere := p.prospects(t, &w.tries, now)
	possible = possible && (elsewhere || !onlyElsewhere(w.last.class))
	paid := possible && p.budget.take(now, t)
	pause := min(retryPauseFirst<<(w.tries.n-1), retryPauseMax)
	pause = pause/2 + time.Duration(s.rand.Int64N(int64(pause/2))) // so that calls which failed together do not return together
	s.mu.Unlock()
	if possible && !paid {
		s.observer.held(p.id, HeldBudget)
	}
	if !paid || elsewhere {
		return paid
	}
	return w.pause(ctx, pause)
}

// pause waits, unless the context's deadline comes first.
func (w *way) pause(ctx context.Context, d time.Duration) bool {
	s := w.pool.set
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(s.start)-s.now() <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		w.tries.waited += d
		return true
	case <-ctx.Done():
		return false
	}
}

// turn goes on to the next fallback for the latest failure.
func (w *way) turn() bool {
	if w.last.class == failEnded || w.last.class == failRejected || spent(w.last.err) {
		return false
	}
	fallbacks := w.start.terms.Load().fallbacks
	for w.next < len(fallbacks) {
		f := fallbacks[w.next]
		w.next++
		if len(f.on) > 0 && !slices.Contains(f.on, w.last.class) {
			continue
		}
		w.pool, w.tries = f.pool, tries{op: w.tries.op, from: w.tries.from, waited: w.tries.waited}
		if w.facts != nil {
			w.facts.Fallbacks++
		}
		if o := &w.start.set.observer; o.Fallback != nil {
			o.Fallback(w.start.id, f.pool.id, w.last.class)
		}
		return true
	}
	return false
}

// settle learns from the end of an attempt, or from the first event of a stream, which keeps its slot, at
// the given time.
func (s *Set) settle(g grant, o op, f failure, now time.Duration, release bool) {
	s.mu.Lock()
	m, took := g.m, now-g.at
	if f.class != failEnded && f.class != failRejected {
		m.fault = f.class
	}
	switch {
	case f.err == nil:
		m.succeeded(now, &g)
		m.latency[o].observe(now, took)
	case harmful(f.class, f.err):
		if f.class == plane.FailServerError {
			m.quiet(now, restOf(f.err))
		}
		m.failed(now, &g, f.class, certain(f.class, f.err))
		m.latency[o].failed(now, took)
	case f.class == plane.FailRateLimited:
		m.quiet(now, cmp.Or(apierr.From(f.err).RetryAfter, restDefault))
		m.answered(now, &g)
	case f.class == failRejected, provoked(f.err):
		m.answered(now, &g)
	default:
		m.unprobe(now, &g)
	}
	if release {
		s.free(g, now)
	} else {
		s.show(m, now)
		m.wakePools(now)
	}
	s.mu.Unlock()
	s.observer.attempt(g.p.id, m.id, f.result(), took)
}
