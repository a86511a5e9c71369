package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// errQuiet says that the client has heard nothing for the keep-alive interval.
var errQuiet = errors.New("silence")

// stream is an answer on its way. While it waits on a plain connection it holds no buffer but what it has of an
// unfinished event.
type stream struct {
	server *server
	ctx    context.Context // given at the opening; a stream is used for one call
	each   Each            // nil for the text of a chat
	conn   *transport.Conn // nil when there was none, and after Close
	closed bool
	result string // the Result word once it is known

	rest     []byte // what has arrived and is not digested, in the connection's buffer
	splitter sse.Splitter
	template template
	marked   bool   // the place of a byte order mark has been passed
	single   bool   // the whole body is the one event
	early    []byte // the first text, while it waits for Relay; within the connection's buffer

	began, headAt time.Time
	armed         time.Time // the read deadline of the connection
	first, last   time.Time // when the first text and the last event came
	finished      time.Time // when the finish reason came
	wrote         time.Time // when the client last heard something
	fresh         bool      // an event has come since last was set
	begun         bool      // a chunk has had a choice
	done          bool      // the answer is complete
	ended         bool      // the body has ended
	in, deltas    int64     // tokens of the prompt, estimated; events with output
	usage         *call.Usage
	raw           *rawStream // of a chat in the dialect's own words, else nil
	budget        Budget
}

// open waits for the first text, the end, or the keep-alive interval.
func (t *stream) open() error {
	t.wrote = t.began
	if t.conn.Head.Status != 0 {
		if err := t.accept(); err != nil {
			return err
		}
	}
	for {
		err := t.more()
		if errors.Is(err, errQuiet) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := t.next()
		for ; err == nil && text != nil; text, err = t.next() {
			if len(text) > 0 {
				t.early = text
				return nil
			}
		}
		if err != nil {
			return err
		}
		if t.done {
			return nil
		}
		if t.ended {
			return t.cut()
		}
	}
}

// Started reports whether the answer has begun: there is text, or the end. Until then a pool may ask another upstream.
func (t *stream) Started() bool { return t.early != nil || t.done || !t.first.IsZero() }

// Relay implements [call.Stream].
func (t *stream) Relay(w *sse.Writer) call.Outcome {
	err := t.relay(w)
	o := call.Outcome{End: plane.EndDone, Usage: t.count(), First: t.first}
	t.result = ResultDone
	if err == nil {
		if t.raw != nil {
			t.raw.finish(w)
		}
		t.conn.Detach()
		return o
	}
	f := t.server.broken(t.ctx, err)
	t.result = f.result
	o.End, o.Err = f.end, f.classed()
	if f.end == plane.EndLimit {
		o.Limit = t.budget.Reached()
	}
	if o.End == plane.EndUpstreamCut && t.first.IsZero() {
		o.End = plane.EndFailed
	}
	return o
}

// relay copies text until the answer ends; nil means that it ended well.
func (t *stream) relay(w *sse.Writer) error {
	if t.early != nil {
		if err := t.afford(); err != nil {
			return err
		}
		t.put(w, t.early)
		t.early = nil
	}
	for {
		text, err := t.next()
		for ; err == nil && text != nil; text, err = t.next() {
			if len(text) > 0 {
				if err := t.afford(); err != nil {
					return err
				}
				t.put(w, text)
			}
		}
		if t.raw != nil && !t.first.IsZero() {
			t.raw.drain(w)
		}
		if err != nil || t.done {
			return err
		}
		if t.ended {
			return t.cut()
		}
		if w.Buffered() > 0 {
			if err := t.flush(w); err != nil {
				return err
			}
		}
		err = t.more()
		if errors.Is(err, errQuiet) {
			w.KeepAlive()
			err = t.flush(w)
		}
		if err != nil {
			return err
		}
	}
}

// afford takes the event's tokens of the call's budget. An event that the budget has none for is not sent and not counted.
func (t *stream) afford() error {
	if t.budget == nil {
		return nil
	}
	err := t.budget.Use(t.in + t.deltas)
	if err == nil {
		return nil
	}
	t.deltas--
	if t.ctx.Err() != nil {
		return t.server.ended(context.Cause(t.ctx))
	}
	f := &fault{end: plane.EndFailed, result: ResultCancelled, answer: apierr.From(err), provoked: true}
	if t.budget.Reached() != "" {
		f.end = plane.EndLimit
	}
	return f
}

// put writes the text of an event, or the event in words of its own.
func (t *stream) put(w *sse.Writer, text []byte) {
	switch {
	case t.raw != nil:
		t.raw.drain(w)
	case t.each != nil:
		w.Data(text)
	default:
		w.DeltaRaw(text)
	}
}

// flush writes to the client. An error means that it has left, unless something else ended the call.
func (t *stream) flush(w *sse.Writer) error {
	err := w.Flush()
	t.wrote = t.server.now()
	if t.fresh { // the time that the client took is not the upstream's
		t.fresh, t.last = false, t.wrote
	}
	if err == nil {
		return nil
	}
	if t.ctx.Err() != nil {
		return t.server.ended(context.Cause(t.ctx))
	}
	return t.server.ended(fmt.Errorf("%w: %w", call.ErrClientGone, err))
}

