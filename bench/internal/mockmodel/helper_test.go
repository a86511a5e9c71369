package mockmodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel/journal"
)

// patience bounds every wait of these tests.
const patience = 20 * time.Second

// start serves a simulator on a free port until the test ends.
func start(t *testing.T, cfg Config) (*Server, string) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
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

// prompt is a request body for one user message.
func prompt(model, text string, stream bool) string {
	return toJSON(map[string]any{
		"model": model, "stream": stream, "messages": []any{map[string]any{"role": "user", "content": text}},
	})
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func post(t *testing.T, addr, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return send(t, req)
}

func get(t *testing.T, addr, path string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return send(t, req)
}

func send(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// dial sends a chat request over a bare connection.
func dial(t *testing.T, addr, body string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	head := "POST /v1/chat/completions HTTP/1.1\r\nHost: mock\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
	if _, err := io.WriteString(c, head+toJSON(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	return c
}

// wire is all that comes back over a bare connection, and how it ended: nil for FIN.
func wire(t *testing.T, addr, body string) (string, error) {
	t.Helper()
	b, err := io.ReadAll(dial(t, addr, body))
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatalf("the answer does not end; so far %q", b)
	}
	return string(b), err
}

// unchunk decodes a raw answer and returns its head and body.
func unchunk(t *testing.T, raw string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("%v in %.300q", err, raw)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%v in %.300q", err, raw)
	}
	return resp, string(b)
}

// data is the data of each event of a normally framed stream.
func data(body string) []string {
	var out []string
	for block := range strings.SplitSeq(body, "\n\n") {
		if d, ok := strings.CutPrefix(block, "data: "); ok {
			out = append(out, d)
		}
	}
	return out
}

// contents joins what the events of a stream add to the message.
func contents(t *testing.T, events []string) string {
	t.Helper()
	var text bytes.Buffer
	for _, e := range events {
		var chunk struct {
			Choices []struct {
				Delta struct{ Content string }
			}
		}
		if e == "[DONE]" {
			continue
		}
		if err := json.Unmarshal([]byte(e), &chunk); err != nil {
			t.Fatalf("%v in event %q", err, e)
		}
		if len(chunk.Choices) == 1 {
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
	return text.String()
}

// ended waits until the newest request has ended and returns it.
func ended(t *testing.T, s *Server) journal.View {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		views, last := s.Requests(0)
		if len(views) > 0 && views[len(views)-1].Seq == last && views[len(views)-1].EndedAt != nil && s.Open() == 0 {
			return views[len(views)-1]
		}
	}
	t.Fatal("the request does not end")
	return journal.View{}
}
