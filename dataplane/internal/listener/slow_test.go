package listener_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
)

// pipes is a listener of connections that buffer nothing.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// TestSlowReaders runs in virtual time: a client that reads a little now and then gets everything, one that does not read is
// cut.
func TestSlowReaders(t *testing.T) {
	warm := loopback(t, 10, nil) // see TestSlowRequests
	_ = warm.exchange(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	const size = 1 << 20
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			t.Cleanup(func() { time.Sleep(time.Minute) }) // for the server's own goroutines to end
			socket := newPipes()
			h := start(t, socket, 10, func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(strings.Repeat("x", size)) })
			conn := socket.dial()
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
			must(t, err)
			began, got := time.Now(), 0
			for buffer := make([]byte, 64<<10); reads; {
				time.Sleep(10 * time.Second)
				n, err := conn.Read(buffer)
				got += n
				if err != nil {
					break
				}
			}
			if reads && (got < size || time.Since(began) < time.Minute) {
				t.Errorf("read %d bytes of %d in %s", got, size, time.Since(began))
			}
			time.Sleep(31 * time.Second)
			synctest.Wait()
			if open := h.watch.Open(); open != 0 {
				t.Errorf("reads: %v: %d connections are open", reads, open)
			}
			_ = conn.Close()
		})
	}
}

// TestABodyIsReservedUntilItsAnswer holds the budget to the life of a request on a connection that stays open.
func TestABodyIsReservedUntilItsAnswer(t *testing.T) {
	proceed := make(chan struct{})
	h := loopback(t, 10, func(ctx *fasthttp.RequestCtx) {
		if _, err := bodyOf(ctx); err != nil {
			t.Error(err)
		}
		proceed <- struct{}{}
		<-proceed
	})
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	const size = 100_000
	for range 2 {
		_, err = io.WriteString(conn, "POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", size))
		must(t, err)
		<-proceed
		if used := h.budget.Used(); used != size {
			t.Errorf("%d bytes are reserved while the request is answered", used)
		}
		proceed <- struct{}{}
		awaitUnused(t, h)
	}
}
