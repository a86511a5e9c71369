package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

const pepper = "pepper"

// model is an OpenAI-compatible server. Asked to be silent it tells asked, says nothing until the gateway gives up, and tells
// asked again.
func model(t *testing.T, asked chan<- time.Time) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("silent")) {
			asked <- time.Now()
			<-r.Context().Done()
			asked <- time.Now()
			return
		}
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Habari!"},"finish_reason":"stop"}],`+
				`"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"Hab", "ari!"} {
			fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", text)
			w.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's own
		}
		fmt.Fprint(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2,\"total_tokens\":6}}\n\n"+
			"data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// free returns an address that nothing listens on.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a node and returns what stops it.
func runNode(t *testing.T, cfg *Config) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, cfg) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("node: %v", err)
		}
	}
	t.Cleanup(stop)
	await(t, "readiness", func() bool {
		res, err := http.Get("http://" + cfg.MetricsListen + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return stop
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited too long for %s", what)
}

func ask(t *testing.T, cfg *Config, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+cfg.Listen+"/api/v1/agent", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// publishAll gives a node one model and one key, whose text it returns with its id.
func publishAll(t *testing.T, c *control, modelURL string) (text, id string) {
	text, err := key.Mint(key.Live, []byte(pepper))
	if err != nil {
		t.Fatal(err)
	}
	digest := key.Hash(text)
	id = hex.EncodeToString(digest[:])
	c.publish(plane.KindUpstream, "chat", plane.UpstreamSpec{ID: "chat", Dialect: plane.DialectChat, BaseURL: modelURL + "/v1", Model: "m", Credential: "chat"})
	c.publish(plane.KindModel, "Darwin", plane.Model{ID: "Darwin", Family: "darwin", Tasks: []string{"conversation"}, Upstream: "chat", Setting: "X"})
	c.publish(plane.KindKey, id, plane.Principal{
		KeyID: "key_1", AppID: "app_1", DeveloperID: "dev_1", Kind: key.Live,
		Limits: []plane.Limit{{Name: plane.LimitKeyMinute, Bucket: "key/1/minute", Max: 30, Window: time.Minute}},
	})
	return text, id
}

func config(t *testing.T, c *control) *Config {
	return &Config{
		Name: "node", Listen: free(t), DarwinListen: free(t), MetricsListen: free(t), ControlURL: c.URL, JoinToken: conf.NewSecret("token"),
		DataDir: t.TempDir(), Credentials: map[string]conf.Secret{"chat": conf.NewSecret("sk-1")}, DrainTime: 5 * time.Second, CallTime: time.Minute,
		UploadTime: time.Minute, WriteTime: 30 * time.Second,
		ConnsMax: 100, BodyMemory: "64MiB", LogLevel: "error", LogFormat: "text", KeepAlive: 10 * time.Second,
	}
}

// TestTheUpstreamIsGivenUpWhenTheClientLeaves goes all the way, while the upstream has not said a word.
func TestTheUpstreamIsGivenUpWhenTheClientLeaves(t *testing.T) {
	c := newControl(t)
	asked := make(chan time.Time, 10)
	text, _ := publishAll(t, c, model(t, asked).URL)
	cfg := config(t, c)
	runNode(t, cfg)
	for _, stream := range []string{"false", "true"} {
		conn, err := net.Dial("tcp", cfg.Listen)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"prompt":"silent","stream":` + stream + `}`
		fmt.Fprintf(conn, "POST /api/v1/agent HTTP/1.1\r\nHost: g\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s", text, len(body), body)
		<-asked
		_ = conn.Close()
		select {
		case <-asked:
		case <-time.After(30 * time.Second): // half of what a call may take, which would end it too
			t.Fatalf("stream %s: the upstream was not given up", stream)
		}
	}
	await(t, "usage", func() bool { return len(c.records()) == 2 })
	for _, r := range c.records() {
		if r.End != plane.EndClientGone {
			t.Errorf("usage: %+v", r)
		}
	}
}

func TestTheLifeOfANode(t *testing.T) {
	c := newControl(t)
	text, id := publishAll(t, c, model(t, nil).URL)
	cfg := config(t, c)
	stop := runNode(t, cfg)
	if status, body := ask(t, cfg, text, `{"prompt":"hello"}`); status != 200 || !strings.Contains(body, `"text":"Habari!"`) {
		t.Errorf("whole: %d %s", status, body)
	}
	want := "data: {\"type\":\"delta\",\"text\":\"Hab\"}\n\ndata: {\"type\":\"delta\",\"text\":\"ari!\"}\n\ndata: [DONE]\n\n"
	if status, body := ask(t, cfg, text, `{"prompt":"hello","stream":true}`); status != 200 || body != want {
		t.Errorf("stream: %d %s", status, body)
	}
	await(t, "usage", func() bool { return len(c.records()) == 2 })
	for _, r := range c.records() {
		if r.Status != 200 || r.End != plane.EndDone || r.TokensIn != 4 || r.TokensOut != 2 || r.KeyID != "key_1" || r.Model != "Darwin" {
			t.Errorf("usage: %+v", r)
		}
	}

	c.stop() // from here on there is no control plane
	if status, body := ask(t, cfg, text, `{"prompt":"hello"}`); status != 200 {
		t.Errorf("without the control plane: %d %s", status, body)
	}
	stop()
	stop = runNode(t, cfg)
	if status, body := ask(t, cfg, text, `{"prompt":"hello"}`); status != 200 {
		t.Errorf("restarted without the control plane: %d %s", status, body)
	}
	stop()

	again := newControl(t)
	again.changes = c.changes
	cfg.ControlURL = again.URL
	stop = runNode(t, cfg)
	defer stop()
	again.publish(plane.KindKey, id, nil)
	await(t, "the revocation", func() bool {
		status, _ := ask(t, cfg, text, `{"prompt":"hello"}`)
		return status == 401
	})
}
