package transport

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// bytes returns the buffer, or nil while there is none.
func (c *Conn) bytes() []byte {
	if c.buf == nil {
		return nil
	}
	return *c.buf
}

// fill reads once, after what is in the buffer. On a plain TCP connection with an empty buffer it waits without one.
func (c *Conn) fill() error {
	if c.v.lo == c.v.hi {
		c.giveBuffer()
	} else if err := c.makeRoom(); err != nil {
		return err
	}
	n, err := c.read()
	if err != nil {
		c.letGo()
		return err
	}
	c.v.hi += n
	if c.v.hi == len(*c.buf) {
		c.want = bufferLarge
	} else if n < bufferSmall {
		c.want = bufferSmall
	}
	return nil
}

// read reads once behind what the buffer holds. An interrupt that comes before the look at gone is seen here, even if a
// deadline was set after it; one that comes later sets its own deadline last.
func (c *Conn) read() (int, error) {
	if c.gone.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	if c.plain {
		if err := c.raw.Read(c.readable); err != nil {
			return 0, err
		}
		return c.n, c.err
	}
	c.takeBuffer()
	n, err := c.nc.Read((*c.buf)[c.v.hi:])
	if n > 0 {
		return n, nil // an error comes again
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return 0, err
}

// tryRead reads what is there into a buffer that it takes only now, and reports whether it is worth returning. With a request
// to write it does that instead.
func (c *Conn) tryRead(fd uintptr) bool {
	if c.out != nil && !c.sendOut(int(fd)) {
		return c.err != nil
	}
	c.takeBuffer()
	for {
		c.n, c.err = syscall.Read(int(fd), (*c.buf)[c.v.hi:])
		switch {
		case c.err == nil && c.n == 0:
			c.err = io.EOF
		case errors.Is(c.err, syscall.EINTR):
			continue
		case errors.Is(c.err, syscall.EAGAIN):
			c.letGo()
			return false
		}
		return true
	}
}

// makeRoom makes sure that there is space behind what the buffer holds.
func (c *Conn) makeRoom() error {
	used := c.v.hi - c.v.lo
	if c.v.hi+min(c.want, bufferSmall)/2 <= len(*c.buf) {
		return nil
	}
	if used > bufferMax {
		return invalid("more unread body than allowed")
	}
	if size := max(2*used, c.want); size > len(*c.buf) {
		larger := c.host.buffers.take(size)
		copy(*larger, (*c.buf)[c.v.lo:c.v.hi])
		c.host.buffers.give(c.buf)
		c.buf = larger
	} else {
		copy(*c.buf, (*c.buf)[c.v.lo:c.v.hi])
	}
	c.v = view{0, c.v.mid - c.v.lo, used}
	return nil
}

func (c *Conn) takeBuffer() {
	if c.buf == nil {
		c.buf = c.host.buffers.take(c.want)
		c.v = view{}
	}
}

// letGo gives the buffer back when nothing is in it.
func (c *Conn) letGo() {
	if c.v.lo == c.v.hi {
		c.giveBuffer()
	}
}

func (c *Conn) giveBuffer() {
	if c.buf != nil {
		c.host.buffers.give(c.buf)
		c.buf = nil
	}
	c.v = view{}
}

// sendOut writes the request, leaves what could not be written in out with the reason in err, and reports whether to read at
// once. That is only worth while if the server spoke first. It runs where a read is tried before it is waited for: the poller
// has forgotten earlier events by then, so whatever comes later ends the wait, and a read that would find nothing is spared.
func (c *Conn) sendOut(fd int) (readNow bool) {
	silent := quiet(fd)
	if c.reused && !silent {
		c.err = errNotQuiet
		return false
	}
	for {
		n, err := syscall.Write(fd, c.out)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			c.err = err
			return false
		case n < len(c.out):
			c.out, c.err = c.out[n:], syscall.EAGAIN
			return false
		}
		c.out = nil
		return !silent
	}
}

// errNotQuiet is why a connection that was idle is not used again.
var errNotQuiet = errors.New("an idle connection was closed or said something")

// quiet reports whether an idle connection is open and has nothing to read. Bytes that nobody asked for would be taken
// for the next answer.
func (c *Conn) quiet() bool {
	if c.raw != nil {
		alive := false
		err := c.raw.Control(func(fd uintptr) { alive = quiet(int(fd)) })
		if err != nil || !alive {
			return false
		}
	}
	if c.plain {
		return true
	}
	var b [1]byte // what TLS has decrypted, or read and not decrypted yet
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	_, err := c.nc.Read(b[:])
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func quiet(fd int) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return errors.Is(err, syscall.EAGAIN)
}
