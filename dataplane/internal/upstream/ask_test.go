package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// wholeAnswer is an answer as the real service sends it; content and usage are JSON.
func wholeAnswer(content, usage string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":`+
		`{"role":"assistant","content":%s,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":%s,"system_fingerprint":"fp"}`, content, usage)
}

const providerUsage = `{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}`

func estimated(out int64) call.Usage {
	return call.Usage{TokensIn: 3, TokensOut: out, Source: plane.SourceEstimated}
}

func TestAsk(t *testing.T) {
	toolCall := `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	for _, test := range []struct {
		name  string
		do    func(a *act)
		text  string
		use   call.Usage
		fails string
		kind  apierr.Kind
	}{
		{
			name: "as it should be", text: `"Hi \"you\" é"`, use: provider,
			do: func(a *act) { a.body(200, "application/json", wholeAnswer(`"Hi \"you\" é"`, providerUsage)) },
		},
		{
			name: "chunked and slow", text: `"Hi"`, use: provider,
			do: func(a *act) {
				body := wholeAnswer(`"Hi"`, providerUsage)
				a.say("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")
				a.chunk(body[:70])
				a.pause()
				a.chunk(body[70:])
				a.end()
			},
		},
		{
			name: "until close", text: `"Hi"`, use: provider,
			do: func(a *act) {
				a.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + wholeAnswer(`"Hi"`, providerUsage))
				a.nc.Close()
			},
		},
		{name: "no usage", text: `"Hi you"`, use: estimated(2), do: func(a *act) { a.body(200, "application/json", wholeAnswer(`"Hi you"`, "null")) }},
		{name: "half a usage", text: `"Hi"`, use: estimated(1), do: func(a *act) { a.body(200, "application/json", wholeAnswer(`"Hi"`, `{"prompt_tokens":7}`)) }},
		{
			name: "explicit zero usage", text: `"Hi"`, use: call.Usage{Source: plane.SourceProvider},
			do: func(a *act) {
				a.body(200, "application/json", wholeAnswer(`"Hi"`, `{"prompt_tokens":0,"completion_tokens":0}`))
			},
		},
		{name: "no text", text: `""`, use: provider, do: func(a *act) { a.body(200, "application/json", wholeAnswer("null", providerUsage)) }},
		{
			name: "refusal", text: `"No."`, use: provider,
			do: func(a *act) {
				a.body(200, "application/json", strings.Replace(wholeAnswer("null", providerUsage), `"refusal":null`, `"refusal":"No."`, 1))
			},
		},
		{
			name: "2 MiB", text: `"` + strings.Repeat("x", 2<<20) + `"`, use: provider,
			do: func(a *act) {
				a.body(200, "application/json", wholeAnswer(`"`+strings.Repeat("x", 2<<20)+`"`, providerUsage))
			},
		},

		{
			name: "9 MiB", fails: "over 8 MiB", kind: apierr.BadGateway,
			do: func(a *act) { a.body(200, "application/json", wholeAnswer(`"`+strings.Repeat("x", 9<<20)+`"`, "null")) },
		},
		{name: "tool call", fails: "tool call", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "application/json", toolCall) }},
		{
			name: "error object", fails: "reported an error: out of memory", kind: apierr.BadGateway,
			do: func(a *act) { a.body(200, "application/json", `{"error":"out of memory"}`) },
		},
		{
			name: "vLLM's error object", fails: "reported an error: out of memory", kind: apierr.BadGateway,
			do: func(a *act) {
				a.body(200, "application/json", `{"object":"error","message":"out of memory","code":500}`)
			},
		},
		{name: "no choices", fails: "not a chat completion", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "application/json", `{"choices":[]}`) }},
		{
			name: "no content", fails: "not a chat completion", kind: apierr.BadGateway,
			do: func(a *act) { a.body(200, "application/json", `{"choices":[{"message":{"role":"assistant"}}]}`) },
		},
		{name: "not JSON", fails: "not a chat completion", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "application/json", "oops") }},
		{name: "empty", fails: "not a chat completion", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "application/json", "") }},
		{
			name: "two answers", fails: "not a chat completion", kind: apierr.BadGateway,
			do: func(a *act) {
				a.body(200, "application/json", wholeAnswer(`"a"`, "null")+wholeAnswer(`"b"`, "null"))
			},
		},
		{name: "invalid UTF-8", fails: "UTF-8", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "application/json", wholeAnswer("\"a\xff\"", "null")) }},
		{name: "html", fails: "content type", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "text/html", "<h1>login</h1>") }},
		{name: "event stream", fails: "content type", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "text/event-stream", delta("Hi")) }},
		{
			name: "gzip", fails: "compressed", kind: apierr.BadGateway,
			do: func(a *act) {
				a.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b")
			},
		},
		{
			name: "cut", fails: "broke off", kind: apierr.BadGateway,
			do: func(a *act) {
				a.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n" + wholeAnswer(`"Hi"`, "null"))
				a.nc.Close()
			},
		},
		{
			name: "cut chunks", fails: "broke off", kind: apierr.BadGateway,
			do: func(a *act) {
				a.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
				a.chunk(wholeAnswer(`"Hi"`, "null"))
				a.nc.Close()
			},
		},
		{name: "404", fails: `the model "m"`, kind: apierr.BadGateway, do: func(a *act) { a.body(404, "application/json", `{"detail":"Not Found"}`) }},
		{name: "402", fails: "account", kind: apierr.BadGateway, do: func(a *act) { a.body(402, "application/json", "{}") }},
		{name: "503", fails: "status 503", kind: apierr.Unavailable, do: func(a *act) { a.body(503, "text/plain", "busy") }},
		{
			name: "400 with a long message", fails: strings.Repeat("y", 200), kind: apierr.BadRequest,
			do: func(a *act) {
				a.body(400, "application/json", `{"error":{"message":"`+strings.Repeat("y", 60_000)+`"}}`)
			},
		},
		{
			name: "400 without end", fails: "without saying why", kind: apierr.BadRequest,
			do: func(a *act) {
				a.say("HTTP/1.1 400 Bad\r\nContent-Length: 9999999\r\n\r\n" + strings.Repeat("y", 200<<10))
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up, script := newScript(t, Options{}, func(a *act) { test.do(a); io.Copy(io.Discard, a.nc) })
			got, err := up.Ask(t.Context(), hello)
			if test.fails == "" && (string(got.Text) != test.text || got.Use != test.use || !json.Valid(got.Text)) {
				t.Errorf("got %.80q, %+v", got.Text, got.Use)
			}
			checkFault(t, err, test.kind, test.fails)
			if e := apierr.From(err); e != nil && len([]rune(e.Detail)) > messageRunesMax+100 {
				t.Errorf("detail of %d bytes", len(e.Detail))
			}
			if n := script.requests(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestRequests decodes what the upstream is sent.
func TestRequests(t *testing.T) {
	up, script := newScript(t, Options{}, func(a *act) {
		if a.stream {
			a.events()
			a.chunk(delta("Hi") + tail)
			a.end()
			return
		}
		a.body(200, "application/json", wholeAnswer(`"Hi"`, "null"))
	})
	message := func(role string, content any) map[string]any { return map[string]any{"role": role, "content": content} }
	image := func(mediaType, base64 string) []any {
		return []any{
			map[string]any{"type": "text", "text": "What is it?"},
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:" + mediaType + ";base64," + base64}},
		}
	}
	large := "iVBOR" + strings.Repeat("A", 3<<20)
	for name, test := range map[string]struct {
		chat *Chat
		want map[string]any
	}{
		"prompt": {&Chat{Prompt: []byte(`"a\nb é \u00e9"`)}, map[string]any{"messages": []any{message("user", "a\nb é é")}}},
		"everything": {
			&Chat{
				Prompt: []byte(`"now"`), System: []byte(`"be \"kind\""`), Temperature: []byte("0.70"), MaxTokens: 12,
				Turns: []Turn{{[]byte(`"user"`), []byte(`"one"`)}, {[]byte(`"assistant"`), []byte(`"two"`)}},
			},
			map[string]any{
				"max_tokens": 12.0, "temperature": 0.7,
				"messages": []any{message("system", `be "kind"`), message("user", "one"), message("assistant", "two"), message("user", "now")},
			},
		},
		"png":   {&Chat{Prompt: []byte(`"What is it?"`), Image: []byte(`"iVBORw0KGgo="`)}, map[string]any{"messages": []any{message("user", image("image/png", "iVBORw0KGgo="))}}},
		"jpeg":  {&Chat{Prompt: []byte(`"What is it?"`), Image: []byte(`"\/9j\/4AA"`)}, map[string]any{"messages": []any{message("user", image("image/jpeg", "/9j/4AA"))}}},
		"large": {&Chat{Prompt: []byte(`"What is it?"`), Image: []byte(`"` + large + `"`), MaxTokens: 3}, map[string]any{"max_tokens": 3.0, "messages": []any{message("user", image("image/png", large))}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				test.want["model"] = "m"
				if stream {
					test.want["stream"], test.want["stream_options"] = true, map[string]any{"include_usage": true}
					if got := listen(t, t.Context(), up, test.chat); got.outcome.Err != nil || got.openErr != nil {
						t.Fatal(got)
					}
				} else if _, err := up.Ask(t.Context(), test.chat); err != nil {
					t.Fatal(err)
				}
				script.mu.Lock()
				body := script.bodies[len(script.bodies)-1]
				script.mu.Unlock()
				var got map[string]any
				if err := json.Unmarshal([]byte(body), &got); err != nil {
					t.Fatalf("%.200s: %v", body, err)
				}
				if !reflect.DeepEqual(got, test.want) {
					t.Errorf("got %.300s, want %.300s", body, fmt.Sprint(test.want))
				}
			}
		})
	}
}
