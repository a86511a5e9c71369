package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/controlplane/internal/server"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// fakeGateway is an address that answers what it was asked: the path, the kind of key and the body. The prompt says when it
// is to do something else.
func fakeGateway(t *testing.T) string {
	t.Helper()
	shapes := map[string]map[string]any{ // what the contract wants of the answers
		"/api/v1/detect":            {"detections": []any{}, "count": 0},
		"/api/v1/depth-estimate":    {"depth_map_b64": "", "detections_3d": []any{}, "backend": "test", "latency_ms": 1},
		"/api/v1/spatial-query":     {"subjects_in_radius": []any{}, "total_detected": 0, "query_radius_m": 1, "latency_ms": 1},
		"/api/v1/multicam-identify": {"tracks": []any{}, "total_views": 0, "fused_subjects": 0, "latency_ms": 1},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("the gateway was sent no JSON: %v", err)
		}
		value := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		h := w.Header()
		h.Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		h.Set("RateLimit", `"key_per_minute";r=29;t=60`)
		h.Set("Content-Type", "application/json")
		kind := kindOf(t, value)
		switch body["prompt"] {
		case "[[limited]]":
			h.Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"detail":"Too many calls with this key."}`)
			return
		case "[[unauthorized]]":
			h.Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"detail":"Invalid API key."}`)
			return
		case "[[page]]":
			h.Set("Content-Type", "text/html")
			io.WriteString(w, "<h1>It works!</h1>")
			return
		case "[[elsewhere]]":
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
			return
		case "[[cut]]":
			h.Set("Content-Length", "1000")
			io.WriteString(w, `{"type":"te`)
			return
		}
		asked := map[string]any{"path": r.URL.String(), "key": kind, "body": body}
		maps.Copy(asked, shapes[r.URL.Path])
		text, err := json.Marshal(asked)
		if err != nil {
			t.Error(err)
		}
		if body["stream"] != true && !strings.HasSuffix(r.URL.Path, "/stream") && !strings.HasSuffix(r.URL.Path, "/deep-search") {
			w.Write(text)
			return
		}
		h.Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"delta\",\"text\":\"one\"}\n\ndata: %s\n\n", text)
		if body["prompt"] == "[[half]]" || body["query"] == "[[half]]" {
			return
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// kindOf is the kind of a credential, as a node knows it. The signer's secret is that of newStack.
func kindOf(t *testing.T, value string) key.Kind {
	if kind, ok := key.KindOf(value); ok || !strings.HasPrefix(value, "eyJ") {
		return kind
	}
	signer, err := key.NewStreamSigner([][]byte{bytes.Repeat([]byte{7}, secret.KeyBytes)})
	if err != nil {
		t.Error(err)
		return ""
	}
	token, err := key.NewStreamVerifier(signer.Public()).Verify([]byte(value), time.Now())
	var session plane.Session
	if err != nil || json.Unmarshal(token.Session, &session) != nil {
		t.Errorf("the gateway was sent a token that is none: %v", err)
	}
	return session.Principal.Kind
}

func TestWirePlayground(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	testkit.Transcripts(t, "testdata/playground", func(t *testing.T, request []byte) []byte {
		n := s.people(t)
		n["16M"] = strings.Repeat("x", playground.BodyBytesMax)
		n["raw"] = must[wire.RevealedKey](t, s, "GET", "/dev/playground/key-for-stream?app_id="+n["app"]+"&key_id="+n["key"], n["session"], nil).Key
		return s.exchange(t, request, n)
	})
}

func TestWirePlaygroundWithoutGateway(t *testing.T) {
	s := newStack(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s.api.Playground = playground.New(s.api.Apps, s.store, "http://"+l.Addr().String(), time.Now)
	testkit.Transcripts(t, "testdata/nogateway", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, s.people(t)) })
}

// live serves a stack on a socket, with less patience for requests than a stream takes.
func (s *stack) live(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := server.HTTP(s, slog.New(slog.DiscardHandler))
	srv.ReadTimeout, srv.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String()
}

// slowGateway streams an event each time it is told to and says when the caller has gone.
func slowGateway(t *testing.T) (url string, next chan struct{}, gone chan error) {
	t.Helper()
	next, gone = make(chan struct{}), make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; ; i++ {
			fmt.Fprintf(w, "data: {\"type\":\"delta\",\"text\":\"%d\"}\n\n", i)
			http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				gone <- r.Context().Err()
				return
			}
		}
	}))
	t.Cleanup(srv.CloseClientConnections)
	return srv.URL, next, gone
}

func TestAStreamIsPassedOnEventByEventAndEndsWithTheBrowser(t *testing.T) {
	s := newStack(t)
	url, next, gone := slowGateway(t)
	s.api.Playground = playground.New(s.api.Apps, s.store, url, time.Now)
	n := s.people(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "POST", s.live(t)+"/dev/playground/stream", strings.NewReader(`{"prompt":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n["session"])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for i := range 3 { // each event is here before the gateway makes the next
		line, err := lines.ReadString('\n')
		if want := fmt.Sprintf("data: {\"type\":\"delta\",\"text\":\"%d\"}\n", i); err != nil || line != want {
			t.Fatalf("event %d: %q %v", i, line, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(250 * time.Millisecond) // altogether longer than the server's time for a request
		next <- struct{}{}
	}
	select {
	case err := <-gone:
		t.Fatalf("the gateway lost its caller while the browser was there: %v", err)
	default:
	}
	leave()
	select {
	case err := <-gone:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the gateway goes on for a browser that has left")
	}
}

func TestAnAnswerThatIsCutIsNotWhole(t *testing.T) {
	s := newStack(t)
	n := s.people(t)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.live(t)+"/dev/playground", strings.NewReader(`{"prompt":"[[cut]]"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n["session"])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d %s: %v", res.StatusCode, body, err)
	}
}

func TestCallsOfADeveloperAreBounded(t *testing.T) {
	s := newStack(t)
	n := s.people(t)
	var leave []func()
	for range playground.CallsPerDeveloperMax {
		_, left, err := s.api.Playground.Enter(n["developer"], 100)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, left)
	}
	w := s.do(t, "POST", "/dev/playground", n["session"], `{"prompt":"hello"}`)
	documented(t, "playground", w)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	if w := s.do(t, "POST", "/dev/playground", n["other_session"], `{"prompt":"hello"}`); w.Code != http.StatusOK {
		t.Errorf("somebody else: %d %s", w.Code, w.Body)
	}
	for _, left := range leave {
		left()
		left() // once
	}
	for range 2 * playground.CallsPerDeveloperMax {
		if w := s.do(t, "POST", "/dev/playground", n["session"], `{"prompt":"hello"}`); w.Code != http.StatusOK {
			t.Fatalf("afterwards: %d %s", w.Code, w.Body)
		}
	}
	for i := range playground.BodiesBytesMax / playground.BodyBytesMax {
		if _, left, err := s.api.Playground.Enter(fmt.Sprint(i), -1); err != nil {
			t.Fatal(err)
		} else {
			defer left()
		}
	}
	if w := s.do(t, "POST", "/dev/playground", n["session"], `{"prompt":"hello"}`); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without memory: %d %s", w.Code, w.Body)
	}
}
