package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/shared/wire"
)

// dry makes a dry run of a request.
func dry(request string) string { return strings.Replace(request, "\r\n", "\r\nX-Dry-Run: 1\r\n", 1) }

func ran(t *testing.T, n *node, request string) (status int, header http.Header, body []byte) {
	t.Helper()
	raw := receive(t, send(t, n.main, request), "POST")
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	must(t, err)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, res.Header, body
}

// What a dry run says is what the call gets.
func TestADryRunForetellsTheAnswer(t *testing.T) {
	const chat = "/v1/chat/completions"
	for _, request := range []string{
		ask("svc_test_ok", "hello", false),
		ask("svc_test_ok", "hello", true),
		ask("svc_test_narrow", "hello", false),
		ask("svc_test_used_up", "hello", false),
		ask("svc_live_ok", "hello", false),
		post("/api/v1/agent", "svc_test_ok", `{"prompt":""}`),
		post("/api/v1/agent", "svc_test_ok", `{"prompt":"hello","model":"Einstein"}`),
		post("/api/v1/agent", "svc_test_ok", `{"prompt":"hello","model":"Nova"}`),
		post("/api/v1/agent", "svc_test_ok", `{"prompt":"hello","model":"Broken"}`),
		post("/api/v1/agent", "svc_live_ok", `{"prompt":"hello","model":"Mock"}`),
		post("/api/v1/generate", "svc_test_ok", `{"prompt":"hello","task":"fly"}`),
		post("/api/v1/generate", "svc_test_ok", `{"prompt":"hello","task":"code"}`),
		post("/api/v1/stream", "svc_test_ok", `{"prompt":"hello"}`),
		post(chat, "svc_test_ok", `{"model":"Darwin","messages":[{"role":"user","content":"hi"}]}`),
		post(chat, "svc_test_ok", `{"model":"Darwin","messages":[{"role":"boss","content":"hi"}]}`),
		post(chat, "svc_test_used_up", `{"model":"Darwin","messages":[{"role":"user","content":"hi"}]}`),
	} {
		n := start(t, nil)
		status, _, body := ran(t, n, dry(request))
		var told wire.DryRun
		if err := json.Unmarshal(body, &told); err != nil || status != 200 || !told.DryRun {
			t.Errorf("%s\nstatus %d: %s", request, status, body)
			continue
		}
		status, header, body := ran(t, n, request)
		if told.Would.Status != status {
			t.Errorf("%s\nwould be %d, is %d: %s", request, told.Would.Status, status, body)
		}
		if told.Would.Detail != nil && !bytes.Contains(body, []byte(strings.ReplaceAll(*told.Would.Detail, `"`, `\"`))) {
			t.Errorf("%s\nwould say %q, says %s", request, *told.Would.Detail, body)
		}
		if (told.Would.Detail == nil) != (status == 200) {
			t.Errorf("%s\nstatus %d and detail %v", request, status, told.Would.Detail)
		}
		after := ""
		if told.Would.RetryAfterSeconds != nil {
			after = strconv.FormatInt(*told.Would.RetryAfterSeconds, 10)
		}
		if got := header.Get("Retry-After"); got != after {
			t.Errorf("%s\nwould be asked to wait %q s, is asked to wait %q s", request, after, got)
		}
	}
}

// A dry run asks no model, takes nothing from a limit and is no usage.
func TestADryRunIsFree(t *testing.T) {
	n := start(t, nil)
	for range 40 { // more than the limit of 30
		if status, _, body := ran(t, n, dry(ask("svc_test_ok", "unreachable", false))); status != 200 || !bytes.Contains(body, []byte(`"remaining":30`)) {
			t.Fatalf("status %d: %s", status, body)
		}
	}
	if records := n.ledger.all(); len(records) != 0 {
		t.Errorf("%d records", len(records))
	}
	if _, header, _ := ran(t, n, ask("svc_test_ok", "hello", false)); header.Get("X-Ratelimit-Remaining") != "29" {
		t.Errorf("after a call %s calls remain", header.Get("X-Ratelimit-Remaining"))
	}
}

// An operation that would charge for a dry run refuses it, and a no in the header is a no.
func TestWhereThereIsNoDryRun(t *testing.T) {
	called := 0
	n := start(t, func(o *gateway.Options) {
		for i := range o.Routes {
			if o.Routes[i].ID == "generate" {
				o.Routes[i].Dry = false
				o.Routes[i].Handle = func(*call.Call) (call.Answer, error) {
					called++
					return call.Answer{Body: []byte("{}")}, nil
				}
			}
		}
	})
	request := post("/api/v1/generate", "svc_test_ok", `{"prompt":"hello"}`)
	if status, _, body := ran(t, n, dry(request)); status != 400 || called != 0 || !bytes.Contains(body, []byte("no dry run")) {
		t.Errorf("status %d: %s, called %d times", status, body, called)
	}
	for _, no := range []string{"0", "false"} {
		if status, _, body := ran(t, n, strings.Replace(dry(request), "Run: 1", "Run: "+no, 1)); status != 200 {
			t.Errorf("status %d: %s", status, body)
		}
	}
	if called != 2 || len(n.ledger.all()) != 2 {
		t.Errorf("called %d times, %d records", called, len(n.ledger.all()))
	}
	if status, _, _ := ran(t, n, dry("GET /api/v1/models HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer svc_test_ok\r\n\r\n")); status != 200 {
		t.Errorf("what is free anyway answers %d", status)
	}
}
