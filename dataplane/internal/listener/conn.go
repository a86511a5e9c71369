package listener

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/call"
)

// Conn is an accepted connection. While a call is bound to it, the client's departure ends the call.
type Conn struct {
	net.Conn
	raw   net.Conn  // under TLS, otherwise nil
	tls   *tls.Conn // likewise; nil once the handshake is done
	id    uint64    // never used twice, unlike descriptors
	watch *Watch

	mu   sync.Mutex
	gone bool
	end  context.CancelCauseFunc // of the bound call
	by   time.Time               // its total deadline

	held      hold // of the budget, for the body of the request
	budget    *Budget
	writeTime time.Duration // for one write
	linger    atomic.Bool
	closed    atomic.Bool

	// Of the serving goroutine:
	answered bool // the next read begins another request
	holding  bool // held may hold something
	idle     bool // the next deadline is that of a connection between requests
	coded    bool // the body has a content coding
	writeBy  time.Time
	in       input
	upload   *Upload // the body of the request, if it has not been read
}

// Of returns the connection that a request came on, or nil if it did not come through this package.
func Of(ctx *fasthttp.RequestCtx) *Conn {
	c, _ := ctx.Conn().(*Conn)
	return c
}

// Upload returns the body of the request if it has not been read yet, otherwise nil.
func (c *Conn) Upload() *Upload { return c.upload }

// Coded reports whether the body of the request says that it has a content coding.
func (c *Conn) Coded() bool { return c.coded }

// Bind has end called with call.ErrClientGone when the client leaves, with call.ErrDeadline when the time by is over and with
// call.ErrDraining when the node gives the call up. If the client has left already, end is called at once. The zero time is
// no deadline. A connection has one bound call at most.
func (c *Conn) Bind(end context.CancelCauseFunc, by time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		end(call.ErrClientGone)
		return
	}
	c.end, c.by = end, by
}

// Unbind forgets the bound call. When it returns, end is neither running nor will it be called.
func (c *Conn) Unbind() {
	c.mu.Lock()
	c.end = nil
	c.mu.Unlock()
}

// left says that the client closed its side.
func (c *Conn) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.finish(call.ErrClientGone)
}

// expire ends the bound call if its deadline is over.
func (c *Conn) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.by.IsZero() && now.After(c.by) {
		c.finish(call.ErrDeadline)
	}
}

func (c *Conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(call.ErrDraining)
}

// finish ends the bound call, if any. c must be locked.
func (c *Conn) finish(cause error) {
	if c.end != nil {
		c.end(cause)
		c.end = nil
	}
}

// Read gives back what the finished request holds of the body budget before it waits for the next request.
func (c *Conn) Read(p []byte) (int, error) {
	if c.answered {
		c.answered = false
		c.ReleaseBody()
	}
	if c.tls != nil {
		if err := c.handshake(); err != nil {
			return 0, err
		}
		c.tls = nil
	}
	if c.in.arm == nil {
		c.in.open(c.Conn, &c.watch.buffers)
	}
	return c.in.read(c.Conn, p)
}

// SetReadDeadline sets the deadline of reads. Unlike that of other connections it belongs to the goroutine that reads.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.idle { // the server takes it for a new connection
		c.idle = false
		t = time.Now().Add(idleTimeout)
	}
	if c.in.arm == nil { // before the first read
		c.in.by, c.in.armed = t, t
		return c.Conn.SetReadDeadline(t)
	}
	return c.in.setDeadline(t)
}

// Write sends p in pieces, each with a fresh deadline, so that a client is cut for not reading and not for reading slowly. Of
// many small writes only one a second pays for setting the deadline.
func (c *Conn) Write(p []byte) (n int, err error) {
	for {
		if now := time.Now(); c.writeBy.Sub(now) < c.writeTime-deadlineRefresh {
			c.writeBy = now.Add(c.writeTime)
			if err := c.SetWriteDeadline(c.writeBy); err != nil {
				return n, err
			}
		}
		piece := p[n:min(len(p), n+writePieceBytes)]
		m, err := c.Conn.Write(piece)
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// SetDeadline never fails: with an error the server would not hand over a connection that takeOver has counted. Where it did
// not take effect the connection is closed already, and the next read tells.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.Conn.SetDeadline(t)
	return nil
}

// Close ends the connection and whatever call is bound to it.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.watch.remove(c)
	if c.linger.Load() {
		c.readOn()
	}
	err := c.Conn.Close()
	c.left()
	c.budget.release(&c.held, true)
	return err
}

// cut closes the connection without a word.
func (c *Conn) cut() {
	c.linger.Store(false)
	if c.raw != nil {
		_ = c.raw.Close() // or the closing alert would wait for a peer that does not read
	}
	_ = c.Close()
}

// readOn tells the client that nothing more comes and swallows what it is still sending, as long as it does. Closing with unread bytes
// would reset the connection, and the client might never see why it was refused.
func (c *Conn) readOn() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(bodyTime)
	for left := int64(lingerBytesMax); left > 0; {
		by := time.Now().Add(lingerTime)
		if by.After(end) {
			by = end
		}
		if c.Conn.SetReadDeadline(by) != nil {
			return
		}
		n, err := io.CopyN(io.Discard, c.Conn, min(left, lingerPieceBytes))
		if left -= n; err != nil {
			return
		}
	}
}

// resume has the connection serve another request. Ahead is what was read of it already.
func (c *Conn) resume(ahead []byte) {
	c.upload, c.answered, c.idle = nil, true, true
	c.linger.Store(false)
	_ = c.Conn.SetReadDeadline(time.Time{}) // fails only on a closed connection, and the next read tells
	c.in.resume(ahead)
}
