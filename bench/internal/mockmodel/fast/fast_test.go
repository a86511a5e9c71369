package fast

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const patience = 20 * time.Second

func start(t *testing.T, cfg Config) (*Server, string) {
	t.Helper()
	cfg.Now, cfg.Model = time.Now, "mock"
	s := New(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Path", r.URL.Path)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s", r.Method, body)
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("Serve does not return")
		}
	})
	return s, l.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(body string) string {
	return "POST /v1/chat/completions HTTP/1.1\r\nHost: mock\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// answer reads one answer and its body.
func answer(t *testing.T, r *bufio.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func wait(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s does not come true", what)
		}
	}
}

func TestUnaryAndStreamOnOneConnection(t *testing.T) {
	s, addr := start(t, Config{Events: 7, EventBytes: 250, UnaryBytes: 1024})
	c := dial(t, addr)
	r := bufio.NewReader(c)
	for range 3 {
		if _, err := io.WriteString(c, ask(`{"stream": true, "stream_options":{"include_usage":true}}`)+ask(`{"a":"\"stream\":true"}`)); err != nil {
			t.Fatal(err)
		}
		resp, body := answer(t, r)
		events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
		if resp.Header.Get("X-Simulator") == "" || len(events) != 1+7+1+1+1 || events[10] != "data: [DONE]" || !strings.Contains(events[9], `"completion_tokens":7`) {
			t.Fatalf("stream is %q", events)
		}
		if len(events[1])+2 != 250 {
			t.Errorf("an event has %d bytes", len(events[1])+2)
		}
		for _, e := range events[:10] {
			if !json.Valid([]byte(strings.TrimPrefix(e, "data: "))) {
				t.Errorf("event %q", e)
			}
		}
		resp, body = answer(t, r)
		if resp.Header.Get("Content-Type") != "application/json" || len(body) != 1024 || !json.Valid([]byte(body)) {
			t.Errorf("unary answer has %d bytes: %s", len(body), body)
		}
	}
	wait(t, "the end of all requests", func() bool { return s.Counters() == Counters{Requests: 6, Done: 6} })
}

func TestNoUsageUnlessAsked(t *testing.T) {
	_, addr := start(t, Config{Events: 1})
	c := dial(t, addr)
	if _, err := io.WriteString(c, ask(`{"stream":true,"stream_options":{"include_usage":false}}`)); err != nil {
		t.Fatal(err)
	}
	if _, body := answer(t, bufio.NewReader(c)); strings.Contains(body, "usage") {
		t.Errorf("stream is %s", body)
	}
}

func TestScheduleStampAndBatch(t *testing.T) {
	const interval = 20 * time.Millisecond
	_, addr := start(t, Config{Events: 10, Batch: 2, Interval: interval, FirstDelay: 40 * time.Millisecond, Stamp: true, EventBytes: 300})
	c := dial(t, addr)
	begin := time.Now()
	if _, err := io.WriteString(c, ask(`{"stream":true}`)); err != nil {
		t.Fatal(err)
	}
	_, body := answer(t, bufio.NewReader(c))
	var stamps []time.Time
	for block := range strings.SplitSeq(body, "\n\n") {
		if _, text, ok := strings.Cut(block, `"content":"1`); ok {
			ns, err := strconv.ParseInt("1"+text[:stampDigits-1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			stamps = append(stamps, time.Unix(0, ns))
		}
	}
	if len(stamps) != 10 {
		t.Fatalf("%d stamps in %s", len(stamps), body)
	}
	for i, at := range stamps {
		if due := begin.Add(40*time.Millisecond + time.Duration(i/2)*interval); at.Before(due) || at.After(time.Now()) {
			t.Errorf("event %d is %s early", i, due.Sub(at))
		}
	}
}

func TestCallerWhoLeavesIsCounted(t *testing.T) {
	for name, cfg := range map[string]Config{
		"silent":  {Events: 1, FirstDelay: time.Hour},
		"flowing": {Events: 1_000_000, Interval: 5 * time.Millisecond},
		"burst":   {Events: 100_000_000, EventBytes: 1000, Batch: 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, addr := start(t, cfg)
			for range 20 {
				c := dial(t, addr)
				if _, err := io.WriteString(c, ask(`{"stream":true}`)); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Read(make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
				c.Close()
			}
			wait(t, "every departure", func() bool { return s.Counters() == Counters{Requests: 20, ClientGone: 20} })
		})
	}
}

func TestChunkedExpectAndFallback(t *testing.T) {
	_, addr := start(t, Config{Events: 1})
	c := dial(t, addr)
	r := bufio.NewReader(c)
	const chunked = "POST /v1/chat/completions HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
	if _, err := io.WriteString(c, chunked); err != nil {
		t.Fatal(err)
	}
	if line, err := r.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q %v", line, err)
	}
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "8\r\n{\"stream\r\n7\r\n\":true}\r\n0\r\nX-T: 1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, body := answer(t, r); !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("stream is %s", body)
	}
	if _, err := io.WriteString(c, "POST /other HTTP/1.1\r\nHost: m\r\nContent-Length: 2\r\n\r\nhi"); err != nil {
		t.Fatal(err)
	}
	if resp, body := answer(t, r); resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Path") != "/other" || body != "POST hi" {
		t.Errorf("fallback: %v %s", resp, body)
	}
}

func TestUnreadableRequests(t *testing.T) {
	_, addr := start(t, Config{})
	for text, status := range map[string]int{
		"GET / HTTP/1.0\r\n\r\n": 505,
		"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n":            400,
		"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n": 413,
		"POST /other HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n":                 411,
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", readBufferBytes) + "\r\n\r\n":  431,
	} {
		c := dial(t, addr)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if resp, _ := answer(t, bufio.NewReader(c)); resp.StatusCode != status {
			t.Errorf("%.60q gives %d, want %d", text, resp.StatusCode, status)
		}
	}
}

func BenchmarkUnary(b *testing.B) {
	s := New(Config{Now: time.Now, UnaryBytes: 1024}, http.NotFoundHandler())
	client, server := net.Pipe()
	defer client.Close()
	go newConn(s, server).serve(b.Context())
	req, buf := []byte(ask(`{"model":"mock","messages":[{"role":"user","content":"hello"}]}`)), make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Write(req); err != nil {
			b.Fatal(err)
		}
		if _, err := client.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
