package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestCancel ends the context while an exchange waits in each of its phases. The server must see the connection end.
func TestCancel(t *testing.T) {
	left := errors.New("client left")
	for name, answer := range map[string]string{
		"for the head":     "",
		"inside the head":  "HTTP/1.1 200 OK\r\nContent-",
		"for the body":     "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
		"inside the body":  "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
		"inside a chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"for the next one": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			answered, closed := make(chan struct{}), make(chan struct{})
			h := serve(t, func(_ int, nc net.Conn) {
				readRequest(bufio.NewReader(nc))
				io.WriteString(nc, answer)
				close(answered)
				io.Copy(io.Discard, nc)
				close(closed)
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-answered
				time.Sleep(20 * time.Millisecond) // mostly long enough for the client to wait; any moment is right
				cancel(left)
			}()
			if _, _, err := post(ctx, h, "/", nil); !errors.Is(err, left) {
				t.Errorf("got %v", err)
			}
			select {
			case <-closed:
			case <-time.After(10 * time.Second):
				t.Error("the server does not see its connection end")
			}
			if idle, busy := h.Counts(); idle+busy != 0 {
				t.Errorf("%d connections are left", idle+busy)
			}
		})
	}
}

func TestCancelWhileDialing(t *testing.T) {
	left := errors.New("client left")
	ctx, cancel := context.WithCancelCause(t.Context())
	h := NewHost(Options{Address: "x:1", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel(left)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if _, _, err := post(ctx, h, "/", nil); !errors.Is(err, left) {
		t.Errorf("got %v", err)
	}
	if idle, busy := h.Counts(); idle+busy != 0 {
		t.Errorf("%d connections counted", idle+busy)
	}
}

func TestCancelWhileShakingHands(t *testing.T) {
	left := errors.New("client left")
	ctx, cancel := context.WithCancelCause(t.Context())
	closed := make(chan struct{})
	h := serve(t, func(_ int, nc net.Conn) {
		nc.Read(make([]byte, 1))
		cancel(left)
		io.Copy(io.Discard, nc)
		close(closed)
	})
	h.options.TLS = tlsConfigOf("example.com")
	if _, _, err := post(ctx, h, "/", nil); !errors.Is(err, left) {
		t.Errorf("got %v", err)
	}
	<-closed
}

// TestANewDeadlineDoesNotUndoACancel sets a deadline after the interrupt has set its own.
func TestANewDeadlineDoesNotUndoACancel(t *testing.T) {
	left := errors.New("client left")
	h := serve(t, func(_ int, nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
		io.Copy(io.Discard, nc)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	c, err := h.Exchange(ctx, [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}, generous)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel(left)
	for !c.gone.Load() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // the interrupt sets its deadline
	began := time.Now()
	c.SetDeadline(began.Add(generous.Head))
	if _, err := c.Next(); !errors.Is(err, left) || time.Since(began) >= generous.Head {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}
