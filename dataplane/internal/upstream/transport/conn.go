package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a connection during one exchange. It must not be used after Finish or Close.
type Conn struct {
	Head Head // of the answer; Status is 0 while it has not arrived

	host      *Host
	nc        net.Conn
	raw       syscall.RawConn // of the TCP socket, also under TLS; nil when there is none
	plain     bool            // bytes can be read through raw
	reused    bool            // it served an exchange before
	answered  bool            // a byte of this answer has arrived
	broken    bool            // it may not be used again
	released  bool            // Finish or Close was called
	idleSince time.Time
	headLimit time.Time // when the head must be complete
	armed     time.Time // the read deadline

	ctx    context.Context
	unbind func() bool // stops watching ctx
	gone   atomic.Bool // ctx has ended

	buf  *[]byte // nil while there is nothing in it
	v    view
	want int // bytes to make room for before the next read
	scan headScan
	body body

	invalid error // what decoding the body has found, behind what was decoded before

	out      []byte // of the request, what tryRead has to write before it waits
	parts    [4][]byte
	vector   net.Buffers
	readable func(fd uintptr) bool // c.tryRead
	cancel   func()                // c.interrupt
	n        int                   // of tryRead
	err      error                 // of tryRead
}

func newConn(h *Host, nc net.Conn) *Conn {
	c := &Conn{host: h, nc: nc, want: bufferSmall}
	socket := nc
	if secure, ok := nc.(*tls.Conn); ok {
		socket = secure.NetConn()
	} else {
		_, c.plain = nc.(*net.TCPConn)
	}
	if s, ok := socket.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			c.raw = raw
		}
	}
	c.plain = c.plain && c.raw != nil
	c.readable, c.cancel = c.tryRead, c.interrupt
	return c
}

// interrupt makes what the connection waits for fail at once. It runs on a goroutine of the context.
func (c *Conn) interrupt() {
	c.gone.Store(true)
	_ = c.nc.SetDeadline(time.Unix(1, 0)) // fails only on a closed connection, which waits for nothing
}

// SetDeadline makes Await and Next fail with a timeout at t. Waiting may go on after a timeout.
func (c *Conn) SetDeadline(t time.Time) {
	if t.Equal(c.armed) {
		return
	}
	c.armed = t
	_ = c.nc.SetReadDeadline(t) // fails only on a closed connection, whose reads fail as well
}

// Await waits for the head of the answer until then, or until the time for it is up. After a timeout it may be called
// again.
func (c *Conn) Await(until time.Time) error {
	if until.After(c.headLimit) {
		until = c.headLimit
	}
	c.SetDeadline(until)
	for interim := 0; ; {
		n, err := c.scan.end(c.bytes()[c.v.lo:c.v.hi])
		if err != nil {
			return err
		}
		if n == 0 {
			if err := c.fill(); err != nil {
				return c.failed(Await, err)
			}
			c.answered = true
			continue
		}
		head, err := parseHead(c.bytes()[c.v.lo : c.v.lo+n])
		if err != nil {
			return err
		}
		c.v.lo += n
		c.v.mid = c.v.lo
		c.scan = headScan{}
		if head.Status >= 200 {
			c.Head, c.body = head, start(&head)
			c.letGo()
			return nil
		}
		if interim++; interim > interimMax || head.Status == 101 {
			return invalid("unwanted interim answers")
		}
	}
}

// HeadLimit returns when the head must be complete.
func (c *Conn) HeadLimit() time.Time { return c.headLimit }

// Next returns what was kept and at least one byte more of the body, as soon as there is one. At the end of the body it
// returns what was kept and io.EOF; for a body without a length that is when the server closes. The bytes are valid, and
// may be changed, until the next call of Next, Keep, Finish or Close. Other errors are *Error or the cause of the context.
func (c *Conn) Next() ([]byte, error) {
	held := c.v.mid - c.v.lo
	for {
		if c.invalid == nil {
			c.v, c.invalid = c.body.decode(c.bytes(), c.v)
		}
		if c.v.mid-c.v.lo > held { // before an error, if there is one
			return c.bytes()[c.v.lo:c.v.mid], nil
		}
		if c.invalid != nil {
			c.broken = true
			return nil, c.invalid
		}
		if c.body.state == ended {
			return c.bytes()[c.v.lo:c.v.mid], io.EOF
		}
		if err := c.fill(); err != nil {
			if errors.Is(err, io.EOF) && c.body.state == untilEnd {
				c.body.state = ended
				continue
			}
			return nil, c.failed(Cut, err)
		}
	}
}

