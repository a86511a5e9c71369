package sse

import (
	"io"
	"sync"
)

const (
	bufferBytes    = 2 << 10  // of a new buffer
	bufferBytesMax = 64 << 10 // larger buffers are not kept
)

// Buffers lends Writers their storage from the first event to the Flush, so that a stream that waits holds none. The zero value is
// ready. It may be used by many goroutines.
type Buffers struct{ pool sync.Pool }

// NewWriter returns a Writer to dst.
func (b *Buffers) NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst, lender: b} }

func (b *Buffers) take() *[]byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return buf
	}
	buf := make([]byte, 0, bufferBytes)
	return &buf
}

// give takes back what was lent, in the place that it has grown to.
func (b *Buffers) give(lent *[]byte, grown []byte) {
	if *lent = grown; cap(grown) <= bufferBytesMax {
		b.pool.Put(lent)
	}
}
