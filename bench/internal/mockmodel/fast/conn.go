package fast

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"time"
)

const (
	readBufferBytes = 4 << 10 // also the longest header line
	maxHeadBytes    = 64 << 10
	maxBodyBytes    = 64 << 20
	keepBodyBytes   = 64 << 10 // a larger body buffer is not kept for the next request
)

// conn is one connection and its buffers.
type conn struct {
	s    *Server
	nc   net.Conn
	r    *bufio.Reader
	head []byte // of the current request, for the fallback
	body []byte
	out  []byte // a batch of events
	req  request
	// timed is true if a read deadline is set that the next request must not meet.
	timed bool
}

// request is what matters of the current request's head.
type request struct {
	chat    bool
	close   bool
	chunked bool
	expect  bool
	length  int
}

// refusal is a status that ends the connection.
type refusal int

func (r refusal) Error() string { return http.StatusText(int(r)) }

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{s: s, nc: nc, r: bufio.NewReaderSize(nc, readBufferBytes)}
}

// serve answers one request after the other until the connection ends.
func (c *conn) serve(ctx context.Context) {
	for {
		if err := c.read(); err != nil {
			var status refusal
			if errors.As(err, &status) {
				_, _ = fmt.Fprintf(c.nc, "HTTP/1.1 %d %s\r\n%sConnection: close\r\nContent-Length: 0\r\n\r\n", int(status), status.Error(), marker)
			}
			return
		}
		if !c.req.chat {
			if !c.fall(ctx) || c.req.close {
				return
			}
			continue
		}
		if !c.counted(ctx) || c.req.close {
			return
		}
		if cap(c.body) > keepBodyBytes {
			c.body = nil
		}
	}
}

// counted answers a chat completion and keeps the counters.
func (c *conn) counted(ctx context.Context) bool {
	c.s.requests.Add(1)
	c.s.open.Add(1)
	ok := c.chat()
	c.s.open.Add(-1)
	switch {
	case ok:
		c.s.done.Add(1)
	case ctx.Err() == nil:
		c.s.gone.Add(1)
	}
	return ok
}

// read reads one request, head and body.
func (c *conn) read() error {
	if c.timed {
		c.timed = false
		if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
	}
	if err := c.readHead(); err != nil {
		return err
	}
	if c.req.expect {
		if _, err := io.WriteString(c.nc, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err
		}
	}
	switch {
	case c.req.chunked && c.req.chat:
		return c.readChunked()
	case c.req.chunked:
		return refusal(http.StatusLengthRequired) // the fallback gets the head as it came, which has to fit the body
	}
	if c.req.length > maxBodyBytes {
		return refusal(http.StatusRequestEntityTooLarge)
	}
	if cap(c.body) < c.req.length {
		c.body = make([]byte, c.req.length)
	}
	c.body = c.body[:c.req.length]
	_, err := io.ReadFull(c.r, c.body)
	return err
}

func (c *conn) readHead() error {
	c.head, c.req = c.head[:0], request{}
	for {
		line, err := c.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(c.head) > maxHeadBytes {
			return refusal(http.StatusRequestHeaderFieldsTooLarge)
		} else if err != nil {
			return err
		}
		first := len(c.head) == 0
		c.head = append(c.head, line...)
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if !bytes.HasSuffix(line, []byte(" HTTP/1.1")) {
				return refusal(http.StatusHTTPVersionNotSupported)
			}
			after, ours := bytes.CutPrefix(line, []byte("POST /v1/chat/completions"))
			c.req.chat = ours && (after[0] == ' ' || after[0] == '?')
		case len(line) == 0:
			return nil
		default:
			if err := c.req.field(line); err != nil {
				return err
			}
		}
	}
}

