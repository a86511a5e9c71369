package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
)

// TestRevocationEndsOpenStreams measures from the moment that the control plane tells of it. The demand is 250 ms; the bound
// is half of what a call may take, which would end it too.
func TestRevocationEndsOpenStreams(t *testing.T) {
	const bound = 30 * time.Second
	begun, gone := make(chan struct{}, 10), make(chan time.Time, 10)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`+"\n\n")
		w.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's own
		begun <- struct{}{}
		<-r.Context().Done()
		gone <- time.Now()
	}))
	t.Cleanup(upstream.Close)
	c := newControl(t)
	text, id := publishAll(t, c, upstream.URL)
	cfg := config(t, c)
	runNode(t, cfg)
	const streams = 5
	conns := make([]net.Conn, streams)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", cfg.Listen); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		body := `{"prompt":"talk","stream":true}`
		fmt.Fprintf(conns[i], "POST /api/v1/agent HTTP/1.1\r\nHost: g\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s", text, len(body), body)
		<-begun
	}
	revoked := time.Now()
	c.publish(plane.KindKey, id, nil)
	var told, cancelled time.Duration
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(bound))
		var answer strings.Builder
		for r := bufio.NewReader(conn); !strings.Contains(answer.String(), "[DONE]"); {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("%q: %v", answer.String(), err)
			}
			answer.WriteString(line)
		}
		told = max(told, time.Since(revoked))
		if !strings.Contains(answer.String(), `data: {"type":"error","status":401,"detail":"The API key was revoked`) {
			t.Errorf("got %q", answer.String())
		}
		select {
		case at := <-gone:
			cancelled = max(cancelled, at.Sub(revoked))
		case <-time.After(bound):
			t.Fatal("an upstream was not given up")
		}
	}
	t.Logf("%d streams: told within %s, upstreams given up within %s", streams, told, cancelled)
	if told > bound || cancelled > bound {
		t.Error("that is too late")
	}
	await(t, "usage", func() bool { return len(c.records()) == streams })
	for _, r := range c.records() {
		if r.End != plane.EndRevoked {
			t.Errorf("usage: %+v", r)
		}
	}
}
