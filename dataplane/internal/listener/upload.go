package listener

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
)

// Upload is the body of a request whose bytes are still arriving. Nothing of it is kept: memory is the reader's buffer.
//
// The server would take what a handler leaves of such a body for the next request, so it is told that there is no body, and
// the connection is taken away from it. After the answer the connection is closed, unless the body was read to its end before the
// answer: what is left of a body is never read as a request. On paths that take uploads it is closed always.
//
// Upload is used by one goroutine, except for Abort.
type Upload struct {
	conn    *Conn
	from    io.Reader     // what the server has read ahead, then the connection
	body    io.Reader     // the body in it
	chunks  *bufio.Reader // what body reads from, if it is in chunks
	length  int64         // stated bytes, or chunked
	max     int64         // bytes
	got     int64         // bytes
	expects bool          // the client waits for 100 Continue
	by      time.Time     // when the whole body has to be there
	readBy  time.Time     // the deadline that is set
	broken  error         // why the connection brings no more; it does not end before the body does
	err     error         // final

	mu      sync.Mutex
	over    bool // the connection is not the upload's any more
	aborted atomic.Bool
}

// Length returns the stated length in bytes, or -1 when the body is sent in chunks.
func (u *Upload) Length() int64 { return u.length }

// Abort ends the reading of the body, now and in future.
func (u *Upload) Abort() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return
	}
	u.aborted.Store(true)
	_ = u.conn.Conn.SetReadDeadline(time.Unix(1, 0)) // the socket's own, which any goroutine may set
}

var (
	errAborted = errors.New("upload: the call has ended")
	errStalled = apierr.New(apierr.Timeout, fmt.Sprintf("Nothing of the body arrived for %s.", stallTime))
	errTooLong = apierr.New(apierr.Timeout, "The body did not arrive in time.")
)

// Read implements io.Reader. Apart from io.EOF its errors are final answers: 400, 408, 413, or call.ErrClientGone.
func (u *Upload) Read(p []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	if u.expects {
		u.expects = false
		if _, err := io.WriteString(u.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			u.err = call.ErrClientGone
			return 0, u.err
		}
	}
	n, err := u.body.Read(p)
	u.got += int64(n)
	switch {
	case u.got > u.max:
		n, u.err = 0, tooLarge(u.max)
	case u.broken != nil: // whatever the parser of chunks makes of it, which is the end of the body for some
		u.err = u.explain()
	case err != nil && err != io.EOF:
		u.err = errMalformed.Because(err)
	default:
		u.err = err
	}
	return n, u.err
}

// explain makes an answer of why the connection brought no more.
func (u *Upload) explain() error {
	var slow interface {
		error
		Timeout() bool
	}
	late := errors.As(u.broken, &slow) && slow.Timeout()
	switch {
	case u.aborted.Load():
		return errAborted
	case late && !time.Now().Before(u.by):
		return errTooLong
	case late:
		return errStalled
	}
	u.conn.left() // the watch may not have come to it
	return call.ErrClientGone
}

// arriving reads an upload's bytes, each time with a fresh deadline as long as the total one allows: a client is cut for
// stalling, not for being slow, unless it is too slow for all of it. At most once a second the deadline is set anew.
type arriving struct{ u *Upload }

func (a arriving) Read(p []byte) (n int, err error) {
	u := a.u
	if now := time.Now(); u.readBy.Sub(now) < stallTime-deadlineRefresh && u.readBy.Before(u.by) {
		u.readBy = now.Add(stallTime)
		if u.by.Before(u.readBy) {
			u.readBy = u.by
		}
		err = u.conn.Conn.SetReadDeadline(u.readBy)
	}
	switch {
	case u.aborted.Load(): // before the deadline was set over its own
		err = errAborted
	case err == nil:
		n, err = u.from.Read(p)
	}
	u.broken = err
	return n, err
}

// takeOver takes the connection away from the server to answer a request whose body has not been read.
func (s *Server) takeOver(ctx *fasthttp.RequestCtx, c *Conn, length int64, expects bool) {
	s.apart.Add(1)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(from net.Conn) { s.serveApart(ctx, c, from, length, expects) })
}

