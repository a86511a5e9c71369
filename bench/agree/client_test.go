package agree

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/wire"
)

const callWait = 60 * time.Second

// own is what the client counted.
type own struct {
	total  wire.Counters
	quota  int64 // calls of the day's quota
	apps   map[string]wire.Counters
	keys   map[string]wire.Counters
	models map[string]wire.Counters
	status map[int]wire.Counters
	unsure map[string]bool // keys whose tokens the client cannot know, as it left
}

func (o *own) count(app, key, model string, status int, in, out int64) {
	c := wire.Counters{Calls: 1, TokensIn: in, TokensOut: out}
	if status >= 400 {
		c.Errors = 1
	}
	o.total = plus(o.total, c)
	o.apps[app], o.keys[key], o.models[model], o.status[status] = plus(o.apps[app], c), plus(o.keys[key], c), plus(o.models[model], c), plus(o.status[status], c)
}

func plus(a, b wire.Counters) wire.Counters {
	return wire.Counters{Calls: a.Calls + b.Calls, Errors: a.Errors + b.Errors, TokensIn: a.TokensIn + b.TokensIn, TokensOut: a.TokensOut + b.TokensOut}
}

// send makes a request and returns status and body.
func send(t *testing.T, method, address, bearer, accept, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
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

func get[T any](t *testing.T, method, address, bearer, body string) (v T) {
	t.Helper()
	status, text := send(t, method, address, bearer, "application/json", body)
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != 200 {
		t.Fatalf("%s %s: %d %s %v", method, address, status, text, err)
	}
	return v
}

// chat makes a call and counts it from what the answer says. A stream that is left counts as a call.
func (o *own) chat(t *testing.T, gateway, app string, key wire.NewKey, model, prompt string, streamed, leave bool) {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}],"stream":%t`, model, prompt, streamed)
	if streamed {
		body += `,"stream_options":{"include_usage":true}`
	}
	ctx, cancel := context.WithTimeout(t.Context(), callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", gateway+"/v1/chat/completions", strings.NewReader(body+"}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	if leave {
		if _, err := lines.ReadString('\n'); err != nil || res.StatusCode != 200 {
			t.Fatal(res.StatusCode, err)
		}
		o.unsure[key.KeyID] = true
		o.count(app, key.KeyID, model, 200, 0, 0)
		return // which closes the connection
	}
	text, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	var usage struct {
		In  int64 `json:"prompt_tokens"`
		Out int64 `json:"completion_tokens"`
	}
	if res.StatusCode == 200 {
		_, part, ok := strings.Cut(string(text), `"usage":{`)
		part, _, closed := strings.Cut(part, "}")
		if err := json.Unmarshal([]byte("{"+part+"}"), &usage); err != nil || !ok || !closed || usage.Out == 0 {
			t.Fatalf("the answer does not say what it cost: %s", text)
		}
	}
	if res.StatusCode == 400 || res.StatusCode == 404 || res.StatusCode == 422 {
		model = "" // refused for what was asked: not kept as a model
	}
	o.count(app, key.KeyID, model, res.StatusCode, usage.In, usage.Out)
}
