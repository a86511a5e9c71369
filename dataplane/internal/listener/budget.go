package listener

import (
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// Budget bounds the sum of the request bodies in memory. The server makes room for a whole body when it has read the head, so
// the room is reserved then, by the stated length. Small bodies need none.
//
// The server's hooks do not say which connection a head belongs to; until the handler or the error handler does, a
// reservation is kept by the head's address. A head is not reused before one of the two was called, except when setting a
// socket deadline fails in between; the next request with that head then gives the stale reservation back.
type Budget struct {
	max  int64
	used atomic.Int64

	mu      sync.Mutex
	pending map[*fasthttp.RequestHeader]int64 // refused means there was no room
}

const refused = -1

// NewBudget returns a budget of max bytes.
func NewBudget(max int64) *Budget {
	return &Budget{max: max, pending: map[*fasthttp.RequestHeader]int64{}}
}

// Used returns the reserved bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// reserve makes room for the body of a request, whose bound is limit, and reports whether there is any.
func (b *Budget) reserve(h *fasthttp.RequestHeader, limit int64) bool {
	n := int64(h.ContentLength())
	if n == chunked {
		n = limit
	}
	if n <= bodyBytesFree || n > limit {
		return true
	}
	if b.used.Add(n) > b.max {
		b.used.Add(-n)
		n = refused
	}
	b.mu.Lock()
	stale := b.pending[h]
	b.pending[h] = n
	b.mu.Unlock()
	b.used.Add(-max(stale, 0))
	return n != refused
}

// chunked is what fasthttp gives as the length of a chunked body.
const chunked = -1

// take hands the reservation of a request over: its bytes, 0 for none, or refused.
func (b *Budget) take(h *fasthttp.RequestHeader) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.pending[h]
	if ok {
		delete(b.pending, h)
	}
	return n
}