// serveApart answers a request on a goroutine of its own, and then has the server serve the connection again, or closes it.
func (s *Server) serveApart(ctx *fasthttp.RequestCtx, c *Conn, from net.Conn, length int64, expects bool) {
	defer s.apart.Done()
	u := s.newUpload(ctx, c, from, length, expects)
	if !s.answerApart(ctx, u) {
		_ = c.Close()
		return
	}
	c.resume(u.end())
	go func() { _ = s.http.ServeConn(c) }() // how connections end is nobody's concern
}

// newUpload prepares the body of a request on a connection that was taken over.
func (s *Server) newUpload(ctx *fasthttp.RequestCtx, c *Conn, from net.Conn, length int64, expects bool) *Upload {
	c.answered, c.writeBy = false, time.Time{} // the server has cleared the deadlines
	c.in.direct()
	c.linger.Store(true)
	path := pathOf(ctx.Request.Header.RequestURI())
	u := &Upload{conn: c, from: from, length: length, expects: expects}
	if u.max = s.o.UploadMax(path); u.max > 0 && ctx.IsPost() {
		ctx.SetConnectionClose()
		u.by = ctx.Time().Add(s.o.UploadTime)
	} else {
		u.max, u.by = int64(s.o.BodyMax(path)), ctx.Time().Add(bodyTime)
	}
	if length == chunked {
		u.chunks = bufio.NewReaderSize(arriving{u}, chunkBufferBytes)
		u.body = newChunks(u.chunks)
	} else {
		u.body = io.LimitReader(arriving{u}, length)
	}
	return u
}

// answerApart answers a request and reports whether its connection can serve another.
func (s *Server) answerApart(ctx *fasthttp.RequestCtx, u *Upload) (goesOn bool) {
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("answer panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			goesOn = false
		}
	}()
	if u.length > u.max {
		s.o.Refuse(ctx, tooLarge(u.max))
	} else {
		u.conn.upload = u
		s.serve(ctx)
	}
	h := &ctx.Request.Header
	closes := !u.whole() || s.stopping.Load() || h.ConnectionClose() || !h.IsHTTP11() || ctx.Response.ConnectionClose()
	if closes {
		ctx.SetConnectionClose()
	}
	ctx.Response.SkipBody = ctx.IsHead()
	w := bufio.NewWriterSize(u.conn, writeBufferBytes)
	if err := ctx.Response.Write(w); err != nil {
		return false
	}
	return w.Flush() == nil && !closes
}

// whole reports whether the body was read to its end.
func (u *Upload) whole() bool {
	return errors.Is(u.err, io.EOF) || u.err == nil && u.length == u.got
}

// end gives the connection back and returns what was read of it behind the body.
func (u *Upload) end() (ahead []byte) {
	u.mu.Lock()
	u.over = true
	u.mu.Unlock()
	if u.chunks != nil {
		held, _ := u.chunks.Peek(u.chunks.Buffered()) // it is there
		ahead = append(ahead, held...)
	}
	u.conn.in.shut = true
	held, _ := io.ReadAll(u.from) // of the server's buffer; the connection gives nothing now
	u.conn.in.shut = false
	return append(ahead, held...)
}

// newChunks returns the body that is sent in chunks.
func newChunks(from *bufio.Reader) io.Reader {
	var r fasthttp.Request
	r.Header.SetContentLength(chunked)
	if err := r.ContinueReadBodyStream(from, 0, false); err != nil {
		panic("BUG: listener: a stream of chunks is not just made: " + err.Error())
	}
	return r.BodyStream()
}

// serve has the request answered, also when the handler panics.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	defer s.recoverRequest(ctx)
	s.o.Handler(ctx)
}

func tooLarge(bytes int64) *apierr.Error {
	return apierr.New(apierr.TooLarge, fmt.Sprintf("The body is larger than %d bytes.", bytes))
}
