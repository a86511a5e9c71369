package listener

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// input is the receiving side of a plain TCP connection. The server waits for a request by reading a single byte, so that an
// idle connection holds no buffer, reads the rest when it is there, and sets two deadlines on the way; input makes one read of
// the socket of it, and sets a deadline only when it has to wait and the one that is set does not do.
//
// It belongs to the goroutine that serves the connection.
type input struct {
	raw syscall.RawConn         // nil for connections that are read as they are
	off syscall.RawConn         // raw, while the connection is read as it is
	try func(fd uintptr) bool   // c.tryRead
	arm func(t time.Time) error // the socket's SetReadDeadline

	lender *buffers
	buf    *[]byte // lent while rest is not empty
	rest   []byte  // was read and not handed out yet

	by, armed time.Time // the deadline that is wanted, and the one that is set

	shut bool // nothing is read

	dst []byte // of tryRead
	n   int    // likewise
	err error  // likewise
}

// buffers lends buffers that a usual request fits.
type buffers struct{ pool sync.Pool }

func (b *buffers) take() *[]byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return buf
	}
	buf := make([]byte, headBytesMax)
	return &buf
}

// open finds out how the connection is read.
func (in *input) open(conn net.Conn, lender *buffers) {
	in.arm, in.lender = conn.SetReadDeadline, lender
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		in.raw, in.try = raw, in.tryRead
	}
}

// direct leaves the deadlines to whoever sets the socket's. What was read ahead is handed out first.
func (in *input) direct() { in.raw, in.off = nil, in.raw }

// resume takes the deadlines back, of which none is set, and hands out first what somebody read too much.
func (in *input) resume(ahead []byte) {
	in.raw, in.off = in.off, nil
	in.by, in.armed = time.Time{}, time.Time{}
	if len(ahead) == 0 {
		return
	}
	ahead = append(ahead, in.rest...)
	if in.buf != nil {
		in.lender.pool.Put(in.buf)
		in.buf = nil
	}
	in.rest = ahead
}

// setDeadline sets the deadline of reads.
func (in *input) setDeadline(t time.Time) error {
	in.by = t
	if in.raw == nil {
		return in.rearm()
	}
	return nil // read does it
}

func (in *input) rearm() error {
	in.armed = in.by
	return in.arm(in.by)
}

var errShut = errors.New("nothing is read at the moment")

// read reads at least a byte.
func (in *input) read(conn net.Conn, p []byte) (int, error) {
	if in.shut {
		return 0, errShut
	}
	if len(in.rest) > 0 || len(p) == 0 {
		return in.hand(p), nil
	}
	if in.raw == nil {
		return conn.Read(p)
	}
	if in.by.IsZero() != in.armed.IsZero() || in.by.Sub(in.armed) > readRefresh {
		if err := in.rearm(); err != nil {
			return 0, err
		}
	}
	in.dst = p
	err := in.raw.Read(in.try)
	in.dst = nil
	switch {
	case err != nil:
		return 0, err
	case in.err != nil:
		return 0, in.err
	case len(p) > 1:
		return in.n, nil
	}
	in.rest = (*in.buf)[:in.n]
	return in.hand(p), nil
}

// hand hands out what was read before.
func (in *input) hand(p []byte) int {
	n := copy(p, in.rest)
	if in.rest = in.rest[n:]; len(in.rest) > 0 {
		return n
	}
	in.rest = nil
	if in.buf != nil {
		in.lender.pool.Put(in.buf)
		in.buf = nil
	}
	return n
}

// tryRead reads what is there and reports whether there was anything. For a single byte it takes a buffer and reads on.
func (in *input) tryRead(fd uintptr) bool {
	dst := in.dst
	if len(dst) == 1 {
		in.buf = in.lender.take()
		dst = *in.buf
	}
	for {
		in.n, in.err = syscall.Read(int(fd), dst)
		if !errors.Is(in.err, syscall.EINTR) {
			break
		}
	}
	switch {
	case in.err == nil && in.n > 0:
		return true
	case in.err == nil:
		in.err = io.EOF
	}
	if in.buf != nil {
		in.lender.pool.Put(in.buf)
		in.buf = nil
	}
	if !errors.Is(in.err, syscall.EAGAIN) {
		return true
	}
	if in.armed.After(in.by) {
		_ = in.rearm() // fails only on a closed connection, which is not waited for
	}
	return false
}
