package pool_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
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
	}
	chat := &upstream.Chat{Prompt: []byte(`"hi"`), MaxTokens: 5}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { tt.answer(w) }))
			defer s.Close()
			spec := plane.UpstreamSpec{ID: "u", Dialect: plane.DialectChat, BaseURL: s.URL + "/v1", Model: "m"}
			config := &plane.Current{
				Upstreams: map[string]plane.UpstreamSpec{"u": spec},
				Pools: map[string]plane.PoolSpec{"p": {
					ID: "p", Members: []plane.Member{{Upstream: "u"}}, Retry: plane.Retry{Attempts: 2},
				}},
			}
			servers := upstream.NewSet(upstream.Options{
				Timeouts: upstream.Timeouts{Head: 300 * time.Millisecond, Answer: 300 * time.Millisecond},
			}, nil)
			defer servers.Close()
			set := pool.NewSet(pool.Options{
				Upstream: func(id string) (upstream.Upstream, error) { return servers.Get(config, id) },
				Log:      slog.New(slog.DiscardHandler),
			})
			set.Update(config)
			p, _ := set.Get("p")
			var asked, opened pool.Facts
			_, err := p.AskWith(t.Context(), chat, &asked)
			if got := pool.ClassOf(err); got != tt.class || asked.Attempts != tt.attempts {
				t.Errorf("ask: %s after %d attempts: %v", got, asked.Attempts, err)
			}
			_, err = p.OpenWith(t.Context(), chat, &opened)
			if got := pool.ClassOf(err); got != tt.class || opened.Attempts != tt.attempts {
				t.Errorf("open: %s after %d attempts: %v", got, opened.Attempts, err)
			}
		})
	}
}
