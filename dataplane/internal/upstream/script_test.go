package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// script is a model server in raw TCP: it reads a request, then does what it is told.
type script struct {
	t  *testing.T
	do func(a *act)

	mu     sync.Mutex
	bodies []string // of the requests
	closed chan struct{}
}

// act is one answer of a script.
type act struct {
	nc     net.Conn
	n      int // of the request on all connections, from 0
	stream bool
}

func (a *act) say(text string) { io.WriteString(a.nc, text) }

func (a *act) sayf(format string, args ...any) { fmt.Fprintf(a.nc, format, args...) }

// events begins an answer whose body is sent by chunk.
func (a *act) events() {
	a.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
}

// chunk sends one HTTP chunk.
func (a *act) chunk(text string) error {
	_, err := fmt.Fprintf(a.nc, "%x\r\n%s\r\n", len(text), text)
	return err
}

// end sends the last chunk.
func (a *act) end() { a.say("0\r\n\r\n") }

// reset closes the connection with a RST.
func (a *act) reset() {
	a.nc.(*net.TCPConn).SetLinger(0)
	a.nc.Close()
}

// body sends a whole answer.
func (a *act) body(status int, contentType, text string) {
	a.sayf("HTTP/1.1 %d Status\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, contentType, len(text), text)
}

// delta is an event with text, which must be JSON-escaped.
func delta(escaped string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"` +
		escaped + `"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
}

const (
	roleEvent  = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	stopEvent  = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usageEvent = `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}` + "\n\n"
	doneEvent  = "data: [DONE]\n\n"
	tail       = stopEvent + usageEvent + doneEvent
)

// newScript starts a server and returns an upstream that asks it.
func newScript(t *testing.T, o Options, do func(a *act)) (*ChatServer, *script) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, do: do, closed: make(chan struct{}, 16)}
	go s.accept(l)
	up := newUpstream(t, "http://"+l.Addr().String()+"/v1", o)
	t.Cleanup(func() { l.Close(); up.Close() })
	return up, s
}

func newUpstream(t *testing.T, baseURL string, o Options) *ChatServer {
	t.Helper()
	spec := plane.UpstreamSpec{ID: "up", Dialect: plane.DialectChat, BaseURL: baseURL, Model: "m"}
	up, err := New(spec, "sesame", o)
	if err != nil {
		t.Fatal(err)
	}
	return up
}

func (s *script) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		go s.serve(nc)
	}
}

func (s *script) serve(nc net.Conn) {
	defer func() {
		nc.Close()
		s.closed <- struct{}{}
	}()
	for r := bufio.NewReader(nc); ; {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		n := len(s.bodies) - 1
		s.mu.Unlock()
		s.do(&act{nc: nc, n: n, stream: bytes.Contains(body, []byte(`"stream":true`))})
	}
}

func (s *script) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// awaitClosed waits until the server has seen a connection end.
func (s *script) awaitClosed() {
	s.t.Helper()
	select {
	case <-s.closed:
	case <-time.After(10 * time.Second):
		s.t.Error("the upstream does not see its connection end")
	}
}

var hello = &Chat{Prompt: []byte(`"Say hello."`), MaxTokens: 16}

// heard is what a client got of a stream.
type heard struct {
	text    string // the inside of the literals, as sent
	pings   int
	outcome call.Outcome
	openErr error
}

// listen opens a stream and relays it to the end.
func listen(t *testing.T, ctx context.Context, up *ChatServer, c *Chat) (h heard) {
	t.Helper()
	s, err := up.Open(ctx, c)
	if err != nil {
		h.openErr = err
		return h
	}
	return relayed(t, s)
}

// relayed relays a stream to the end.
func relayed(t *testing.T, s call.Stream) (h heard) {
	t.Helper()
	defer s.Close()
	var out bytes.Buffer
	w := sse.NewWriter(&out, nil)
	h.outcome = s.Relay(w)
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
	h.text, h.pings = textOfFrames(t, out.String())
	return h
}

// textOfFrames checks our own framing and returns the text in it.
func textOfFrames(t *testing.T, frames string) (text string, pings int) {
	t.Helper()
	const open, closing = `data: {"type":"delta","text":"`, `"}`
	for frame := range strings.SplitSeq(strings.TrimSuffix(frames, "\n\n"), "\n\n") {
		switch {
		case frame == ": keep-alive":
			pings++
		case strings.HasPrefix(frame, open) && strings.HasSuffix(frame, closing):
			text += frame[len(open) : len(frame)-len(closing)]
		case frame != "":
			t.Errorf("unexpected frame %q", frame)
		}
	}
	return text, pings
}

// failingWriter is a client that leaves after some writes.
type failingWriter struct{ left int }

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("broken pipe")
	}
	return len(p), nil
}
