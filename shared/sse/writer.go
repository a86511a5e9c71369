package sse

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Writer gathers events in a buffer and writes them to its destination on Flush. The zero value is not usable.
type Writer struct {
	dst    io.Writer
	buf    []byte
	plain  bool
	lender *Buffers // of buf; nil when the Writer has a buffer of its own
	lent   *[]byte  // by the lender; nil while the Writer has nothing to write
	events int64    // appended so far
	watch  func(events int64)
}

// NewWriter returns a Writer to dst that reuses buf's storage.
func NewWriter(dst io.Writer, buf []byte) *Writer { return &Writer{dst: dst, buf: buf[:0]} }

// hold makes sure that there is a buffer to append to.
func (w *Writer) hold() {
	if w.lent == nil && w.lender != nil {
		w.lent = w.lender.take()
		w.buf = *w.lent
	}
}

// DeltaRaw appends the event {"type":"delta","text":"<escaped>"}. The text is the inside of a JSON string literal, copied
// as it is, so that a token passes through the gateway without being decoded.
func (w *Writer) DeltaRaw(escaped []byte) {
	if w.plain {
		w.textRaw(escaped)
		return
	}
	w.hold()
	w.events++
	w.buf = append(w.buf, `data: {"type":"delta","text":"`...)
	w.buf = append(w.buf, escaped...)
	w.buf = append(w.buf, "\"}\n\n"...)
}

// Data appends one event. The payload must not contain a line break; JSON from encoding/json never does.
func (w *Writer) Data(payload []byte) {
	w.hold()
	w.events++
	w.buf = append(w.buf, "data: "...)
	w.buf = append(w.buf, payload...)
	w.buf = append(w.buf, "\n\n"...)
}

// Frames appends events that are framed already.
func (w *Writer) Frames(frames []byte) {
	w.hold()
	w.events += int64(bytes.Count(frames, []byte("\n\n")))
	w.buf = append(w.buf, frames...)
}

// Plain makes a stream of plain text of this one: from now on deltas are events of [Writer.Text], and [Writer.Error] names its
// event, since its payload could be text as well.
func (w *Writer) Plain() { w.plain = true }

// Text appends an event of plain text, with a data line for each of its lines; who reads the format joins them again with
// line feeds. Carriage returns, which would end a line, are dropped. A line "[DONE]", which would look like the end of the
// stream, is divided between two events. Empty text is no event.
func (w *Writer) Text(text string) {
	text = strings.ReplaceAll(text, "\r", "")
	if text == "" {
		return
	}
	w.hold()
	w.events++
	for line := range strings.SplitSeq(text, "\n") {
		if line == "[DONE]" {
			w.buf = append(w.buf, "data: [\n\n"...)
			line = line[1:]
		}
		w.buf = append(w.buf, "data: "...)
		w.buf = append(w.buf, line...)
		w.buf = append(w.buf, '\n')
	}
	w.buf = append(w.buf, '\n')
}

// textRaw is Text for the inside of a JSON string literal.
func (w *Writer) textRaw(escaped []byte) {
	literal := make([]byte, 0, len(escaped)+2)
	literal = append(append(append(literal, '"'), escaped...), '"')
	var text string
	if json.Unmarshal(literal, &text) != nil {
		panic("BUG: sse: a delta is no inside of a string literal")
	}
	w.Text(text)
}

// Error appends the event that says why a stream did not end well, with the name "error" in a stream of plain text.
func (w *Writer) Error(payload []byte) {
	w.hold()
	if w.plain {
		w.buf = append(w.buf, "event: error\n"...)
	}
	w.Data(payload)
}

// KeepAlive appends a comment line, which clients ignore.
func (w *Writer) KeepAlive() {
	w.hold()
	w.buf = append(w.buf, ": keep-alive\n\n"...)
}

// Done appends the event that ends every stream.
func (w *Writer) Done() {
	w.hold()
	w.buf = append(w.buf, "data: [DONE]\n\n"...)
}

// Buffered returns the number of bytes that wait for a Flush.
func (w *Writer) Buffered() int { return len(w.buf) }

// Watch has every Flush tell, before it writes, how many events were appended so far. Nil ends that.
func (w *Writer) Watch(told func(events int64)) { w.watch = told }

// Flush writes what is buffered in one Write. After an error the client is gone; what was buffered is dropped.
func (w *Writer) Flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if w.watch != nil && w.events > 0 {
		w.watch(w.events)
	}
	_, err := w.dst.Write(w.buf)
	w.buf = w.buf[:0]
	if w.lent != nil {
		w.lender.give(w.lent, w.buf)
		w.lent, w.buf = nil, nil
	}
	return err
}
