package sse

import "io"

// Writer gathers events in a buffer and writes them to its destination on Flush. The zero value is not usable.
type Writer struct {
	dst io.Writer
	buf []byte
}

// NewWriter returns a Writer to dst that reuses buf's storage.
func NewWriter(dst io.Writer, buf []byte) *Writer { return &Writer{dst: dst, buf: buf[:0]} }

// DeltaRaw appends the event {"type":"delta","text":"<escaped>"}. The text is the inside of a JSON string literal, copied
// as it is, so that a token passes through the gateway without being decoded.
func (w *Writer) DeltaRaw(escaped []byte) {
	w.buf = append(w.buf, `data: {"type":"delta","text":"`...)
	w.buf = append(w.buf, escaped...)
	w.buf = append(w.buf, "\"}\n\n"...)
}

// Data appends one event. The payload must not contain a line break; JSON from encoding/json never does.
func (w *Writer) Data(payload []byte) {
	w.buf = append(w.buf, "data: "...)
	w.buf = append(w.buf, payload...)
	w.buf = append(w.buf, "\n\n"...)
}

// KeepAlive appends a comment line, which clients ignore.
func (w *Writer) KeepAlive() { w.buf = append(w.buf, ": keep-alive\n\n"...) }

// Done appends the event that ends every stream.
func (w *Writer) Done() { w.buf = append(w.buf, "data: [DONE]\n\n"...) }

// Buffered returns the number of bytes that wait for a Flush.
func (w *Writer) Buffered() int { return len(w.buf) }

// Flush writes what is buffered in one Write. After an error the client is gone; what was buffered is dropped.
func (w *Writer) Flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.dst.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// Storage returns the buffer for reuse once the Writer is no longer needed.
func (w *Writer) Storage() []byte { return w.buf[:0] }
