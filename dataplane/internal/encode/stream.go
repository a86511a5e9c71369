package encode

import (
	"fmt"
	"io"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// Streams encodes streams. Their buffers are shared.
type Streams struct{ buffers sse.Buffers }

// NewStreams returns an encoder.
func NewStreams() *Streams { return &Streams{} }

// Answer answers 200 with a stream, whose failure is told in a form. It calls ended exactly once when the stream is
// over and before the terminal event is sent, whatever happens; until then running, unless it is nil, is told what the
// client was sent; the outcome's Err is the answer that the error event stands for. The stream is closed by then.
func (e *Streams) Answer(res *fasthttp.Response, s call.Stream, form Form, running call.Running, ended func(*call.Outcome)) {
	res.Header.SetContentType("text/event-stream")
	res.Header.Set("Cache-Control", "no-cache")
	res.Header.Set("X-Accel-Buffering", "no")
	res.ImmediateHeaderFlush = true
	res.SetBodyStream(&body{streams: e, stream: s, form: form, running: running, ended: ended}, -1)
}

// body is a stream as fasthttp writes it: WriteTo runs on the server's goroutine.
type body struct {
	streams *Streams
	stream  call.Stream
	form    Form
	running call.Running        // nil where the call is not in the journal
	ended   func(*call.Outcome) // nil once called
}

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (b *body) SupportsBodyWriteTo() bool { return true }

// Read implements io.Reader, which fasthttp asks for and does not use.
func (b *body) Read([]byte) (int, error) { panic("BUG: encode: a stream is read") }

// WriteTo relays the stream and ends it. An error means that the client is gone.
func (b *body) WriteTo(dst io.Writer) (int64, error) {
	w := b.streams.buffers.NewWriter(dst)
	if b.running != nil {
		w.Watch(b.running.Sent)
	}
	out := b.relay(w)
	w.Watch(nil)
	b.stream.Close() // before the call's context ends, which would look like a cancellation to the upstream
	b.end(&out)
	if out.End == plane.EndClientGone {
		return 0, call.ErrClientGone
	}
	if out.Err != nil {
		w.Error(b.form.event(&out))
	}
	if out.Err == nil || b.form == Ours {
		w.Done()
	}
	return 0, w.Flush()
}

// relay turns a panic into an outcome. The server would recover it too, but without a terminal event.
func (b *body) relay(w *sse.Writer) (out call.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = call.Outcome{End: plane.EndFailed, Err: fmt.Errorf("stream panicked: %v", p)}
		}
	}()
	return b.stream.Relay(w)
}

func (b *body) end(out *call.Outcome) {
	if ended := b.ended; ended != nil {
		b.ended = nil // whatever it does, it is not called again
		ended(out)
	}
}

// Close implements io.Closer. Without a WriteTo before it, the head could not be written.
func (b *body) Close() error {
	b.stream.Close()
	b.end(&call.Outcome{End: plane.EndClientGone, Usage: call.Usage{Source: plane.SourceCounted}})
	return nil
}