// next takes one event off what has arrived and returns its text: empty when it has none for the client, nil when no
// event is complete or the answer is over.
func (t *stream) next() (text []byte, err error) {
	if t.done || !t.mark() {
		return nil, nil
	}
	if t.single {
		return t.whole()
	}
	text, n := t.template.match(t.rest)
	if n > 0 {
		t.splitter = sse.Splitter{}
	} else {
		if n = t.splitter.Next(t.rest); n == 0 {
			if len(t.rest) > t.bytesMax() {
				return nil, t.oversized()
			}
			return nil, nil
		}
		text, err = t.event(t.rest[:n])
	}
	if n > t.bytesMax() {
		return nil, t.oversized()
	}
	if err != nil {
		return nil, err
	}
	t.rest = t.rest[n:]
	if len(text) == 0 {
		return []byte{}, nil
	}
	if t.each == nil {
		t.deltas++
	}
	t.came()
	return text, nil
}

// came notes that there is something for the client.
func (t *stream) came() {
	t.fresh = true
	if t.first.IsZero() {
		t.first = t.server.now()
		if t.server.observer.First != nil {
			t.server.observer.First(t.server.id, t.first.Sub(t.began))
		}
	}
}

// mark drops a byte order mark in front of the first event, and reports whether that is decided.
func (t *stream) mark() bool {
	const mark = "\xef\xbb\xbf"
	if t.marked || len(t.rest) == 0 {
		return t.marked
	}
	if len(t.rest) < len(mark) && mark[:len(t.rest)] == string(t.rest) {
		return false
	}
	t.rest = bytes.TrimPrefix(t.rest, []byte(mark))
	t.marked = true
	return true
}

// event reads an event that is not like the template.
func (t *stream) event(block []byte) (text []byte, err error) {
	e := sse.Parse(block)
	if e.Error != nil {
		return nil, t.reported(e.Error)
	}
	if len(e.Data) == 0 {
		return nil, nil
	}
	t.fresh = true
	if string(e.Data) == "[DONE]" {
		if t.each == nil && !t.begun {
			return nil, t.server.bad(ResultInvalid, "ended its answer without beginning it. Try again.")
		}
		t.done = true
		return nil, nil
	}
	if string(e.Name) == "error" {
		return nil, t.reported(e.Data)
	}
	switch {
	case t.each != nil:
		return t.copied(e.Data)
	case t.raw != nil:
		return t.rawEvent(e.Data)
	}
	if text, ok := scanChunk(e.Data); ok {
		t.begun = true
		t.template.learn(block, e.Data, text)
		return text, nil
	}
	c, err := parseChunk(e.Data)
	if err := t.understood(&c, err); err != nil {
		return nil, err
	}
	if c.thought && len(c.text) == 0 {
		t.deltas++
	}
	return c.text, nil
}

// rawEvent is event for a chat in the dialect's own words.
func (t *stream) rawEvent(data []byte) (output []byte, err error) {
	c, err := readChunk(data)
	if err := t.understood(&c, err); err != nil || t.done {
		return nil, err
	}
	if output, err = t.raw.add(data, &c); err != nil {
		return nil, t.server.content(err)
	}
	return output, nil
}

// understood keeps what a chunk tells of the answer's end, or says what is wrong with the chunk.
func (t *stream) understood(c *chunk, err error) error {
	if t.ended && errors.Is(err, errNotChunk) { // the body ended inside the event
		return t.cut()
	}
	if err != nil {
		return t.server.content(err)
	}
	if c.usage != nil {
		t.usage = c.usage
	}
	t.begun = t.begun || c.choices > 0
	if c.finished && t.finished.IsZero() {
		t.finished = t.server.now()
	}
	return nil
}

// reported is the fault of an event that tells of an error.
func (t *stream) reported(data []byte) error {
	r := reportedIn(data)
	if r == nil {
		r = &reported{}
	}
	return t.server.content(r)
}

func (t *stream) oversized() error {
	return t.server.bad(ResultInvalid, "sent an event over %d MiB. This is for the gateway's operator to fix.", t.bytesMax()>>20)
}

// bytesMax bounds an event.
func (t *stream) bytesMax() int {
	if t.each != nil {
		return answerBytesMax
	}
	return eventBytesMax
}

// cut judges an answer whose body ended without [DONE].
func (t *stream) cut() error {
	if !t.finished.IsZero() {
		t.done = true
		return nil
	}
	return t.server.bad(ResultCut, "broke off before the end of its answer. Try again.")
}

// count is the provider's count if it gave one, else what was seen.
func (t *stream) count() call.Usage {
	if t.usage != nil {
		return *t.usage
	}
	if t.each != nil && t.deltas == 0 {
		return call.Usage{Source: plane.SourceNone}
	}
	return call.Usage{TokensIn: t.in, TokensOut: t.deltas, Source: plane.SourceCounted}
}

// Close implements [call.Stream].
func (t *stream) Close() {
	if t.closed {
		return
	}
	t.closed = true
	if t.conn != nil && t.done {
		t.conn.Drain()
	} else if t.conn != nil {
		t.conn.Finish()
	}
	t.conn, t.rest, t.early = nil, nil, nil
	if t.result == "" {
		t.result = ResultCancelled
	}
	t.server.end(t.began, t.result)
}
