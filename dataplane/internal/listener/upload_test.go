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
	"net/http/httputil"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/shared/apierr"
)

// take is a handler for uploads. The query says what it does with the body: read all, half or nothing of it, or panic.
func take(ctx *fasthttp.RequestCtx) {
	var body io.Reader = bytes.NewReader(ctx.Request.Body())
	if u := listener.Of(ctx).Upload(); u != nil {
		body = u
	}
	var n int64
	var err error
	switch query := string(ctx.QueryArgs().QueryString()); query {
	case "panic":
		panic("broken")
	case "half":
		n, err = io.CopyN(io.Discard, body, 50_000)
	case "", "all":
		n, err = io.Copy(io.Discard, body)
	default: // a status
		var status int
		_, _ = fmt.Sscan(query, &status)
		ctx.SetStatusCode(status)
	}
	if err != nil {
		status, text := apierr.Wire(err)
		ctx.SetStatusCode(status)
		ctx.SetBody(text)
		return
	}
	fmt.Fprintf(ctx, "took %d", n)
}

// framed returns the framing header and the framed body.
func framed(body string, inChunks bool) (header, text string) {
	if !inChunks {
		return fmt.Sprintf("Content-Length: %d", len(body)), body
	}
	return "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
}

// readAll reads what the server sends until it closes the connection.
func readAll(t *testing.T, conn net.Conn) string {
	t.Helper()
	must(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	answer, err := io.ReadAll(conn)
	must(t, err)
	return string(answer)
}

// TestWhatIsLeftOfAnUploadIsNeverARequest sends uploads that are full of requests, on connections that have served one
// before, to handlers that leave some of the body or all of it.
func TestWhatIsLeftOfAnUploadIsNeverARequest(t *testing.T) {
	var hidden atomic.Int64
	h := loopback(t, 100, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/hidden" {
			hidden.Add(1)
		}
		take(ctx)
	})
	const request = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
	body := strings.Repeat(request, 4000)
	for _, inChunks := range []bool{false, true} {
		for query, status := range map[string]string{
			"401": "401", "404": "404", "429": "429", "413": "413", "503": "503", "200": "200",
			"half": "200", "all": "200", "panic": "500",
		} {
			t.Run(fmt.Sprintf("%s, chunked %v", query, inChunks), func(t *testing.T) {
				conn, err := h.dial()
				must(t, err)
				defer conn.Close()
				_, err = io.WriteString(conn, "GET /first?200 HTTP/1.1\r\nHost: h\r\n\r\n")
				must(t, err)
				r := bufio.NewReader(conn)
				res, err := http.ReadResponse(r, nil)
				must(t, err)
				_, err = io.Copy(io.Discard, res.Body)
				must(t, err)
				header, text := framed(body, inChunks)
				_, err = io.WriteString(conn, "POST /upload?"+query+" HTTP/1.1\r\nHost: h\r\n"+header+"\r\n\r\n"+text+request)
				must(t, err)
				answer := readAll(t, conn)
				if !strings.HasPrefix(answer, "HTTP/1.1 "+status) || strings.Count(answer, "HTTP/1.1 ") != 1 || !strings.Contains(answer, "Connection: close") {
					t.Errorf("got %.300q", answer)
				}
			})
		}
	}
	if n := hidden.Load(); n != 0 {
		t.Errorf("%d hidden requests were answered", n)
	}
}

func TestUploadsOverTheLimit(t *testing.T) {
	var asked atomic.Int64
	h := loopback(t, 100, func(ctx *fasthttp.RequestCtx) {
		asked.Add(1)
		take(ctx)
	})
	stated, err := h.dial()
	must(t, err)
	defer stated.Close()
	_, err = fmt.Fprintf(stated, "POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\nx", uploadMax+1)
	must(t, err)
	if answer := readAll(t, stated); !strings.HasPrefix(answer, "HTTP/1.1 413 ") || !strings.Contains(answer, fmt.Sprintf("larger than %d bytes", uploadMax)) || asked.Load() != 0 {
		t.Errorf("got %q", answer)
	}
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	go func() {
		_, _ = io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
		chunk := "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n"
		for range uploadMax>>20 + 4 {
			if _, err := io.WriteString(conn, chunk); err != nil {
				return
			}
		}
	}()
	if answer := readAll(t, conn); !strings.HasPrefix(answer, "HTTP/1.1 413 ") {
		t.Errorf("chunked: got %q", answer)
	}
}

