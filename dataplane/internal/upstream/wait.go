package upstream

import (
	"errors"
	"io"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
)

// more waits until more of the answer has arrived, or its body has ended. It returns errQuiet when the client has heard
// nothing for the keep-alive interval, and a fault when a deadline has passed.
func (t *stream) more() error {
	if t.fresh {
		t.fresh, t.last = false, t.server.now()
	}
	for {
		limit, awaited := t.limit()
		until, quiet := limit, false
		if talk := t.wrote.Add(t.server.keepAlive); t.server.keepAlive > 0 && talk.Before(limit) {
			until, quiet = talk, true
		}
		// A deadline that is too early is found out when it passes. Most never do, because an event comes.
		if t.armed.IsZero() || until.Before(t.armed) {
			t.armed = until
		}
		err := t.receive()
		if err == nil {
			return nil
		}
		e, ok := errors.AsType[*transport.Error](err)
		timeout := ok && e.Timeout()
		if timeout {
			t.armed = time.Time{}
		}
		switch {
		case timeout && t.server.now().Before(until):
		case timeout && quiet:
			return errQuiet
		case t.ctx.Err() == nil && !t.finished.IsZero() && (ok || timeout): // only the end is missing, the text is complete
			t.done = true
			return nil
		case timeout:
			return t.late(awaited)
		default:
			return err
		}
	}
}

// phase is what a stream waits for.
type phase uint8

const (
	forHead phase = iota
	forFirst
	forNext
	forEnd
	forAnything // the whole call has a limit, too
)

// limit returns when the upstream must have sent something, and what that is.
func (t *stream) limit() (limit time.Time, awaited phase) {
	limits := &t.server.timeouts
	switch {
	case t.conn.Head.Status == 0:
		limit, awaited = t.conn.HeadLimit(), forHead
	case !t.finished.IsZero():
		limit, awaited = t.finished.Add(tailWait), forEnd
	case t.last.IsZero():
		limit, awaited = t.headAt.Add(limits.First), forFirst
	default:
		limit, awaited = t.last.Add(limits.Idle), forNext
	}
	if total := t.began.Add(limits.Total); total.Before(limit) {
		return total, forAnything
	}
	return limit, awaited
}

// late is the fault of having waited too long.
func (t *stream) late(awaited phase) error {
	s := t.server
	switch awaited {
	case forHead:
		return s.late("did not begin to answer", s.timeouts.Head)
	case forFirst:
		return s.late("did not send a first event", s.timeouts.First)
	case forNext:
		return s.late("went silent in the middle of its answer and did not go on", s.timeouts.Idle)
	default:
		return s.ended(call.ErrDeadline)
	}
}

// receive waits for the head of the answer, or for more of its body.
func (t *stream) receive() error {
	if t.ended {
		return nil
	}
	if t.conn.Head.Status == 0 {
		if err := t.conn.Await(t.armed); err != nil {
			return err
		}
		return t.accept()
	}
	t.conn.SetDeadline(t.armed)
	t.conn.Keep(len(t.rest))
	arrived, err := t.conn.Next()
	t.rest = arrived
	if err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		t.rest = t.conn.Held()
		return err
	}
	t.ended = true
	if len(t.rest) > 0 { // an event that the end closes instead of an empty line
		t.rest = append(t.rest, "\n\n"...)
	}
	return nil
}

// accept looks at the head of the answer.
func (t *stream) accept() error {
	t.headAt = t.server.now()
	if t.conn.Head.Status != 200 {
		return t.server.refusal(t.conn)
	}
	wanted := "text/event-stream"
	if t.each != nil && t.conn.Head.Is("application/json") {
		wanted, t.single = "application/json", true
	}
	if f := t.server.unreadable(t.conn, wanted); f != nil {
		return f
	}
	return nil
}
