package gateway_test

import (
	"strings"
	"testing"
)

// official are the headers that OpenAI's JavaScript client sends in a browser, with those of a page that traces its requests.
const official = "authorization,content-type,traceparent,tracestate,x-stainless-arch,x-stainless-lang,x-stainless-os," +
	"x-stainless-package-version,x-stainless-retry-count,x-stainless-runtime,x-stainless-runtime-version,x-stainless-timeout"

// TestAPageCanSendWhatClientsSendAndReadWhatIsAnswered asks as a browser does before it sends: on paths that are there, that are not,
// for methods that a path does not take, and on both hosts.
func TestAPageCanSendWhatClientsSendAndReadWhatIsAnswered(t *testing.T) {
	n := start(t, nil)
	for _, tt := range []struct{ host, path, method string }{
		{n.main, "/v1/chat/completions", "POST"},
		{n.main, "/v1/models/Darwin", "GET"},
		{n.main, "/api/v1/agent", "POST"},
		{n.main, "/api/translate", "POST"},
		{n.main, "/api/v1/transcribe", "POST"},
		{n.main, "/v1/embeddings", "POST"},
		{n.main, "/api/v1/nothing/here", "DELETE"},
		{n.main, "/v1", "GET"},
		{n.main, "/v1/models", "PUT"},
		{n.darwin, "/api/v1/agent", "POST"},
		{n.darwin, "/api/v1/generate", "POST"},
	} {
		asks := "OPTIONS " + tt.path + " HTTP/1.1\r\nHost: h\r\nOrigin: https://shop.example\r\nAccess-Control-Request-Method: " + tt.method +
			"\r\nAccess-Control-Request-Headers: " + official + "\r\n\r\n"
		answer := string(receive(t, send(t, tt.host, asks), "OPTIONS"))
		methods := header(answer, "Access-Control-Allow-Methods")
		if !strings.HasPrefix(answer, "HTTP/1.1 204 ") || header(answer, "Access-Control-Allow-Headers") != official ||
			!strings.Contains(methods+",", tt.method+",") || header(answer, "Vary") != "Origin, Access-Control-Request-Headers" {
			t.Errorf("%s %s: the preflight is answered with\n%s", tt.method, tt.path, answer)
		}
		sends := tt.method + " " + tt.path + " HTTP/1.1\r\nHost: h\r\nOrigin: https://shop.example\r\nContent-Length: 2\r\n\r\n{}"
		readable(t, tt.method+" "+tt.path, string(receive(t, send(t, tt.host, sends), tt.method)))
	}
}

// TestAPageCanReadWhatIsRefusedUnread: of these requests little or nothing was understood, their Origin included.
func TestAPageCanReadWhatIsRefusedUnread(t *testing.T) {
	n := start(t, nil)
	const origin = "Host: h\r\nOrigin: https://shop.example\r\n"
	for status, request := range map[string]string{
		"400": "POST /v1/chat/completions HTTP/1.1\r\n" + origin + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"413": "POST /v1/chat/completions HTTP/1.1\r\n" + origin + "Content-Length: 99999999\r\n\r\n",
		"431": "POST /v1/chat/completions HTTP/1.1\r\n" + origin + "X-Long: " + strings.Repeat("x", 40_000) + "\r\n\r\n",
	} {
		answer := string(receive(t, send(t, n.main, request), "POST"))
		if !strings.HasPrefix(answer, "HTTP/1.1 "+status) {
			t.Errorf("%s: got\n%s", status, answer)
		}
		readable(t, status, answer)
	}
}

// TestAPublicAnswerIsForPagesToo: a cache may keep it for a program and hand it to a page.
func TestAPublicAnswerIsForPagesToo(t *testing.T) {
	n := start(t, nil)
	answer := string(receive(t, send(t, n.main, "GET /api/translate/languages HTTP/1.1\r\nHost: h\r\n\r\n"), "GET"))
	readable(t, "without an Origin", answer)
}

func readable(t *testing.T, what, answer string) {
	t.Helper()
	exposed := header(answer, "Access-Control-Expose-Headers") + ","
	if header(answer, "Access-Control-Allow-Origin") != "*" || strings.Contains(answer, "Access-Control-Allow-Credentials") {
		t.Errorf("%s: a page cannot read\n%s", what, answer)
	}
	for _, name := range []string{"X-Request-Id", "Retry-After", "X-RateLimit-Remaining", "RateLimit", "Allow", "WWW-Authenticate"} {
		if !strings.Contains(exposed, name+",") {
			t.Errorf("%s: a page cannot read the header %s: %s", what, name, exposed)
		}
	}
}

// header returns a header of an answer, or "".
func header(answer, name string) string {
	_, after, _ := strings.Cut(answer, "\r\n"+name+": ")
	value, _, _ := strings.Cut(after, "\r\n")
	return value
}
