package pool_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// The real dialect tells the pool what it needs: how each failure of a server is classed and how often it is asked again.
func TestOverTheChatDialect(t *testing.T) {
	tests := map[string]struct {
		answer   func(w http.ResponseWriter)
		class    plane.FailureClass
		attempts int
	}{
		"500":     {func(w http.ResponseWriter) { w.WriteHeader(500) }, plane.FailServerError, 2},
		"401":     {func(w http.ResponseWriter) { w.WriteHeader(401) }, plane.FailRefused, 1},
		"404":     {func(w http.ResponseWriter) { w.WriteHeader(404) }, plane.FailRefused, 1},
		"400":     {func(w http.ResponseWriter) { w.WriteHeader(400) }, "rejected", 1},
		"429":     {func(w http.ResponseWriter) { w.WriteHeader(429) }, plane.FailRateLimited, 2},
		"html":    {func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html") }, plane.FailInvalidAnswer, 1},
		"silence": {func(http.ResponseWriter) { time.Sleep(700 * time.Millisecond) }, plane.FailTimeout, 1},
		"cut":     {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, plane.FailServerError, 2},
		"began":   {func(w http.ResponseWriter) { half(w, "HTTP/1.1 200 OK\r\nContent-") }, plane.FailServerError, 1},
	}
	chat := &upstream.Chat{Prompt: []byte(`"hi"`), MaxTokens: 5}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { tt.answer(w) }))
			defer s.Close()
			set := over(t, s.URL, 300*time.Millisecond, plane.Retry{Attempts: 2})
			p, _ := set.Get("p")
			var asked, opened pool.Facts
			_, err := p.AskWith(t.Context(), pool.From{}, chat, &asked)
			if got := pool.ClassOf(err); got != tt.class || asked.Attempts != tt.attempts {
				t.Errorf("ask: %s after %d attempts: %v", got, asked.Attempts, err)
			}
			_, err = p.OpenWith(t.Context(), pool.From{}, chat, &opened)
			if got := pool.ClassOf(err); got != tt.class || opened.Attempts != tt.attempts {
				t.Errorf("open: %s after %d attempts: %v", got, opened.Attempts, err)
			}
		})
	}
}

// over returns pools of the server "u", alone and as the pool "p". The server has the given time for a head or an answer.
func over(t *testing.T, url string, patience time.Duration, retry plane.Retry) *pool.Set {
	t.Helper()
	spec := plane.UpstreamSpec{ID: "u", Dialect: plane.DialectChat, BaseURL: url + "/v1", Model: "m"}
	config := &plane.Current{
		Upstreams: map[string]plane.UpstreamSpec{"u": spec},
		Pools:     map[string]plane.PoolSpec{"p": {ID: "p", Members: []plane.Member{{Upstream: "u"}}, Retry: retry}},
	}
	servers := upstream.NewSet(upstream.Options{
		Timeouts: upstream.Timeouts{Head: patience, Answer: patience},
	}, nil)
	t.Cleanup(servers.Close)
	set := pool.NewSet(pool.Options{
		Upstream: func(id string) (upstream.Upstream, error) { return servers.Get(config, id) },
		Log:      slog.New(slog.DiscardHandler),
	})
	set.Update(config)
	return set
}

// half answers with some bytes and closes the connection.
func half(w http.ResponseWriter, text string) {
	nc, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(nc, text)
	_ = nc.Close()
}

// What one caller can bring about with a server that is well must not take it away from the others.
func TestACallerCannotOpenTheBreaker(t *testing.T) {
	const full = `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`
	const call = `{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	answers := map[string]func(w http.ResponseWriter, stream bool){
		"a tool call": func(w http.ResponseWriter, stream bool) {
			if stream {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":`+call+"}]}\n\n")
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":`+call+`,"finish_reason":"tool_calls"}]}`)
		},
		"a tool call after text": func(w http.ResponseWriter, stream bool) {
			w.Header().Set("Content-Type", "text/event-stream")
			if stream {
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n")
				_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":`+call+"}]}\n\n")
			}
		},
		"an error that speaks of the request": func(w http.ResponseWriter, _ bool) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(500)
			_, _ = io.WriteString(w, full)
		},
		"an error that speaks of the request after text": func(w http.ResponseWriter, stream bool) {
			w.Header().Set("Content-Type", "text/event-stream")
			if stream {
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n")
				_, _ = io.WriteString(w, "data: "+full+"\n\n")
			}
		},
		"a large answer": func(w http.ResponseWriter, _ bool) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(make([]byte, 9<<20))
		},
	}
	for name, answer := range answers {
		for _, stream := range []bool{false, true} {
			if stream && name == "a large answer" || !stream && strings.HasSuffix(name, "after text") {
				continue
			}
			t.Run(fmt.Sprintf("%s, stream %t", name, stream), func(t *testing.T) {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, stream) }))
				defer s.Close()
				set := over(t, s.URL, time.Minute, plane.Retry{Attempts: 1})
				p, _ := set.Get("u")
				for range 7 {
					provoke(t, p, stream, strings.HasPrefix(name, "an error"))
				}
				if m := set.Members("u", pool.From{})[0]; m.State != pool.StateUp {
					t.Errorf("the server is %s", m.State)
				}
			})
		}
	}
}

// provoke makes a call that has to fail.
func provoke(t *testing.T, p *pool.Pool, stream, refused bool) {
	t.Helper()
	want := plane.FailInvalidAnswer
	if refused {
		want = "rejected"
	}
	chat := &upstream.Chat{Prompt: []byte(`"hi"`), MaxTokens: 5}
	if !stream {
		if _, err := p.Ask(t.Context(), chat); pool.ClassOf(err) != want {
			t.Fatalf("got %v", err)
		}
		return
	}
	s, err := p.Open(t.Context(), chat)
	if err == nil {
		err = s.Relay(sse.NewWriter(io.Discard, nil)).Err
		s.Close()
	}
	if pool.ClassOf(err) != want {
		t.Fatalf("got %v", err)
	}
}
