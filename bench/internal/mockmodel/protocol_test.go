package mockmodel

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestUnaryAnswer(t *testing.T) {
	_, addr := start(t, Config{})
	resp, body := post(t, addr, prompt("mock", "hello there", false))
	var got struct {
		ID, Object, Model string
		Created           int64
		Choices           []struct {
			Index        int
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage map[string]int
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("X-Simulator") != "modelgate-mockmodel" {
		t.Errorf("head is %d %v", resp.StatusCode, resp.Header)
	}
	if !strings.HasPrefix(got.ID, "chatcmpl-") || got.Object != "chat.completion" || got.Model != "mock" || got.Created == 0 || len(got.Choices) != 1 {
		t.Fatalf("answer is %s", body)
	}
	if c := got.Choices[0]; c.Message.Role != "assistant" || c.Message.Content != "Simulated answer. You said: hello there" || c.FinishReason != "stop" {
		t.Errorf("choice is %+v", c)
	}
	if got.Usage["prompt_tokens"] != 2 || got.Usage["completion_tokens"] != 6 || got.Usage["total_tokens"] != 8 {
		t.Errorf("usage is %v", got.Usage)
	}
}

func TestStreamedAnswer(t *testing.T) {
	_, addr := start(t, Config{})
	raw, err := wire(t, addr, `{"model":"mock","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	resp, body := unchunk(t, raw)
	if resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || resp.Header.Get("X-Simulator") == "" {
		t.Errorf("head is %v", resp.Header)
	}
	events := data(body)
	if len(events) != 9 || contents(t, events) != "Simulated answer. You said: hi" {
		t.Fatalf("events are %q", events)
	}
	for i, part := range map[int]string{
		0: `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null`,
		6: `"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null`,
		7: `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":5,"total_tokens":6}`,
		8: `[DONE]`,
	} {
		if !strings.Contains(events[i], part) {
			t.Errorf("event %d is %s, want %s", i, events[i], part)
		}
	}
	// One event is one chunk: a gateway under test sees each by itself.
	if got := strings.Count(raw, "\r\ndata: "); got != 9 {
		t.Errorf("%d chunks begin an event, want 9", got)
	}
}

func TestStreamedToolCall(t *testing.T) {
	_, addr := start(t, Config{})
	_, body := post(t, addr, `{"model":"mock","stream":true,"tool_choice":"required","messages":[{"role":"user","content":"Lyon today"}],
		"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]}`)
	events := data(body)
	args, name := "", ""
	for _, e := range events[:len(events)-1] {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Calls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(e), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices[0].Delta.Calls {
			args += c.Function.Arguments
			name += c.Function.Name
		}
	}
	if name != "weather" || args != `{"city":"Lyon today"}` || !strings.Contains(events[len(events)-2], `"finish_reason":"tool_calls"`) {
		t.Errorf("name %q, arguments %q, events %q", name, args, events)
	}
	if len(events) < 6 {
		t.Errorf("the arguments are not fragmented: %q", events)
	}
}

func TestRefusals(t *testing.T) {
	_, addr := start(t, Config{APIKey: "right", MaxBodyBytes: 300})
	do := func(method, path, key, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		resp, got := send(t, req)
		if resp.Header.Get("X-Simulator") == "" {
			t.Errorf("%s %s: unmarked answer", method, path)
		}
		return resp.StatusCode, got
	}
	const chat = "/v1/chat/completions"
	for _, tc := range []struct {
		method, path, key, body string
		status                  int
		part                    string
	}{
		{"POST", chat, "", prompt("mock", "x", false), 401, "didn't provide"},
		{"POST", chat, "wrong", prompt("mock", "x", false), 401, `"code":"invalid_api_key"`},
		{"POST", chat, "right", `{"model"`, 400, `"type":"invalid_request_error"`},
		{"POST", chat, "right", prompt("gpt", "x", false), 404, `"code":"model_not_found"`},
		{"POST", chat, "right", prompt("mock:no-such", "x", false), 404, "unknown scenario"},
		{"POST", chat, "right", prompt("mock", "[[scenario:no-such]]", false), 400, "unknown scenario"},
		{"POST", chat, "right", prompt("mock", strings.Repeat("x", 400), false), 413, "larger than 300"},
		{"GET", chat, "right", "", 405, "Not allowed to GET"},
		{"GET", "/v1/nothing", "right", "", 404, `"code":"unknown_url"`},
		{"GET", "/v1/models", "", "", 401, "error"},
		{"GET", "/v1/models/gpt", "right", "", 404, "model_not_found"},
		{"GET", "/_mock/requests", "", "", 401, "error"},
		{"GET", "/_mock/requests?since=x", "right", "", 400, "since"},
		{"GET", "/health", "", "", 200, `"backend":"simulator"`},
		{"POST", chat, "right", prompt("mock", "x", false), 200, "Simulated"},
	} {
		if status, got := do(tc.method, tc.path, tc.key, tc.body); status != tc.status || !strings.Contains(got, tc.part) {
			t.Errorf("%s %s %s: %d %s, want %d with %q", tc.method, tc.path, tc.body, status, got, tc.status, tc.part)
		}
	}
}

func TestModels(t *testing.T) {
	_, addr := start(t, Config{Models: []string{"b", "a"}, Script: "scripted status\na status\n"})
	_, body := get(t, addr, "/v1/models")
	var got struct {
		Object string
		Data   []struct{ ID, Object string }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Object != "list" || len(got.Data) != 3 || got.Data[0].ID != "a" || got.Data[2].ID != "scripted" || got.Data[0].Object != "model" {
		t.Errorf("models are %s", body)
	}
}

func TestConfigIsJudged(t *testing.T) {
	for _, cfg := range []Config{{Models: []string{""}}, {Script: "m nothing"}, {Script: "m"}, {Script: "# ok\nm status code=x"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

func TestDelays(t *testing.T) {
	_, addr := start(t, Config{TokenDelay: 30 * time.Millisecond, FirstTokenDelay: 50 * time.Millisecond})
	begin := time.Now()
	post(t, addr, prompt("mock", "one two", true)) // six tokens, five gaps
	if took := time.Since(begin); took < 200*time.Millisecond {
		t.Errorf("the stream took %s, want at least 200ms", took)
	}
}

func TestShutdownDropsOpenStreams(t *testing.T) {
	s, err := New(Config{})
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
	for _, model := range []string{"mock:silent", "mock:silent-head", "mock:slow-first-1m", "mock:slow-head-1m"} {
		dial(t, l.Addr().String(), prompt(model, "x", true))
	}
	for s.Open() < 4 {
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("shutting down took %s", took)
	}
	for s.Open() > 0 && time.Since(begin) < patience {
		time.Sleep(time.Millisecond)
	}
	views, _ := s.Requests(0)
	for _, v := range views {
		if v.Outcome != "stopped" || v.CancelledAt != nil {
			t.Errorf("%s ended as %s, cancelled at %v", v.Model, v.Outcome, v.CancelledAt)
		}
	}
}
