package fault

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Header marks every answer of the simulator.
const (
	Header      = "X-Simulator"
	HeaderValue = "modelgate-mockmodel"
)

const (
	lengthUnknown = -1 // chunked, or ended by closing
	lengthOfBody  = -2 // the real length, filled in by sendBody
)

// head is the head of an answer.
type head struct {
	status int
	// contentType is left out if empty.
	contentType string
	// length is Content-Length in bytes, or one of the constants above.
	length int
	extra  [][2]string
}

func streamHead() head {
	return head{
		status: http.StatusOK, contentType: "text/event-stream; charset=utf-8", length: lengthUnknown,
		extra: [][2]string{{"Cache-Control", "no-cache"}},
	}
}

func jsonHead() head {
	return head{status: http.StatusOK, contentType: "application/json", length: lengthOfBody}
}

// sink carries an answer. Each write reaches the wire before it returns.
type sink interface {
	begin(h head) error
	write(p []byte) error
	end() error
}

// http is the ordinary sink: net/http frames the answer and keeps the connection.
func (x *Exchange) http() sink { return &httpSink{w: x.W} }

type httpSink struct{ w http.ResponseWriter }

func (s *httpSink) begin(h head) error {
	for _, kv := range h.extra {
		s.w.Header().Add(kv[0], kv[1])
	}
	s.w.Header().Set("Content-Type", h.contentType)
	if h.length >= 0 {
		s.w.Header().Set("Content-Length", strconv.Itoa(h.length))
	}
	s.w.WriteHeader(h.status)
	if h.length >= 0 {
		return nil // head and body of a short answer leave together; write(nil) sends the head alone
	}
	return http.NewResponseController(s.w).Flush()
}

func (s *httpSink) write(p []byte) error {
	if _, err := s.w.Write(p); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

func (s *httpSink) end() error { return nil }

// splitSink writes everything in small pieces, each flushed on its own.
type splitSink struct {
	sink
	x *Exchange
	// size is the length of a piece in bytes, wait the time between pieces.
	size int
	wait time.Duration
}

func (s *splitSink) write(p []byte) error {
	for len(p) > 0 {
		n := min(max(s.size, 1), len(p))
		if err := s.sink.write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
		if err := s.x.sleep(s.wait); err != nil {
			return err
		}
	}
	return nil
}

// rawConn is a hijacked connection with a goroutine that watches for the caller's departure.
type rawConn struct {
	net.Conn
	x *Exchange
}

// hijack takes the connection from net/http. It is closed when the exchange's context ends.
func (x *Exchange) hijack() (*rawConn, error) {
	if x.raw != nil {
		return x.raw, nil
	}
	conn, _, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		return nil, fmt.Errorf("take over the connection: %w", err)
	}
	x.raw = &rawConn{Conn: conn, x: x}
	context.AfterFunc(x.Ctx, func() { _ = conn.Close() }) // frees a write that is blocked on a caller who left
	go x.raw.watch()
	return x.raw, nil
}

// Release closes a hijacked connection, if there is one.
func (x *Exchange) Release() {
	if x.raw != nil {
		x.Entry.Closing()
		_ = x.raw.Close() // nothing is left to be lost
	}
}

// watch reads, which also keeps the receive buffer empty: closing a socket with unread bytes would send a reset
// where a scenario wants a plain end.
func (c *rawConn) watch() {
	var scratch [512]byte
	for {
		if _, err := c.Read(scratch[:]); err != nil {
			c.x.Leave()
			return
		}
	}
}

// reset ends the connection with a TCP reset.
func (c *rawConn) reset() error {
	c.x.Entry.Closing()
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil {
			return err
		}
	}
	return c.Close()
}

// framing is how a raw answer says where its body ends.
type framing int

const (
	chunked framing = iota
	byLength
	byClose
)

// rawSink writes the answer's bytes itself.
type rawSink struct {
	c       *rawConn
	framing framing
	proto   string // "HTTP/1.1" if empty
	// keep leaves the connection looking reusable; otherwise the head says Connection: close.
	keep bool
	// before is sent ahead of the head, extension after each chunk size, trailer before the last line.
	before, extension, trailer string
	// extraHead is added to the head: whole lines with their line ends.
	extraHead string
	// headWait is slept after every byte of the head.
	headWait time.Duration
}

func (s *rawSink) begin(h head) error {
	text := s.before + s.headText(h)
	if s.headWait == 0 {
		return s.put([]byte(text))
	}
	for i := range len(text) {
		if err := s.put([]byte{text[i]}); err != nil {
			return err
		}
		if err := s.c.x.sleep(s.headWait); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawSink) headText(h head) string {
	var b strings.Builder
	proto := s.proto
	if proto == "" {
		proto = "HTTP/1.1"
	}
	fmt.Fprintf(&b, "%s %d %s\r\n%s: %s\r\n", proto, h.status, http.StatusText(h.status), Header, HeaderValue)
	if h.contentType != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", h.contentType)
	}
	for _, kv := range h.extra {
		fmt.Fprintf(&b, "%s: %s\r\n", kv[0], kv[1])
	}
	switch s.framing {
	case chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case byLength:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", h.length)
	case byClose:
	}
	if !s.keep {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString(s.extraHead + "\r\n")
	return b.String()
}

func (s *rawSink) write(p []byte) error {
	if s.framing != chunked {
		return s.put(p)
	}
	if len(p) == 0 {
		return nil
	}
	frame := append([]byte(nil), fmt.Sprintf("%x%s\r\n", len(p), s.extension)...)
	return s.put(append(append(frame, p...), "\r\n"...))
}

func (s *rawSink) end() error {
	if s.framing != chunked {
		return nil
	}
	return s.put([]byte("0\r\n" + s.trailer + "\r\n"))
}

func (s *rawSink) put(p []byte) error {
	_, err := s.c.Write(p)
	return err
}
