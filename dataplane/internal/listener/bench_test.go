package listener_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/listener"
)

// BenchmarkRequest is a usual request on a connection that stays open, client included.
func BenchmarkRequest(b *testing.B) {
	h := loopback(b, 10, func(ctx *fasthttp.RequestCtx) { ctx.SetBody(ctx.Request.Body()) })
	conn, err := h.dial()
	must(b, err)
	defer conn.Close()
	body := `{"prompt":"` + strings.Repeat("x", 200) + `"}`
	header, text := framed(body, false)
	request := []byte("POST /small HTTP/1.1\r\nHost: h\r\n" + header + "\r\n\r\n" + text)
	r := bufio.NewReader(conn)
	b.ReportAllocs()
	for b.Loop() {
		_, err := conn.Write(request)
		must(b, err)
		res, err := http.ReadResponse(r, nil)
		must(b, err)
		_, err = io.Copy(io.Discard, res.Body)
		must(b, err)
	}
}

// BenchmarkOpenStream reports what a stream that waits for its upstream holds: heap and stack of the connection.
func BenchmarkOpenStream(b *testing.B) {
	for name, certificate := range map[string]*listener.Certificate{"plain": nil, "tls": newCertificate(b)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				heap, stack := perStream(b, certificate)
				b.ReportMetric(heap, "heap-KiB/stream")
				b.ReportMetric(stack, "stack-KiB/stream")
			}
		})
	}
}

func perStream(b *testing.B, certificate *listener.Certificate) (heap, stack float64) {
	const streams = 1000
	done := make(chan struct{})
	defer close(done)
	h := loopbackWith(b, 2*streams, certificate, func(*fasthttp.RequestCtx) { <-done })
	h.dial = dialer(h, certificate)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range streams {
		conn, err := h.dial()
		must(b, err)
		_, err = io.WriteString(conn, "POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
		must(b, err)
		if c, ok := conn.(*tls.Conn); ok { // the client's side is not measured
			conn = c.NetConn()
		}
		b.Cleanup(func() { _ = conn.Close() })
	}
	for h.seen.Load() < streams {
		time.Sleep(time.Millisecond)
	}
	for range 4 { // stacks that a handshake has grown shrink by half
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	perKiB := func(bytes uint64) float64 { return float64(bytes) / streams / 1024 }
	return perKiB(after.HeapAlloc - before.HeapAlloc), perKiB(after.StackInuse - before.StackInuse)
}

func dialer(h *host, certificate *listener.Certificate) func() (net.Conn, error) {
	if certificate == nil {
		return h.dial
	}
	return func() (net.Conn, error) { return tls.Dial("tcp", h.address, &tls.Config{InsecureSkipVerify: true}) }
}

// BenchmarkEvent writes an event of a stream to a client that does not look at it.
func BenchmarkEvent(b *testing.B) {
	for name, certificate := range map[string]*listener.Certificate{"plain": nil, "tls": newCertificate(b)} {
		b.Run(name, func(b *testing.B) {
			conns, done := make(chan *listener.Conn), make(chan struct{})
			h := loopbackWith(b, 10, certificate, func(ctx *fasthttp.RequestCtx) {
				conns <- listener.Of(ctx)
				<-done
			})
			conn, err := dialer(h, certificate)()
			must(b, err)
			defer conn.Close()
			_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			must(b, err)
			if c, ok := conn.(*tls.Conn); ok {
				conn = c.NetConn()
			}
			go io.Copy(io.Discard, conn)
			c := <-conns
			event := []byte(strings.Repeat("x", 60))
			b.ReportAllocs()
			for b.Loop() {
				_, err := c.Write(event)
				must(b, err)
			}
			close(done)
		})
	}
}
