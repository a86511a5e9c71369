package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
)

// TestAClientThatReadsNothingIsCut goes all the way: an upstream that talks without end, and a client that asks and then looks
// away. The node stops reading the upstream, holds little, and gives both up after write_time.
func TestAClientThatReadsNothingIsCut(t *testing.T) {
	const (
		sentMax = 64 << 20 // what may wait in the kernel's buffers on the way
		heapMax = 16 << 20
	)
	var sent atomic.Int64
	begun, gone := make(chan time.Time, 1), make(chan time.Time, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		event := []byte(`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"` +
			strings.Repeat("x", 8<<10) + `"},"finish_reason":null}]}` + "\n\n")
		begun <- time.Now()
		for {
			n, err := w.Write(event)
			sent.Add(int64(n))
			if err != nil {
				gone <- time.Now()
				return
			}
		}
	}))
	t.Cleanup(upstream.Close)
	c := newControl(t)
	text, _ := publishAll(t, c, upstream.URL)
	cfg := config(t, c)
	cfg.WriteTime = 2 * time.Second
	runNode(t, cfg)
	conn, err := net.Dial("tcp", cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body := `{"prompt":"talk","stream":true}`
	fmt.Fprintf(conn, "POST /api/v1/agent HTTP/1.1\r\nHost: g\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s", text, len(body), body)
	began := <-begun
	var ended time.Time
	select {
	case ended = <-gone:
	case <-time.After(30 * time.Second):
		t.Fatal("the upstream was not given up")
	}
	runtime.ReadMemStats(&after)
	t.Logf("given up after %s and %d KiB; the heap grew by %d KiB",
		ended.Sub(began), sent.Load()>>10, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10)
	if took := ended.Sub(began); took < cfg.WriteTime {
		t.Errorf("given up after %s", took)
	}
	if sent.Load() > sentMax {
		t.Errorf("the upstream got rid of %d bytes", sent.Load())
	}
	if int64(after.HeapAlloc) > int64(before.HeapAlloc)+heapMax {
		t.Errorf("the heap grew from %d to %d bytes", before.HeapAlloc, after.HeapAlloc)
	}
	await(t, "usage", func() bool { return len(c.records()) == 1 })
	if r := c.records()[0]; r.End != plane.EndClientGone || r.TokensOut == 0 || r.Source != plane.SourceCounted {
		t.Errorf("usage: %+v", r)
	}
	// What the client finds when it looks again: an answer that breaks off, without a last chunk.
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	rest, err := io.ReadAll(conn)
	if strings.Contains(string(rest[max(0, len(rest)-100):]), "[DONE]") {
		t.Errorf("the answer looks complete: %.100q, %v", rest[max(0, len(rest)-100):], err)
	}
}
