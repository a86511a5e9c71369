package replay

import (
	"bytes"
	"fmt"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// Tape is a stream that remembers its events.
type Tape struct {
	inner  call.Stream
	w      *sse.Writer // of the client
	frames []byte
	over   bool // there were too many to be kept
	last   bool // what comes now is not flushed: the terminal event shares its write
}

// Record returns a stream that does what inner does.
func Record(inner call.Stream) *Tape { return &Tape{inner: inner} }

// Frames returns the events, framed, or false if they are more than are kept. It may be called after Relay has returned.
func (t *Tape) Frames() (frames []byte, ok bool) { return t.frames, !t.over }

// Relay implements [call.Stream].
func (t *Tape) Relay(w *sse.Writer) call.Outcome {
	t.w = w
	through := sse.NewWriter(t, nil)
	out := t.inner.Relay(through)
	t.last = true
	_ = through.Flush() // into w, which does not fail
	return out
}

// Close implements [call.Stream].
func (t *Tape) Close() { t.inner.Close() }

// Write takes what the stream flushes. It is the stream's writer that calls it.
func (t *Tape) Write(b []byte) (int, error) {
	const mark = "\n\n"
	for rest := b; len(rest) > 0; {
		n := len(rest)
		if i := bytes.Index(rest, []byte(mark)); i >= 0 {
			n = i + len(mark)
		}
		if rest[0] == ':' {
			t.w.KeepAlive()
		} else {
			t.w.Frames(rest[:n])
			t.keep(rest[:n])
		}
		rest = rest[n:]
	}
	if t.last {
		return len(b), nil
	}
	if err := t.w.Flush(); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (t *Tape) keep(frame []byte) {
	if t.over = t.over || len(t.frames)+len(frame) > plane.ReplayBytesMax; t.over {
		t.frames = nil
		return
	}
	t.frames = append(t.frames, frame...)
}

// stream is a result as it was streamed, or one that is waited for.
type stream struct {
	claim *Claim
	wait  func(idle func() error) error // nil when the result is there
}

// Stream returns the events of the claim's result. If somebody else still makes the call, the stream waits for its end, with comments
// for the client when quiet says so.
func (c *Claim) Stream(wait func(idle func() error) error) call.Stream { return &stream{c, wait} }

// Relay implements [call.Stream].
func (s *stream) Relay(w *sse.Writer) call.Outcome {
	none := call.Usage{Source: plane.SourceNone}
	if s.wait != nil {
		gone := false
		err := s.wait(func() error {
			w.KeepAlive()
			if err := w.Flush(); err != nil {
				gone = true
				return fmt.Errorf("%w: %w", call.ErrClientGone, err)
			}
			return nil
		})
		switch {
		case gone:
			return call.Outcome{End: plane.EndClientGone, Usage: none, Err: err}
		case err != nil:
			return call.Outcome{End: plane.EndFailed, Usage: none, Err: err}
		}
	}
	w.Frames(s.claim.Result.Body)
	return call.Outcome{End: plane.EndDone, Usage: none}
}

// Close implements [call.Stream].
func (s *stream) Close() {}
