package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// once is a stream of one event, which is made of a service's whole answer. The client is sent comments until that is there.
type once struct {
	service *Service
	ctx     context.Context //nolint:containedctx // given at the opening; a stream is used for one call
	x       *Exchange
	event   func(Reply) (payload []byte, use call.Usage, wrong string)

	conn     *transport.Conn // nil before and after the exchange
	accepted bool            // the head of the answer is that of a good one
	closed   bool
	result   string    // the Result word once it is known
	began    time.Time // of the call
	wrote    time.Time // when the client last heard something

	payload []byte // of the event; nil while it is not there
	use     call.Usage
	first   time.Time // when it was there
}

// Once is [Service.Do] for a client that is sent comments meanwhile. It returns once the answer is there, the service failed, or
// KeepAlive passed in silence; in the last case the stream goes on waiting in Relay. event makes the payload of the one event,
// which has no line break, or says what is wrong with the answer, as for [Service.Invalid].
func (s *Service) Once(
	ctx context.Context, x *Exchange, event func(Reply) (payload []byte, use call.Usage, wrong string),
) (call.Stream, error) {
	o := &once{service: s, ctx: ctx, x: x, event: event, began: s.begin()}
	o.wrote = o.began
	limit := s.limit(x)
	conn, err := s.host.Exchange(ctx, s.request(x), transport.Times{
		Connect: min(s.timeouts.Connect, limit), Head: limit, Patience: s.keepAlive,
	})
	if err == nil {
		o.conn = conn
		err = o.wait()
	} else {
		err = s.lateWhole(err, limit)
	}
	if err != nil && !errors.Is(err, errQuiet) {
		f := s.broken(ctx, err)
		o.result = f.result
		o.Close()
		return nil, f.classed()
	}
	return o, nil
}

// Started reports whether the answer is there. Until then a pool may ask another upstream.
func (o *once) Started() bool { return o.payload != nil }

// wait waits for the answer. It returns errQuiet when the client has heard nothing for the keep-alive interval.
func (o *once) wait() error {
	s := o.service
	for o.payload == nil {
		until, quiet := o.conn.HeadLimit(), false // which bounds the whole answer
		if talk := o.wrote.Add(s.keepAlive); s.keepAlive > 0 && talk.Before(until) {
			until, quiet = talk, true
		}
		err := o.receive(until)
		if e, ok := errors.AsType[*transport.Error](err); ok && e.Timeout() && quiet {
			return errQuiet
		}
		if err != nil {
			return s.lateWhole(err, s.limit(o.x))
		}
	}
	return nil
}

// receive waits for the head of the answer, or for more of its body.
func (o *once) receive(until time.Time) error {
	if o.conn.Head.Status == 0 {
		if err := o.conn.Await(until); err != nil {
			return err
		}
	}
	if !o.accepted {
		if f := o.service.unacceptable(o.conn, o.x); f != nil {
			return f
		}
		o.accepted = true
	}
	o.conn.SetDeadline(until)
	body, err := o.conn.Next()
	if len(body) > o.x.bytesMax() {
		return o.service.overlong(o.x.bytesMax(), "Ask for less.")
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	reply := Reply{Body: slices.Clone(body), Type: o.conn.Head.MediaType()}
	o.conn.Finish()
	o.conn = nil
	payload, use, wrong := o.event(reply)
	if wrong != "" {
		return o.service.wrong(wrong)
	}
	o.payload, o.use, o.first = payload, use, o.service.now()
	return nil
}

// Relay implements [call.Stream].
func (o *once) Relay(w *sse.Writer) call.Outcome {
	err := o.relay(w)
	if err == nil {
		o.result = ResultDone
		return call.Outcome{End: plane.EndDone, Usage: o.use, First: o.first}
	}
	f := o.service.broken(o.ctx, err)
	o.result = f.result
	out := call.Outcome{End: f.end, Usage: call.Usage{Source: plane.SourceNone}, Err: f.classed()}
	if out.End == plane.EndUpstreamCut {
		out.End = plane.EndFailed
	}
	return out
}

func (o *once) relay(w *sse.Writer) error {
	for o.payload == nil {
		err := o.wait()
		if errors.Is(err, errQuiet) {
			w.KeepAlive()
			err = o.flush(w)
		}
		if err != nil {
			return err
		}
	}
	w.Data(o.payload)
	return nil
}

// flush writes to the client. An error means that it has left, unless something else ended the call.
func (o *once) flush(w *sse.Writer) error {
	err := w.Flush()
	o.wrote = o.service.now()
	switch {
	case err == nil:
		return nil
	case o.ctx.Err() != nil:
		return o.service.ended(context.Cause(o.ctx))
	}
	return o.service.ended(fmt.Errorf("%w: %w", call.ErrClientGone, err))
}

// Close implements [call.Stream].
func (o *once) Close() {
	if o.closed {
		return
	}
	o.closed = true
	if o.conn != nil {
		o.conn.Finish()
		o.conn = nil
	}
	if o.result == "" {
		o.result = ResultCancelled
	}
	o.service.end(o.began, o.result)
}
