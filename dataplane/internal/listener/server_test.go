package listener_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/shared/apierr"
)

const (
	smallMax = 1 << 20
	largeMax = 4 << 20

	uploadMax = 128 << 20

	hang = 30 * time.Second // what no step takes, however busy the machine is
)

// host is a server under test.
type host struct {
	address string
	watch   *listener.Watch
	budget  *listener.Budget
	server  *listener.Server
	seen    atomic.Int64 // requests that the handler got
	dial    func() (net.Conn, error)
}

// start serves the socket with a handler that answers the body, or does what handle does.
func start(t testing.TB, socket net.Listener, connsMax int, handle fasthttp.RequestHandler) *host {
	t.Helper()
	return startWith(t, socket, connsMax, nil, handle)
}

func startWith(t testing.TB, socket net.Listener, connsMax int, certificate *listener.Certificate, handle fasthttp.RequestHandler) *host {
	t.Helper()
	h := &host{budget: listener.NewBudget(8 << 20)}
	var err error
	if h.watch, err = listener.NewWatch(); err != nil {
		t.Fatal(err)
	}
	h.server = listener.New(listener.Options{
		Name: "test", Socket: socket, Watch: h.watch, Budget: h.budget, ConnsMax: connsMax,
		Certificate: certificate,
		Handler: func(ctx *fasthttp.RequestCtx) {
			if handle != nil {
				h.seen.Add(1)
				handle(ctx)
				return
			}
			body, err := bodyOf(ctx)
			if err != nil {
				refuse(ctx, apierr.From(err))
				return
			}
			h.seen.Add(1)
			ctx.SetBody(body)
		},
		Refuse:  refuse,
		BodyMax: bodyMax,
		UploadMax: func(path []byte) int64 {
			if string(path) == "/upload" {
				return uploadMax
			}
			return 0
		},
		UploadTime: time.Minute, WriteTime: 30 * time.Second,
		Log: slog.New(slog.DiscardHandler),
	})
	done := make(chan error, 1)
	go func() { done <- h.server.Serve() }()
	t.Cleanup(func() {
		if err := listener.Drain(context.Background(), h.watch, time.Second, slog.New(slog.DiscardHandler), h.server); err != nil {
			t.Errorf("drain: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return h
}

func bodyMax(path []byte) int {
	if string(path) == "/large" {
		return largeMax
	}
	return smallMax
}

func refuse(ctx *fasthttp.RequestCtx, err *apierr.Error) {
	status, body := apierr.Wire(err)
	ctx.SetStatusCode(status)
	ctx.SetBody(body)
}

// bodyOf is the whole body of a request, held by the account that its X-Account says.
func bodyOf(ctx *fasthttp.RequestCtx) ([]byte, error) {
	c := listener.Of(ctx)
	u := c.Upload()
	if u == nil {
		return ctx.Request.Body(), nil
	}
	return c.ReadBody(u, u.Length(), int64(bodyMax(ctx.Path())), string(ctx.Request.Header.Peek("X-Account")))
}

// loopback starts a watched server on a real socket.
func loopback(t testing.TB, connsMax int, handle fasthttp.RequestHandler) *host {
	t.Helper()
	return loopbackWith(t, connsMax, nil, handle)
}

func loopbackWith(t testing.TB, connsMax int, certificate *listener.Certificate, handle fasthttp.RequestHandler) *host {
	t.Helper()
	sockets, err := listener.Inherited(func(string) (string, bool) { return "", false })
	must(t, err)
	socket, err := sockets.Listen(t.Context(), "test", "127.0.0.1:0")
	must(t, err)
	h := startWith(t, socket, connsMax, certificate, handle)
	h.address = socket.Addr().String()
	h.dial = func() (net.Conn, error) { return net.Dial("tcp", h.address) }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.watch.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exchange sends text on a new connection and returns everything that comes back until the server closes it or is silent.
func (h *host) exchange(t *testing.T, text string) string {
	t.Helper()
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	must(t, err)
	must(t, conn.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
	answer, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "timeout") {
		t.Fatalf("read: %v", err)
	}
	return string(answer)
}

// TestSmugglingProbes sends requests whose end a proxy in front may see elsewhere. Each must be refused and the connection be
// closed, so that what follows is never taken for a request.
func TestSmugglingProbes(t *testing.T) {
	h := loopback(t, 100, nil)
	const next = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
	probes := map[string]string{
		"both lengths":                 "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"both lengths, other order":    "Transfer-Encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
		"two lengths":                  "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"two equal lengths":            "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"list of lengths":              "Content-Length: 5, 5\r\n\r\nhello",
		"two encodings":                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"unknown encoding":             "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"two codings":                  "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"no encoding":                  "Transfer-Encoding: identity\r\n\r\n",
		"space before the colon":       "Content-Length : 5\r\n\r\nhello",
		"plus sign":                    "Content-Length: +5\r\n\r\nhello",
		"negative":                     "Content-Length: -1\r\n\r\n",
		"overflow":                     "Content-Length: 99999999999999999999\r\n\r\n",
		"hexadecimal":                  "Content-Length: 0x5\r\n\r\nhello",
		"chunk extension with LF":      "Transfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
		"chunk size overflow":          "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n0\r\n\r\n",
		"bare LF in chunks":            "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
		"NUL in a value":               "X: a\x00b\r\nContent-Length: 0\r\n\r\n",
		"second host":                  "Host: i\r\nContent-Length: 0\r\n\r\n",
		"folded header":                "X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		"folded header, tab":           "X: a\r\n\tb\r\nContent-Length: 0\r\n\r\n",
		"folded length":                "Content-Length:\r\n 5\r\n\r\nhello",
		"folded encoding after length": "Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
	}
	for name, rest := range probes {
		t.Run(name, func(t *testing.T) {
			before := h.seen.Load()
			answer := h.exchange(t, "POST /first HTTP/1.1\r\nHost: h\r\n"+rest+next)
			if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || strings.Count(answer, "HTTP/1.1 ") != 1 || !strings.Contains(answer, `{"detail":`) {
				t.Errorf("got %q", answer)
			}
			if h.seen.Load() != before {
				t.Error("the handler was asked")
			}
		})
	}
	for name, head := range map[string]string{
		"no host":                  "POST /first HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		"encoding in old HTTP":     "POST /first HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"header before the others": "POST /first HTTP/1.1\r\n X: a\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			if answer := h.exchange(t, head+next); !strings.HasPrefix(answer, "HTTP/1.1 400 ") || strings.Count(answer, "HTTP/1.1 ") != 1 {
				t.Errorf("got %q", answer)
			}
		})
	}
	if answer := h.exchange(t, "POST /first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"+next); strings.Count(answer, "HTTP/1.1 200") != 2 {
		t.Errorf("two proper requests: got %q", answer)
	}
}

func TestBodyLimits(t *testing.T) {
	h := loopback(t, 100, nil)
	chunks := func(n int) string {
		return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", n, strings.Repeat("x", n))
	}
	for _, tt := range []struct {
		path, framing, body, status, detail string
	}{
		{"/small", "Content-Length: 1048576", strings.Repeat("x", smallMax), "200", ""},
		{"/small", "Content-Length: 1048577", strings.Repeat("x", smallMax+1), "413", "1048576 bytes"},
		{"/large?x=1", "Content-Length: 1048577", strings.Repeat("x", smallMax+1), "200", ""},
		{"/large", "Content-Length: 4194305", "x", "413", "4194304 bytes"},
		{"/small", "Transfer-Encoding: chunked", chunks(smallMax), "200", ""},
		{"/small", "Transfer-Encoding: chunked", chunks(smallMax + 1), "413", "1048576 bytes"},
	} {
		conn, err := h.dial()
		must(t, err)
		go io.WriteString(conn, "POST "+tt.path+" HTTP/1.1\r\nHost: h\r\n"+tt.framing+"\r\n\r\n"+tt.body)
		must(t, conn.SetDeadline(time.Now().Add(hang)))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s %s: %v", tt.path, tt.framing, err)
		}
		text, err := io.ReadAll(res.Body)
		must(t, err)
		if !strings.HasPrefix(res.Status, tt.status) || !bytes.Contains(text, []byte(tt.detail)) {
			t.Errorf("%s %s: got %s %.100q", tt.path, tt.framing, res.Status, text)
		}
		_ = conn.Close()
	}
	awaitUnused(t, h)
}

func awaitUnused(t *testing.T, h *host) {
	t.Helper()
	for began := time.Now(); time.Since(began) < hang; time.Sleep(10 * time.Millisecond) {
		if h.budget.Used() == 0 {
			return
		}
	}
	t.Errorf("%d bytes of the body budget are still reserved", h.budget.Used())
}

func TestConnectionsOverTheBoundAreRefused(t *testing.T) {
	h := loopback(t, 2, nil)
	for range 2 {
		conn, err := h.dial()
		must(t, err)
		defer conn.Close()
	}
	for h.watch.Open() < 2 {
		time.Sleep(time.Millisecond)
	}
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(hang)))
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 503 ") || !strings.Contains(string(answer), "\r\nAccess-Control-Allow-Origin: *\r\n") {
		t.Errorf("got %q, %v", answer, err)
	}
}

