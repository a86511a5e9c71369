package transport

import "sync"

// buffers lends read buffers of two sizes. A buffer is a pointer to its slice so that lending does not allocate.
type buffers struct {
	small, large sync.Pool
}

// take lends a buffer of at least n bytes, one of the two sizes if it can be.
func (p *buffers) take(n int) *[]byte {
	pool, size := &p.small, bufferSmall
	if n > bufferSmall {
		pool, size = &p.large, bufferLarge
	}
	if n > bufferLarge {
		b := make([]byte, n)
		return &b
	}
	if b, ok := pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, size)
	return &b
}

// give takes a buffer back. Those of odd sizes are dropped.
func (p *buffers) give(b *[]byte) {
	switch len(*b) {
	case bufferSmall:
		p.small.Put(b)
	case bufferLarge:
		p.large.Put(b)
	}
}
