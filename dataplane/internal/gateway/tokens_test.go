package gateway_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"modelgate.internal/shared/plane"
)

const tokensSpent = "Rate limit reached: this key may use 20 model tokens per minute. Enough are free in "

// A server of results is asked for no more than was reserved, its stream ends where the tokens do, and a dry run asks nobody.
func TestTokensOfTheDialectNative(t *testing.T) {
	n, server := startNative(t)
	whole := post("/api/v1/generate", "svc_test_tokens", `{"family":"emoticore","task":"text","prompt":"hello"}`)
	if status, _, body := ran(t, n, dry(whole)); status != http.StatusOK || !strings.Contains(string(body), `"would":{"status":200`) {
		t.Errorf("%d: %s", status, body)
	}
	if len(server.bodies) != 0 {
		t.Error("a dry run asked the server")
	}
	if status, _, body := ran(t, n, whole); status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	if asked := string(<-server.bodies); !strings.Contains(asked, `"max_tokens":18`) {
		t.Errorf("the server was asked %s", asked)
	}

	n, _ = startNative(t)
	prompt := "does:events " + strings.Repeat("x", 64) // 19 of the 20 tokens
	_, _, body := ran(t, n, post("/api/v1/stream", "svc_test_tokens", `{"family":"emoticore","task":"text","prompt":"`+prompt+`"}`))
	if got := string(body); !strings.Contains(got, `"Hab"`) || strings.Contains(got, `"ari"`) || !strings.Contains(got, `"type":"limit_reached"`) {
		t.Errorf("got %s", got)
	}
	if r := n.recorded(t); r.out.End != plane.EndLimit || r.out.Usage.TokensIn+r.out.Usage.TokensOut != 20 {
		t.Errorf("recorded as %q with %+v", r.out.End, r.out.Usage)
	}
}

// A dry run says what the model tokens would make of the call.
func TestADryRunJudgesTokens(t *testing.T) {
	n := start(t, nil)
	for request, want := range map[string]string{
		ask("svc_test_tokens", "hello", false):                 `"would":{"status":200`,
		ask("svc_test_tokens", strings.Repeat("x", 100), true): `"would":{"status":413,"detail":"The prompt has about 25 tokens`,
		post("/v1/chat/completions", "svc_test_tokens", `{"model":"Darwin","messages":[{"role":"user","content":"`+strings.Repeat("x", 100)+`"}]}`): `"would":{"status":413`,
	} {
		if _, _, body := ran(t, n, dry(request)); !strings.Contains(string(body), want) {
			t.Errorf("%s: got %s, want %s", request, body, want)
		}
	}
	if status, _, body := ran(t, n, ask("svc_test_tokens", "hello", false)); status != http.StatusOK { // it uses 8 of 20
		t.Fatalf("%d: %s", status, body)
	}
	request := post("/api/v1/agent", "svc_test_tokens", `{"prompt":"hello","max_tokens":15}`)
	_, _, body := ran(t, n, dry(request))
	status, _, _ := ran(t, n, request)
	if !strings.Contains(string(body), `"would":{"status":429,"detail":"`+tokensSpent) || status != http.StatusTooManyRequests {
		t.Errorf("%s, and the call gets %d", body, status)
	}
}

// A running call has reserved the limit; whoever comes meanwhile is told when there are tokens, in the words of the door that it came by.
func TestReservedTokensRefuseOtherCalls(t *testing.T) {
	n := start(t, nil)
	first := send(t, n.main, ask("svc_test_tokens", "wait", false))
	n.waiting(t)
	requests := map[string]string{
		"agent":  ask("svc_test_tokens", "hello", false),
		"stream": ask("svc_test_tokens", "hello", true),
		"chat":   post("/v1/chat/completions", "svc_test_tokens", `{"model":"Darwin","messages":[{"role":"user","content":"hi"}]}`),
	}
	for name, request := range requests {
		status, header, body := ran(t, n, request)
		if status != http.StatusTooManyRequests {
			t.Fatalf("%s: %d: %s", name, status, body)
		}
		var told struct {
			Detail string
			Error  struct{ Message, Type, Code string }
		}
		must(t, json.Unmarshal(body, &told))
		detail := told.Detail
		if name == "chat" {
			if detail = told.Error.Message; told.Error.Type != "rate_limit_error" || told.Error.Code != "rate_limit_exceeded" {
				t.Errorf("%s: %s", name, body)
			}
		}
		after, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil || after < 1 || after > 61 || detail != tokensSpent+strconv.Itoa(after)+" s." {
			t.Errorf("%s: %q after %q", name, detail, header.Get("Retry-After"))
		}
		if header.Get("X-Ratelimit-Limit") != "20" || header.Get("X-Ratelimit-Remaining") != "0" ||
			!strings.HasPrefix(header.Get("Ratelimit"), `"key_tokens_per_minute";r=0;t=`) {
			t.Errorf("%s: %v", name, header)
		}
	}
	_ = first.Close()
	if cause := n.stopped(t); cause == nil {
		t.Error("the first call goes on")
	}
	for _, r := range n.ledger.all() {
		if end := r.out.End; end != plane.EndRefused && end != plane.EndClientGone {
			t.Errorf("recorded as %s", end)
		}
	}
}