func TestAHandlersPanicIsAnswered(t *testing.T) {
	h := loopback(t, 10, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/panic" {
			panic("broken")
		}
	})
	for range 2 {
		if answer := h.exchange(t, "GET /panic HTTP/1.1\r\nHost: h\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 500 ") {
			t.Errorf("got %q", answer)
		}
	}
	if answer := h.exchange(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("afterwards: got %q", answer)
	}
}

// TestSlowRequests runs in virtual time: clients that drip are answered 408 when the read time is over, and those that say
// nothing are cut.
func TestSlowRequests(t *testing.T) {
	warm := loopback(t, 10, nil) // the server's clock goroutine, which never ends, must not start in a bubble
	_ = warm.exchange(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	for name, pieces := range map[string][]string{
		"silent":       nil,
		"in the head":  {"POST / HTTP/1.1\r\n", "Host: h\r\n", "X: y"},
		"in the body":  {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", "a", "b"},
		"byte by byte": strings.Split("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(time.Minute) }) // for the server's own goroutines to end
				socket := fasthttputil.NewInmemoryListener()
				h := start(t, socket, 10, nil)
				began := time.Now()
				conn, err := socket.Dial()
				must(t, err)
				go func() {
					for _, p := range pieces {
						if _, err := io.WriteString(conn, p); err != nil {
							return
						}
						time.Sleep(900 * time.Millisecond)
					}
				}()
				answer, _ := io.ReadAll(conn)
				took := time.Since(began)
				want := "HTTP/1.1 408 "
				if name == "silent" {
					want = ""
				}
				if !strings.HasPrefix(string(answer), want) || (want == "") != (len(answer) == 0) || took > 31*time.Second {
					t.Errorf("after %s: got %q", took, answer)
				}
				if h.seen.Load() != 0 {
					t.Error("the handler was asked")
				}
				_ = conn.Close()
				synctest.Wait()
			})
		})
	}
}
