package pool

import (
	"context"
	"time"

	"modelgate.internal/shared/plane"
)

// waiter is a call in a queue. The lock of the Set guards it until ready is closed.
type waiter struct {
	next, prev *waiter
	queued     bool
	tries      tries
	ready      chan struct{}
	grant      grant   // when it was served
	verdict    verdict // what stands in its way; when it was refused, why
}

// queue is the waiters in order of arrival.
type queue struct {
	first, last *waiter
	n           int
}

func (q *queue) add(w *waiter) {
	w.prev, w.queued = q.last, true
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.n++
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev, w.queued = nil, nil, false
	q.n--
}

// serve hands out what can be had, in order of arrival, and refuses those who wait for nothing. The lock must be held.
func (p *Pool) serve(now time.Duration) {
	for p.queue.first != nil {
		w := p.queue.first
		v := p.look(p.terms.Load(), &w.tries, now)
		if v.seat == nil && v.wait {
			w.verdict = v
			return
		}
		p.queue.remove(w)
		if v.seat != nil {
			w.grant = p.take(v.seat, now, &w.tries.from)
		}
		w.verdict = v
		close(w.ready)
	}
}

// acquire returns a member for an attempt, at once or after a wait. A failure is the context's cause or one of our errors.
func (p *Pool) acquire(ctx context.Context, tr *tries) (grant, failure) {
	s, t := p.set, p.terms.Load()
	now := s.now()
	s.mu.Lock()
	if tr.n == 0 {
		p.budget.call(t)
	}
	v := verdict{err: ErrBusy, as: plane.FailBusy, wait: true} // for what others before it wait for
	if p.queue.n == 0 {
		v = p.look(t, tr, now)
	}
	if v.seat != nil {
		g := p.take(v.seat, now, &tr.from)
		s.mu.Unlock()
		return g, failure{}
	}
	longest := t.maxWait
	if deadline, ok := ctx.Deadline(); ok {
		longest = min(longest, deadline.Sub(s.start)-now)
	}
	hopeless := v.err == ErrResting && v.wake-now > longest
	if !v.wait || hopeless || p.queue.n >= t.queueLength {
		s.mu.Unlock()
		if v.wait && !hopeless {
			s.observer.waited(p.id, WaitFull, 0)
		}
		return grant{}, v.refusal(now, t)
	}
	w := &waiter{tries: *tr, ready: make(chan struct{}), verdict: v}
	p.queue.add(w)
	next := w.timeout(now, now+longest)
	s.mu.Unlock()
	g, f, waited := p.wait(ctx, w, now, now+longest, next)
	tr.waited += waited
	return g, f
}

// wait returns when the waiter is served or refused, its time is up, or its context ends.
// The first look is due after next.
func (p *Pool) wait(ctx context.Context, w *waiter, began, last, next time.Duration) (grant, failure, time.Duration) {
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		var abandoned error
		select {
		case <-w.ready:
		case <-timer.C:
		case <-ctx.Done():
			abandoned = context.Cause(ctx)
		}
		how, f, now, again := p.woken(w, last, abandoned)
		if how != "" {
			p.set.observer.waited(p.id, how, now-began)
			return w.grant, f, now - began
		}
		timer.Reset(again)
	}
}

// woken decides how a wait goes on: it has ended in the way how, or how is empty and the next look is due after again.
func (p *Pool) woken(w *waiter, last time.Duration, abandoned error) (how string, f failure, now, again time.Duration) {
	s, t := p.set, p.terms.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.now()
	if abandoned == nil {
		p.serve(now) // a member may have come back by itself
	}
	served := !w.queued && w.verdict.seat != nil
	switch {
	case abandoned != nil && served: // what was handed over meanwhile goes to the next
		w.grant.m.unprobe(now, &w.grant)
		s.free(w.grant, now)
		return WaitAbandoned, failure{abandoned, failEnded}, now, 0
	case abandoned != nil:
		if w.queued {
			p.queue.remove(w)
			p.serve(now)
		}
		return WaitAbandoned, failure{abandoned, failEnded}, now, 0
	case served:
		return WaitServed, failure{}, now, 0
	case !w.queued:
		return WaitRefused, w.verdict.refusal(now, t), now, 0
	case now >= last:
		p.queue.remove(w)
		p.serve(now)
		return WaitTimedOut, w.verdict.refusal(now, t), now, 0
	}
	return "", failure{}, now, w.timeout(now, last)
}

// timeout is how long the waiter may sleep. The lock must be held.
func (w *waiter) timeout(now, last time.Duration) time.Duration {
	if wake := w.verdict.wake; wake > now && wake < last {
		return wake - now
	}
	return last - now
}

// refusal is the failure of a call that no member can be had for.
func (v *verdict) refusal(now time.Duration, t *terms) failure {
	after := t.maxWait // by then the queue has been served, or refused in its turn
	if v.wake > now && v.err != ErrBusy {
		after = v.wake - now
	}
	return failure{v.err.After(max(after, refusalAfterMin)), v.as}
}