// field takes over a header field that concerns framing.
func (r *request) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch len(name) { // most fields are told apart by length alone
	case len("Expect"):
		r.expect = r.expect || bytes.EqualFold(name, []byte("Expect"))
	case len("Connection"):
		if bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")) {
			r.close = true
		}
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) {
			n, err := strconv.Atoi(string(value))
			if err != nil || n < 0 {
				return refusal(http.StatusBadRequest)
			}
			r.length = n
		}
	case len("Transfer-Encoding"):
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			r.chunked = true
		}
	}
	return nil
}

func (c *conn) readChunked() error {
	body := bytes.NewBuffer(c.body[:0])
	if _, err := io.Copy(body, io.LimitReader(httputil.NewChunkedReader(c.r), maxBodyBytes)); err != nil {
		return refusal(http.StatusBadRequest)
	}
	c.body = body.Bytes()
	for { // trailer fields and the last line, which the chunked reader leaves
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return nil
		}
	}
}

// chat answers a chat completion and reports whether the caller got all of it.
func (c *conn) chat() bool {
	if !c.asks("stream") {
		if d := c.s.cfg.FirstDelay; d > 0 && !c.await(c.s.cfg.Now().Add(d)) {
			return false
		}
		return c.put(c.s.tpl.unary)
	}
	if !c.put(c.s.tpl.open) || !c.events() {
		return false
	}
	if c.asks("include_usage") {
		return c.put(c.s.tpl.tailUsage)
	}
	return c.put(c.s.tpl.tail)
}

// asks looks for "name":true. Inside a JSON string the quotes would be escaped, so a prompt cannot fake it.
func (c *conn) asks(name string) bool {
	key := make([]byte, 0, 32)
	key = append(append(append(key, '"'), name...), `":`...)
	rest := c.body
	for {
		i := bytes.Index(rest, key)
		if i < 0 {
			return false
		}
		rest = rest[i+len(key):]
		if bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("true")) {
			return true
		}
	}
}

func (c *conn) events() bool {
	cfg, tpl := &c.s.cfg, c.s.tpl
	next := cfg.Now().Add(cfg.FirstDelay)
	for left := cfg.Events; left > 0; {
		if cfg.Interval > 0 || (left == cfg.Events && cfg.FirstDelay > 0) {
			if !c.await(next) {
				return false
			}
		}
		n := min(left, cfg.Batch)
		out := tpl.event
		if n > 1 || tpl.stampAt >= 0 {
			out = c.batch(n)
		}
		if !c.put(out) {
			return false
		}
		left -= n
		next = next.Add(cfg.Interval)
	}
	return true
}

// batch builds n events with the present time in each.
func (c *conn) batch(n int) []byte {
	tpl := c.s.tpl
	c.out = c.out[:0]
	for range n {
		at := len(c.out)
		c.out = append(c.out, tpl.event...)
		if tpl.stampAt >= 0 {
			strconv.AppendInt(c.out[at+tpl.stampAt:at+tpl.stampAt], c.s.cfg.Now().UnixNano(), 10)
		}
	}
	return c.out
}

// await sleeps until a time by reading with a deadline, and reports false if the caller left meanwhile.
func (c *conn) await(until time.Time) bool {
	if c.r.Buffered() == 0 {
		c.timed = true
		if err := c.nc.SetReadDeadline(until); err != nil {
			return false
		}
		_, err := c.r.Peek(1)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return true
		} else if err != nil {
			return false
		}
	}
	// The next request is here already: departures cannot be seen behind it.
	time.Sleep(until.Sub(c.s.cfg.Now()))
	return true
}

func (c *conn) put(p []byte) bool {
	_, err := c.nc.Write(p)
	return err == nil
}

// fall lets the fallback handler answer and reports whether the connection can go on.
func (c *conn) fall(ctx context.Context) bool {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.head)))
	if err != nil {
		return false
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	c.s.fallback.ServeHTTP(w, r.WithContext(ctx))
	resp := http.Response{
		StatusCode: w.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.header,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Close: c.req.close,
	}
	return resp.Write(c.nc) == nil
}

// recorder keeps the fallback's answer until it is whole.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }
