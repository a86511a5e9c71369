package pool

import (
	"context"
	"errors"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// stream is a member's stream that gives back its slot and, while there was no event yet, can be replaced by another's.
type stream struct {
	ctx     context.Context                                           //nolint:containedctx // the lifetime of the call that the stream belongs to
	ask     func(ctx context.Context, id string) (call.Stream, error) // asks one member; nil when no other can be asked any more
	way     way
	grant   grant
	inner   call.Stream // nil when there is none to close
	settled bool        // the attempt's result is known: its first event came, or it failed
}

// OpenWith is Open that knows who asks and fills in the facts, unless they are nil, also when it fails. They may change until Relay returns.
func (p *Pool) OpenWith(ctx context.Context, from From, c *upstream.Chat, f *Facts) (call.Stream, error) {
	return p.DoStream(ctx, from, f, func(ctx context.Context, id string) (call.Stream, error) {
		up, err := p.set.upstream(id)
		if err != nil {
			return nil, Unusable(err)
		}
		return up.Open(ctx, c)
	})
}

// DoStream is Do for a stream: ask opens it at the member of the given ID, once for each attempt. A stream may have the method
// Started() bool; while that is false another member can still be asked. The stream must be closed: it holds its member's slot
// until then.
func (p *Pool) DoStream(
	ctx context.Context, from From, f *Facts, ask func(ctx context.Context, id string) (call.Stream, error),
) (call.Stream, error) {
	s := &stream{ctx: ctx, ask: ask, way: p.way(opOpen, from, f)}
	if err := s.open(s.way.first(ctx)); err != nil {
		return nil, err
	}
	return s, nil
}

// open asks members until one has a stream, beginning with the one given, or returns the error that the call ends with.
func (s *stream) open(g grant, err error) error {
	for err == nil {
		failed := s.attempt(g)
		if failed.err == nil {
			return nil
		}
		g, err = s.way.again(s.ctx, failed)
	}
	return err
}

// attempt asks one member for a stream. One that is silent so far, which it says by Started() == false, is not a result
// yet.
func (s *stream) attempt(g grant) failure {
	f := failure{context.Canceled, failEnded} // should Open panic
	defer func() {
		if f.err != nil {
			g.p.set.settle(g, opOpen, f, g.p.set.now(), true)
		}
	}()
	inner, err := s.ask(s.ctx, g.m.id)
	if f = failureOf(s.ctx, err); f.err != nil {
		return f
	}
	s.inner, s.grant, s.settled = inner, g, false
	silent, tells := inner.(interface{ Started() bool })
	if !tells || silent.Started() {
		s.begin(g.p.set.now())
	}
	if s.settled && tells {
		s.ask = nil // and what it holds of the request, which is given back now
		s.grant.from.Body, s.way.tries.from.Body = nil, nil
	}
	return f
}

// Began reports whether the answer has begun, so that nobody needs the request any more.
func (s *stream) Began() bool { return s.ask == nil }

// begin settles the attempt with its first event, which came at the given time.
func (s *stream) begin(at time.Duration) {
	if !s.settled {
		s.settled = true
		s.grant.p.set.settle(s.grant, opOpen, failure{}, at, false)
	}
}

// Relay implements call.Stream.
func (s *stream) Relay(w *sse.Writer) call.Outcome {
	for {
		out := s.inner.Relay(w)
		if !out.First.IsZero() || out.Err == nil || s.ask == nil {
			s.finish(out)
			return out
		}
		f := failureOf(s.ctx, out.Err)
		if out.End == plane.EndClientGone || out.End == plane.EndRevoked || out.End == plane.EndDrained {
			f.class = failEnded
		}
		s.release(f)
		g, err := s.way.again(s.ctx, f)
		if err == nil {
			err = s.reopen(w, g)
		}
		if err != nil {
			out.Err = err
			if errors.Is(err, call.ErrClientGone) {
				out.End = plane.EndClientGone
			}
			return out
		}
	}
}

// finish learns from a stream that had events, or ended well without any.
func (s *stream) finish(out call.Outcome) {
	set, m := s.grant.p.set, s.grant.m
	at := set.now()
	if !out.First.IsZero() {
		at = out.First.Sub(set.start)
	}
	s.begin(at)
	broken := s.ctx.Err() == nil && (out.End == plane.EndUpstreamCut || out.End == plane.EndDeadline) &&
		harmful(ClassOf(out.Err), out.Err)
	set.mu.Lock()
	switch {
	case broken:
		m.cut(set.now(), &s.grant)
	case out.End == plane.EndDone:
		m.whole(&s.grant)
	}
	set.mu.Unlock()
	if broken && set.observer.Broken != nil {
		set.observer.Broken(s.grant.p.id, m.id)
	}
}

// release closes the member's stream and gives back its slot. A failure without an event counts even when Open took the
// stream for begun, which it does with streams that cannot say.
func (s *stream) release(f failure) {
	if s.inner == nil {
		return
	}
	s.inner.Close()
	s.inner = nil
	s.grant.p.set.settle(s.grant, opOpen, f, s.grant.p.set.now(), true)
}

// Close implements call.Stream.
func (s *stream) Close() {
	if s.inner == nil {
		return
	}
	if !s.settled {
		s.release(failure{context.Canceled, failEnded})
		return
	}
	s.inner.Close()
	s.inner = nil
	set := s.grant.p.set
	set.mu.Lock()
	set.free(s.grant, set.now())
	set.mu.Unlock()
}

// reopen opens another stream for a client that has been kept waiting by comments, and is sent one more: the next silence
// may be as long.
func (s *stream) reopen(w *sse.Writer, g grant) error {
	w.KeepAlive()
	if err := w.Flush(); err != nil {
		g.p.set.settle(g, opOpen, failure{err, failEnded}, g.p.set.now(), true)
		return errors.Join(call.ErrClientGone, err)
	}
	return s.open(g, nil)
}
