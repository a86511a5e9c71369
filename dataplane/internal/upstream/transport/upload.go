package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
)

// UploadTimes bound an upload.
type UploadTimes struct {
	Connect time.Duration // dialing and the TLS handshake
	Stall   time.Duration // for the server to take a piece of the body
	Head    time.Duration // from the end of the body to the end of the head
	Total   time.Duration // for all of it, which is as long as the body takes to come
}

// SourceError is the error of the body of an upload.
type SourceError struct{ Err error }

// Error returns the cause.
func (e *SourceError) Error() string { return "read the body: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// Upload writes a request whose body is read while it is sent, and waits for the head of the answer. The head is given up to
// its last field; how the body ends is added: a length if all of it is there at the first reading, else chunks. The connection
// is a fresh one, since the body could not be sent again after an idle one turned out to be closed. body is first read when
// there is a connection. When the server answers before it has taken the whole body, the rest is not read.
//
// The errors are *Error, the cause of ctx, or a *SourceError; the server cannot take what it has got by then for a whole request.
func (h *Host) Upload(ctx context.Context, head []byte, body io.Reader, t UploadTimes) (*Conn, error) {
	c, err := h.dial(ctx, t.Connect)
	if errors.Is(err, ErrBusy) {
		if idle := h.reuse(); idle != nil { // it gives its place to a fresh one
			h.drop(idle)
			c, err = h.dial(ctx, t.Connect)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.upload(ctx, head, body, t); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// upload sends the request and waits for the head, which may come first.
func (c *Conn) upload(ctx context.Context, head []byte, body io.Reader, t UploadTimes) error {
	limit := time.Now().Add(t.Total)
	c.begin(ctx, limit)
	c.bind()
	if err := c.sendWhile(head, body, t.Stall); err != nil {
		if _, ok := errors.AsType[*SourceError](err); ok {
			if c.gone.Load() {
				return context.Cause(ctx)
			}
			return err
		}
		if e, ok := errors.AsType[*Error](err); ok { // of an answer that came early
			return e
		}
		return c.lateHead(err)
	}
	if c.Head.Status != 0 {
		return nil
	}
	if by := time.Now().Add(t.Head); by.Before(limit) {
		c.headLimit = by
	}
	return c.Await(c.headLimit)
}

// What surrounds the bytes of a chunk in the buffer that it is written from: the line with its size, at most
// "ffff\r\n", and behind it the line end and the last chunk.
const (
	chunkFront = 6
	chunkBack  = 2 + len("0\r\n\r\n")
)

// sendWhile reads and sends the body piece by piece. It returns early, without an error, when the server has answered.
func (c *Conn) sendWhile(head []byte, body io.Reader, stall time.Duration) error {
	buffer := c.host.buffers.take(bufferLarge)
	defer c.host.buffers.give(buffer)
	room := (*buffer)[chunkFront : len(*buffer)-chunkBack]
	n, last, err := fillFrom(body, room, len(room))
	if err != nil {
		return err
	}
	if last {
		head = append(append(append(head, "Content-Length: "...), strconv.Itoa(n)...), "\r\n\r\n"...)
		return c.sendPiece(append(head, room[:n]...), stall)
	}
	if err := c.sendPiece(append(head, "Transfer-Encoding: chunked\r\n\r\n"...), stall); err != nil {
		return err
	}
	for {
		if answered, err := c.spoken(); answered || err != nil {
			return err
		}
		if err := c.sendPiece(chunk(*buffer, n, last), stall); err != nil || last {
			return err
		}
		if n, last, err = fillFrom(body, room, pieceBytesMin); err != nil {
			return err
		}
	}
}

// fillFrom reads at least so many bytes, or all that is left. Nothing but io.EOF itself is the end.
func fillFrom(body io.Reader, room []byte, atLeast int) (n int, last bool, err error) {
	for idle := 0; n < atLeast && !last; idle++ {
		m, err := body.Read(room[n:])
		n += m
		last = err == io.EOF // an error that wraps it is none
		switch {
		case err != nil && !last:
			return n, false, &SourceError{err}
		case m > 0:
			idle = 0
		case idle > emptyReadsMax:
			return n, false, &SourceError{io.ErrNoProgress}
		}
	}
	return n, last, nil
}

// chunk frames the n bytes behind the front of the buffer, and returns what to send.
func chunk(buffer []byte, n int, last bool) []byte {
	start, end := chunkFront, chunkFront+n
	if n > 0 {
		size := append(strconv.AppendInt(make([]byte, 0, chunkFront), int64(n), 16), "\r\n"...)
		start -= copy(buffer[chunkFront-len(size):], size)
		end += copy(buffer[end:], "\r\n")
	}
	if last {
		end += copy(buffer[end:], "0\r\n\r\n")
	}
	return buffer[start:end]
}

// sendPiece writes with a deadline of its own. An interrupt that comes before the look at gone is seen here, one that comes
// later sets its own deadline last.
func (c *Conn) sendPiece(piece []byte, stall time.Duration) error {
	_ = c.nc.SetWriteDeadline(time.Now().Add(stall)) // fails only on a closed connection, whose writes fail as well
	if c.gone.Load() {
		return os.ErrDeadlineExceeded
	}
	_, err := c.nc.Write(piece)
	return err //nolint:wrapcheck // lateHead does
}

// spoken reports whether the server has answered although it has not got the whole body.
func (c *Conn) spoken() (bool, error) {
	if c.raw == nil || !c.readableNow() {
		return false, nil
	}
	err := c.Await(time.Now().Add(earlyWait))
	if e, ok := errors.AsType[*Error](err); ok && e.Timeout() { // a part of a head, or what TLS sends between records
		return false, nil
	}
	c.broken = true
	return err == nil, err
}

// readableNow reports whether the socket has bytes or its end to read.
func (c *Conn) readableNow() bool {
	there := false
	err := c.raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		there = !errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && there
}
