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

// tryRead reads what is there into a buffer that it takes only now, and reports whether it is worth returning.
func (c *Conn) tryRead(fd uintptr) bool {
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

// quiet reports whether an idle connection is open and has nothing to read. Bytes that nobody asked for would be taken
// for the next answer.
func (c *Conn) quiet() bool {
	if c.raw != nil {
		alive := false
		err := c.raw.Control(func(fd uintptr) {
			var b [1]byte
			_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			alive = errors.Is(err, syscall.EAGAIN)
		})
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