func TestBrokenChunksOfAnUpload(t *testing.T) {
	h := loopback(t, 100, take)
	for _, body := range []string{"5\nhello\n0\n\n", "zz\r\nhello\r\n", "fffffffffffffffff\r\nhello\r\n", "5\r\nhelloX\r\n0\r\n\r\n"} {
		conn, err := h.dial()
		must(t, err)
		_, err = io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"+body)
		must(t, err)
		if answer := readAll(t, conn); !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
			t.Errorf("%q: got %q", body, answer)
		}
		_ = conn.Close()
	}
}

// TestALargeUploadTakesLittleMemory sends 100 MB and looks at the heap on the way.
func TestALargeUploadTakesLittleMemory(t *testing.T) {
	const size, piece, bound = 100 << 20, 64 << 10, 8 << 20
	for _, inChunks := range []bool{false, true} {
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapInuse
		}
		var most uint64
		h := loopback(t, 10, func(ctx *fasthttp.RequestCtx) {
			u := listener.Of(ctx).Upload()
			if want := map[bool]int64{true: -1, false: size}[inChunks]; u.Length() != want {
				t.Errorf("length is %d, want %d", u.Length(), want)
			}
			var n int64
			for buffer := make([]byte, 32<<10); ; {
				m, err := u.Read(buffer)
				if n/(1<<20) != (n+int64(m))/(1<<20) {
					most = max(most, heap())
				}
				if n += int64(m); err != nil {
					fmt.Fprintf(ctx, "took %d, then %v", n, err)
					return
				}
			}
		})
		runtime.GC()
		before := heap()
		conn, err := h.dial()
		must(t, err)
		go func() {
			data := bytes.Repeat([]byte("x"), piece)
			header := fmt.Sprintf("Content-Length: %d", size)
			if inChunks {
				header = "Transfer-Encoding: chunked"
			}
			_, _ = io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: h\r\n"+header+"\r\n\r\n")
			var w io.Writer = conn
			if inChunks {
				w = httputil.NewChunkedWriter(conn)
			}
			for range size / piece {
				if _, err := w.Write(data); err != nil {
					return
				}
			}
			if inChunks {
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			}
		}()
		if answer := readAll(t, conn); !strings.Contains(answer, fmt.Sprintf("took %d, then EOF", size)) {
			t.Errorf("chunked %v: got %q", inChunks, answer)
		}
		if h.budget.Used() != 0 {
			t.Errorf("%d bytes of the budget are reserved", h.budget.Used())
		}
		t.Logf("chunked %v: the heap grew from %d to %d KiB", inChunks, before>>10, most>>10)
		if most > before+bound {
			t.Errorf("chunked %v: the heap grew from %d to %d bytes", inChunks, before, most)
		}
		_ = conn.Close()
	}
}

func TestASmallUploadKeepsItsConnection(t *testing.T) {
	h := loopback(t, 10, take)
	text := "POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
	if answer := h.exchange(t, text+text); strings.Count(answer, "took 5") != 2 || strings.Contains(answer, "Connection: close") {
		t.Errorf("got %q", answer)
	}
}

