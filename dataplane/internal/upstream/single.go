package upstream

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// Events writes the events that a whole answer stands for.
type Events func(w *sse.Writer)

// single is a stream of a whole answer. The client gets comments while the answer takes long.
type single struct {
	s      *Service
	ctx    context.Context //nolint:containedctx // the lifetime of the call that the stream belongs to
	read   func(body []byte) (Events, call.Usage, error)
	conn   *transport.Conn
	accept string
	limit  time.Time
	began  time.Time
	result string
	closed bool

	events Events // nil until the answer is there
	use    call.Usage
	first  time.Time
}

// OpenWhole sends a request whose body is there and makes a stream of the whole answer, which read turns into events. Until the
// answer is there the stream has not started, so that a pool may ask another server.
func (s *Service) OpenWhole(
	ctx context.Context, u *Upload, read func(body []byte) (Events, call.Usage, error),
) (call.Stream, error) {
	body, err := io.ReadAll(u.Body)
	if err != nil {
		return nil, err //nolint:wrapcheck // an answer
	}
	took := min(s.timeouts.Answer, s.timeouts.Total)
	t := &single{s: s, ctx: ctx, read: read, accept: u.Accept, began: s.begin()}
	t.limit = time.Now().Add(took)
	head := append(s.uploadHead(u), "Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"...)
	t.conn, err = s.host.Exchange(ctx, [][]byte{head, body}, transport.Times{Connect: s.timeouts.Connect, Head: took, Patience: s.keepAlive})
	if err == nil {
		err = t.wait(time.Now().Add(s.keepAlive))
	}
	if err != nil && !errors.Is(err, errQuiet) {
		f := t.fault(err)
		t.Close()
		return nil, f.classed()
	}
	return t, nil
}

// wait returns when the answer is there, or errQuiet at the given time.
func (t *single) wait(until time.Time) error {
	if t.limit.Before(until) || t.s.keepAlive == 0 {
		until = t.limit
	}
	err := t.receive(until)
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Timeout() && until.Before(t.limit) {
		return errQuiet
	}
	return err
}

func (t *single) receive(until time.Time) error {
	if t.conn.Head.Status == 0 {
		if err := t.conn.Await(until); err != nil {
			return err //nolint:wrapcheck // broken reads it
		}
	}
	if t.conn.Head.Status != 200 {
		return t.s.refusal(t.conn)
	}
	if f := t.s.unreadable(t.conn, t.accept); f != nil {
		return f
	}
	t.conn.SetDeadline(until)
	for {
		body, err := t.conn.Next()
		switch {
		case len(body) > answerBytesMax:
			return t.s.overlong(answerBytesMax, "Ask for less.")
		case errors.Is(err, io.EOF):
			t.events, t.use, err = t.read(slices.Clone(body))
			t.first = t.s.now()
			return err
		case err != nil:
			return err //nolint:wrapcheck // broken reads it
		}
	}
}

// fault says what an error means.
func (t *single) fault(err error) *fault {
	f := t.s.broken(t.ctx, t.s.lateWhole(err, min(t.s.timeouts.Answer, t.s.timeouts.Total)))
	t.s.aboutAudio(f)
	t.result = f.result
	return f
}

// Started reports whether the answer is there.
func (t *single) Started() bool { return t.events != nil }

// Relay implements [call.Stream].
func (t *single) Relay(w *sse.Writer) call.Outcome {
	for t.events == nil {
		w.KeepAlive()
		err := w.Flush()
		if err != nil {
			err = t.s.ended(errors.Join(call.ErrClientGone, err))
		} else {
			err = t.wait(time.Now().Add(t.s.keepAlive))
		}
		if err != nil && !errors.Is(err, errQuiet) {
			f := t.fault(err)
			out := call.Outcome{End: f.end, Err: f.classed(), Usage: call.Usage{Source: plane.SourceNone}}
			if out.End == plane.EndUpstreamCut {
				out.End = plane.EndFailed
			}
			return out
		}
	}
	t.events(w)
	t.result = ResultDone
	return call.Outcome{End: plane.EndDone, Usage: t.use, First: t.first}
}

// Close implements [call.Stream].
func (t *single) Close() {
	if t.closed {
		return
	}
	t.closed = true
	if t.conn != nil {
		t.conn.Finish()
	}
	if t.result == "" {
		t.result = ResultCancelled
	}
	t.s.end(t.began, t.result)
}