// Keep says that of the bytes Next returned only the last n are still needed.
func (c *Conn) Keep(n int) {
	c.v.lo = c.v.mid - n
	c.letGo()
}

// Held returns the bytes that were kept. They are valid like those of Next, which may have moved them even if it failed.
func (c *Conn) Held() []byte { return c.bytes()[c.v.lo:c.v.mid] }

// Ended reports whether the body was read to its clean end.
func (c *Conn) Ended() bool { return c.Head.Status != 0 && c.body.state == ended }

// failed gives a failed read its cause.
func (c *Conn) failed(phase Phase, err error) error {
	timeout := errors.Is(err, os.ErrDeadlineExceeded)
	if !timeout {
		c.broken = true
	}
	if c.gone.Load() {
		return context.Cause(c.ctx)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, errNotQuiet) {
		return errNotQuiet
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // io.EOF is the clean end of a body
	}
	if phase == Await && c.answered && !timeout { // the server had begun: it may have done the work
		phase = Cut
	}
	return &Error{phase, err}
}

// Finish ends the exchange. The connection is used again if the body was read to its clean end; if not it is closed,
// which cancels the work at the server.
func (c *Conn) Finish() {
	if c.released {
		return
	}
	if !c.Ended() || c.broken || c.Head.Close || c.v.hi > c.v.mid {
		c.Close()
		return
	}
	c.Detach()
	if c.broken {
		c.Close()
		return
	}
	c.released = true
	c.giveBuffer()
	c.ctx = nil
	if !c.host.keep(c) {
		c.host.drop(c)
	}
}

// Detach stops watching the context, for a reader that has all it wants: from now on its end does not cost the connection.
func (c *Conn) Detach() {
	if c.unbind == nil {
		return
	}
	if !c.unbind() { // the interrupt runs or has run
		c.broken = true
	}
	c.unbind = nil
}

// Drain ends the exchange like Finish, for a reader that has seen all it wants: the end of the body usually follows at
// once, and a connection is worth a short wait for it. A goroutine does the waiting.
func (c *Conn) Drain() {
	if c.released {
		return
	}
	c.Detach()
	c.Keep(0)
	if c.Head.Status == 0 || c.Head.Close || c.broken || c.atEnd() {
		c.Finish()
		return
	}
	go c.awaitEnd()
}

// awaitEnd reads the rest of a body that has nothing more to say.
func (c *Conn) awaitEnd() {
	defer func() {
		if p := recover(); p != nil {
			c.broken = true
			if told := c.host.options.Panicked; told != nil {
				told(p, debug.Stack())
			}
		}
		c.Finish()
	}()
	c.SetDeadline(time.Now().Add(drainWait))
	for range drainReadsMax {
		if _, err := c.Next(); err != nil {
			c.broken = !errors.Is(err, io.EOF)
			return
		}
		c.Keep(0)
	}
	c.broken = true
}

// atEnd reports whether the end of the body is here, or can no longer come. It does not wait.
func (c *Conn) atEnd() bool {
	if c.skim() || !c.plain {
		return c.body.state == ended || c.broken
	}
	got := false
	err := c.raw.Read(func(fd uintptr) bool {
		got = c.tryRead(fd) && c.err == nil
		return true
	})
	if err != nil || !got {
		return false
	}
	c.v.hi += c.n
	return c.skim()
}

// skim drops what has arrived of the body and reports whether its end was there.
func (c *Conn) skim() bool {
	var err error
	if c.v, err = c.body.decode(c.bytes(), c.v); err != nil || c.invalid != nil {
		c.broken = true
		return true
	}
	c.Keep(0)
	return c.body.state == ended
}

// Close ends the exchange and closes the connection, which cancels the work at the server. It may be called more than
// once.
func (c *Conn) Close() {
	if c.released {
		return
	}
	c.released = true
	c.Detach()
	c.giveBuffer()
	c.host.drop(c)
}
