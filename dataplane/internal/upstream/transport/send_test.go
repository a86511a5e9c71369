package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// A server that refuses a connection before it was asked anything may stay silent afterwards: no event follows the request.
func TestAnAnswerThatWasThereBeforeTheRequest(t *testing.T) {
	h := serve(t, func(_ int, nc net.Conn) {
		_, _ = io.WriteString(nc, "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		_, _ = io.Copy(io.Discard, nc)
	})
	var dialer net.Dialer
	h.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// It is there before the request is written.
		_, err = bufio.NewReader(&peeking{nc}).Peek(1)
		return nc, err
	}
	c, err := h.Exchange(t.Context(), [][]byte{[]byte("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")},
		Times{Connect: time.Second, Head: 20 * time.Second})
	if err != nil || c.Head.Status != 503 {
		t.Fatalf("got %v", err)
	}
	c.Finish()
}

// peeking waits until there is something to read and leaves it there.
type peeking struct{ net.Conn }

func (p *peeking) Read(b []byte) (int, error) {
	raw, err := p.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	err = raw.Read(func(fd uintptr) bool { return !quiet(int(fd)) })
	b[0] = 1
	return 1, err
}

// A request that the socket does not take at once is written to its end.
func TestARequestLargerThanTheSocketTakes(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	h := serve(t, func(_ int, nc net.Conn) {
		in := bufio.NewReader(nc)
		for range 2 {
			time.Sleep(100 * time.Millisecond) // it fills meanwhile
			if !readRequest(in) {
				t.Error("the request did not arrive")
				return
			}
			_, _ = io.WriteString(nc, okAnswer)
		}
	})
	request := append(fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", len(body)), body...)
	for range 2 {
		c, err := h.Exchange(t.Context(), [][]byte{request}, Times{Connect: time.Second, Head: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := c.Next(); string(text) != "ok" {
			t.Errorf("got %q, %v", text, err)
		}
		c.Keep(0)
		_, _ = c.Next()
		c.Finish()
	}
	if idle, _ := h.Counts(); idle != 1 {
		t.Errorf("%d idle connections", idle)
	}
}
