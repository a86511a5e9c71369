package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// script answers the n-th request of a server, counted from 0; false closes the connection.
type script func(n int64, w io.Writer) bool

// serve runs a scripted server and returns a target for it.
func serve(t *testing.T, answer script) Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var n int64
	conns := map[net.Conn]bool{}
	handle := func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			mu.Lock()
			mine := n
			n++
			mu.Unlock()
			if !answer(mine, c) {
				return
			}
		}
	}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[c] = true
			mu.Unlock()
			wg.Go(func() { handle(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return target(t, l.Addr().String())
}

func target(t *testing.T, addr string) Target {
	t.Helper()
	to, err := NewTarget("http://"+addr+"/v1/x?y=1", []string{"Authorization: Bearer k"}, []byte(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func whole(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunked(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

func delta(at time.Time) string {
	return fmt.Sprintf("data: {\"type\":\"delta\",\"text\":\"%d simulated\"}\n\n", at.UnixNano())
}

const (
	doneEvent = "data: [DONE]\n\n"
	lastChunk = "0\r\n\r\n"
)

// streamOf is a whole stream with events stamped the given time ago.
func streamOf(ago ...time.Duration) string {
	var b strings.Builder
	b.WriteString(streamHead + chunked("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"))
	for _, d := range ago {
		b.WriteString(chunked(delta(time.Now().Add(-d))))
	}
	return b.String() + chunked(doneEvent) + lastChunk
}

// say writes an answer and keeps the connection.
func say(w io.Writer, text string) bool {
	_, err := io.WriteString(w, text)
	return err == nil
}

func between(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s is %.0f, want %.0f to %.0f", what, got, low, high)
	}
}
