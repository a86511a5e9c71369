package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// framing is how a body ends.
type framing int

const (
	byLength framing = iota
	byChunks
	byClose
	ended
)

// conn reads answers from a connection.
type conn struct {
	nc     net.Conn
	unbind func() bool // undoes the tie to the run's context
	buf    []byte
	r, w   int       // buf[r:w] has been read and not used
	at     time.Time // of the last read
	waits  func()    // called before each read; may be nil
	status int
	keep   bool // the connection can be used again
	framed framing
	left   int64 // bytes of the body, or of the chunk
	inside bool  // a chunk's line end is still to come
}

var (
	errHead  = errors.New("the answer's head is not HTTP/1.1")
	errChunk = errors.New("the answer's chunks are broken")
	errLong  = errors.New("a line of the answer is too long")
)

// dial connects and gives the connection until a moment to live. It is closed when the context ends.
func dial(ctx context.Context, t Target, bufferSize int, until time.Time) (*conn, error) {
	d := net.Dialer{Timeout: dialWait}
	nc, err := d.DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	if err := nc.SetDeadline(until); err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	unbind := context.AfterFunc(ctx, func() { _ = nc.Close() })
	return &conn{nc: nc, unbind: unbind, buf: make([]byte, bufferSize)}, nil
}

func (c *conn) close() {
	c.unbind()
	_ = c.nc.Close() // leave may have done it
}

// send writes the request.
func (c *conn) send(t Target) error {
	_, err := c.nc.Write(t.request)
	return err
}

// fill reads once.
func (c *conn) fill() error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	} else if c.w == len(c.buf) {
		if c.r == 0 {
			return errLong
		}
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	if c.waits != nil {
		c.waits()
	}
	n, err := c.nc.Read(c.buf[c.w:])
	c.at = time.Now()
	c.w += n
	if n > 0 {
		return nil
	}
	return err
}

// line takes one line without its end.
func (c *conn) line() ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(c.buf[c.r+seen:c.w], '\n'); i >= 0 {
			line := c.buf[c.r : c.r+seen+i]
			c.r += seen + i + 1
			return bytes.TrimSuffix(line, []byte{'\r'}), nil
		}
		seen = c.w - c.r
		if err := c.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// head reads the head of an answer, interim ones aside. Its error is io.EOF if the peer closed before the first byte.
func (c *conn) head() error {
	for {
		if c.r == c.w {
			if err := c.fill(); err != nil {
				return err
			}
		}
		if err := c.oneHead(); err != nil {
			return err
		}
		if c.status >= 200 {
			return nil
		}
	}
}

func (c *conn) oneHead() error {
	line, err := c.line()
	if err != nil {
		return err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return errHead
	}
	if c.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return errHead
	}
	c.keep, c.framed, c.left, c.inside = true, byClose, 0, false
	for size := 0; ; {
		line, err := c.line()
		if err != nil {
			return err
		}
		if size += len(line); size > headBytesMax {
			return errLong
		}
		if len(line) == 0 {
			break
		}
		if err := c.field(line); err != nil {
			return err
		}
	}
	if c.status == 204 || c.status == 304 || c.status < 200 {
		c.framed = ended
	}
	c.keep = c.keep && c.framed != byClose
	return nil
}

// field takes over a header field that concerns framing. Most are told apart by length alone.
func (c *conn) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch len(name) {
	case len("Connection"):
		if bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")) {
			c.keep = false
		}
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) && c.framed == byClose {
			n, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil || n < 0 {
				return errHead
			}
			c.framed, c.left = byLength, n
		}
	case len("Transfer-Encoding"):
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			if !bytes.EqualFold(value, []byte("chunked")) {
				return fmt.Errorf("%w: transfer encoding %q", errHead, value)
			}
			c.framed, c.left = byChunks, 0
		}
	}
	return nil
}

// next returns the next piece of the body, valid until the following call, and io.EOF after the last one.
func (c *conn) next() ([]byte, error) {
	switch c.framed {
	case byLength:
		if c.left == 0 {
			c.framed = ended
			return nil, io.EOF
		}
		return c.take()
	case byChunks:
		if c.left == 0 {
			if err := c.chunk(); err != nil {
				return nil, err
			}
		}
		return c.take()
	case byClose:
		c.left = int64(len(c.buf))
		p, err := c.take()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			c.framed = ended
			return nil, io.EOF
		}
		return p, err
	default:
		return nil, io.EOF
	}
}

// take returns what is there of the c.left bytes that follow, reading if nothing is.
func (c *conn) take() ([]byte, error) {
	if c.r == c.w {
		if err := c.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
	n := int(min(c.left, int64(c.w-c.r)))
	p := c.buf[c.r : c.r+n]
	c.r += n
	c.left -= int64(n)
	return p, nil
}

// chunk reads the line before a chunk, and everything behind the last one. Its error is io.EOF then.
func (c *conn) chunk() error {
	if c.inside {
		end, err := c.line()
		if err != nil {
			return err
		}
		if len(end) > 0 {
			return errChunk
		}
	}
	line, err := c.line()
	if err != nil {
		return err
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, ok := hex(bytes.TrimSpace(size))
	if !ok {
		return errChunk
	}
	if c.left, c.inside = n, true; n > 0 {
		return nil
	}
	for {
		trailer, err := c.line()
		if err != nil {
			return err
		}
		if len(trailer) == 0 {
			c.framed = ended
			return io.EOF
		}
	}
}

func hex(digits []byte) (n int64, ok bool) {
	const digitsMax = 15
	if len(digits) == 0 || len(digits) > digitsMax {
		return 0, false
	}
	for _, d := range digits {
		switch {
		case d >= '0' && d <= '9':
			n = n<<4 + int64(d-'0')
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			n = n<<4 + int64(d|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