func TestAnUploadIsAskedForWhenItIsRead(t *testing.T) {
	h := loopback(t, 10, take)
	for query, want := range map[string]string{"all": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ", "401": "HTTP/1.1 401 "} {
		conn, err := h.dial()
		must(t, err)
		const size = 100_000
		_, err = fmt.Fprintf(conn, "POST /upload?%s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", query, size)
		must(t, err)
		r := bufio.NewReader(conn)
		must(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		first, err := r.ReadString('\n')
		must(t, err)
		if strings.Contains(first, "100 Continue") {
			_, err = io.WriteString(conn, strings.Repeat("x", size))
			must(t, err)
		}
		rest, err := io.ReadAll(r)
		must(t, err)
		if answer := first + string(rest); !strings.HasPrefix(answer, want) {
			t.Errorf("%s: got %q", query, answer)
		}
		_ = conn.Close()
	}
}

// TestSlowUploads runs in virtual time: one that stalls is given up, one that trickles gets the time for uploads and no more.
func TestSlowUploads(t *testing.T) {
	warm := loopback(t, 10, nil) // see TestSlowRequests
	_ = warm.exchange(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	for _, tt := range []struct {
		name     string
		pause    time.Duration
		pieces   int
		from, to time.Duration
		status   string
	}{
		{"stalls", time.Hour, 2, 15 * time.Second, 18 * time.Second, "408"},
		{"trickles", 10 * time.Second, 100, time.Minute, 63 * time.Second, "408"},
		{"slow", 10 * time.Second, 5, 40 * time.Second, 45 * time.Second, "200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(time.Minute) }) // for the server's own goroutines to end
				socket := fasthttputil.NewInmemoryListener()
				_ = start(t, socket, 10, take)
				conn, err := socket.Dial()
				must(t, err)
				began, stop := time.Now(), make(chan struct{})
				go func() {
					_, _ = fmt.Fprintf(conn, "POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", tt.pieces*20_000)
					for range tt.pieces {
						if _, err := conn.Write(make([]byte, 20_000)); err != nil {
							return
						}
						select {
						case <-stop:
							return
						case <-time.After(tt.pause):
						}
					}
				}()
				answer, _ := io.ReadAll(conn)
				took := time.Since(began)
				if !strings.HasPrefix(string(answer), "HTTP/1.1 "+tt.status) || took < tt.from || took > tt.to {
					t.Errorf("after %s: got %q", took, answer)
				}
				close(stop)
				_ = conn.Close()
				synctest.Wait()
			})
		})
	}
}

func TestAnUploadEndsWithItsClientOrItsCall(t *testing.T) {
	type end struct {
		read  error
		cause error
	}
	ends := make(chan end, 10)
	reading := make(chan *listener.Upload, 10)
	h := loopback(t, 10, func(ctx *fasthttp.RequestCtx) {
		c := listener.Of(ctx)
		life, cancel := context.WithCancelCause(context.Background())
		c.Bind(cancel, time.Time{})
		reading <- c.Upload()
		if string(ctx.QueryArgs().QueryString()) == "wait" { // an upstream thinks and reads nothing
			<-life.Done()
		}
		_, err := io.Copy(io.Discard, c.Upload())
		ends <- end{err, context.Cause(life)}
		c.Unbind()
	})
	for _, query := range []string{"read", "wait"} {
		for _, body := range []string{
			"Content-Length: 100000\r\n\r\nsome of it", "Transfer-Encoding: chunked\r\n\r\nff\r\nsome of it",
			"Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "Transfer-Encoding: chunked\r\n\r\n5",
			"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
		} {
			conn, err := h.dial()
			must(t, err)
			_, err = io.WriteString(conn, "POST /upload?"+query+" HTTP/1.1\r\nHost: h\r\n"+body)
			must(t, err)
			<-reading
			must(t, conn.Close())
			if e := <-ends; !errors.Is(e.read, call.ErrClientGone) || !errors.Is(e.cause, call.ErrClientGone) {
				t.Errorf("%s, %q: got %+v", query, body, e)
			}
		}
	}
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nsome of it")
	must(t, err)
	(<-reading).Abort()
	if e := <-ends; e.read == nil || errors.Is(e.read, call.ErrClientGone) {
		t.Errorf("aborted: got %+v", e)
	}
}

func TestDrainingWaitsForUploads(t *testing.T) {
	began := make(chan struct{})
	h := loopback(t, 10, func(ctx *fasthttp.RequestCtx) {
		close(began)
		take(ctx)
	})
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	const size = 100_000
	_, err = fmt.Fprintf(conn, "POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", size)
	must(t, err)
	<-began
	done := make(chan error, 1)
	go func() {
		done <- listener.Drain(context.Background(), h.watch, time.Minute, slog.New(slog.DiscardHandler), h.server)
	}()
	for { // until the socket is closed
		c, err := h.dial()
		if err != nil {
			break
		}
		_ = c.Close()
		time.Sleep(time.Millisecond)
	}
	select {
	case <-done:
		t.Fatal("the server did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	_, err = conn.Write(make([]byte, size))
	must(t, err)
	if answer := readAll(t, conn); !strings.Contains(answer, "took 100000") {
		t.Errorf("got %q", answer)
	}
	_ = conn.Close()
	must(t, <-done)
}
