package mockmodel

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
)

// full is the text of the normal answer to playAll's request.
const full = "Simulated answer. You said: hello you"

// onWire is one scenario in a stream: how the connection ends (nil for FIN) and what all its bytes must fulfil.
type onWire struct {
	call  string
	ended error
	check func(t *testing.T, raw string) bool
}

// playAll asks for a stream in each scenario over a bare connection.
func playAll(t *testing.T, table []onWire) {
	t.Helper()
	for _, tc := range table {
		t.Run(tc.call, func(t *testing.T) {
			t.Parallel()
			_, addr := start(t, Config{})
			raw, err := wire(t, addr, prompt("mock:"+tc.call, "hello you", true))
			if !errors.Is(err, tc.ended) {
				t.Errorf("ended with %v, want %v", err, tc.ended)
			}
			if !tc.check(t, raw) {
				t.Errorf("answer is %.3000q", raw)
			}
		})
	}
}

func TestCutsAndSilence(t *testing.T) {
	playAll(t, []onWire{
		{"cut-head", nil, func(_ *testing.T, raw string) bool { return raw == "" }},
		{"cut-head,bytes=20", nil, func(_ *testing.T, raw string) bool { return raw == "HTTP/1.1 200 OK\r\nX-S" }},
		{"cut-head,rst=1", syscall.ECONNRESET, func(_ *testing.T, raw string) bool { return raw == "" }},
		{"cut-after-3", nil, func(_ *testing.T, raw string) bool {
			return strings.Count(raw, "data: ") == 3 && !strings.HasSuffix(raw, "0\r\n\r\n")
		}},
		{"rst-after-2", syscall.ECONNRESET, func(_ *testing.T, raw string) bool { return strings.Count(raw, "data: ") == 2 }},
		{"cut-event-2", nil, func(t *testing.T, raw string) bool {
			_, body := unchunk(t, raw)
			return strings.Count(body, "\n\n") == 2 && !strings.HasSuffix(body, "\n")
		}},
		{"silent,for=20ms", nil, func(_ *testing.T, raw string) bool {
			return strings.HasSuffix(raw, "\r\n\r\n") && !strings.Contains(raw, "data")
		}},
		{"silent-head,for=20ms", nil, func(_ *testing.T, raw string) bool { return raw == "" }},
		{"stall-after-1,for=20ms", nil, func(_ *testing.T, raw string) bool { return strings.Count(raw, "data: ") == 1 }},
		{"drip-head-100us", nil, func(t *testing.T, raw string) bool { return whole(t, raw) == full }},
		{"drip-body-0", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Contains(raw, "1\r\nd\r\n1\r\na\r\n1\r\nt\r\n")
		}},
		{"split", nil, func(t *testing.T, raw string) bool {
			return strings.Contains(whole(t, raw), "日本語 😀👩‍🚀 \"quoted\" back\\slash")
		}},
	})
}

func TestEventContents(t *testing.T) {
	playAll(t, []onWire{
		{"bad-json-2", nil, func(t *testing.T, raw string) bool { return nth(t, raw, 2) && !json.Valid([]byte(events(t, raw)[2])) }},
		{"bad-shape-2", nil, func(t *testing.T, raw string) bool { return events(t, raw)[2] == `{"choices":"none"}` }},
		{"bad-utf8-2", nil, func(t *testing.T, raw string) bool { return strings.Contains(events(t, raw)[2], "simul\xff") }},
		{"oversized", nil, func(t *testing.T, raw string) bool { return len(events(t, raw)[3]) > 10<<20 }},
		{"oversized-1000", nil, func(t *testing.T, raw string) bool { return len(events(t, raw)[3]) > 1000 }},
		{"error-first", nil, func(t *testing.T, raw string) bool {
			return len(events(t, raw)) == 1 && strings.HasPrefix(events(t, raw)[0], `{"error":{"message"`)
		}},
		{"error-mid-2,more=1", nil, func(t *testing.T, raw string) bool {
			e := events(t, raw)
			return strings.HasPrefix(e[2], `{"error"`) && e[len(e)-1] == "[DONE]" && contents(t, e) == full
		}},
		{"error-mid-2", nil, func(t *testing.T, raw string) bool { return len(events(t, raw)) == 3 }},
		{"no-done", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && !strings.Contains(raw, "[DONE]") && strings.HasSuffix(raw, "0\r\n\r\n")
		}},
		{"no-finish", nil, func(t *testing.T, raw string) bool { return whole(t, raw) == full && !strings.Contains(raw, `"stop"`) }},
		{"role-only", nil, func(t *testing.T, raw string) bool { return len(events(t, raw)) == 2 && whole(t, raw) == "" }},
		{"finish-only", nil, func(t *testing.T, raw string) bool {
			return len(events(t, raw)) == 2 && strings.Contains(raw, `"finish_reason":"stop"`)
		}},
		{"done-only", nil, func(t *testing.T, raw string) bool { return len(events(t, raw)) == 1 }},
		{"empty-stream", nil, func(t *testing.T, raw string) bool { return len(events(t, raw)) == 0 }},
		{"empty-deltas-3", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Count(raw, `"delta":{}`) == 3*6+1 && strings.Count(raw, `"delta":{"content":""}`) == 3*6
		}},
		{"null-content", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Count(raw, `"content":null`) == 2
		}},
		{"finish-tool", nil, func(_ *testing.T, raw string) bool { return strings.Contains(raw, `"finish_reason":"tool"`) }},
		{"after-done", nil, func(t *testing.T, raw string) bool { e := events(t, raw); return e[len(e)-2] == "[DONE]" }},
		{"escapes", nil, func(t *testing.T, raw string) bool {
			return strings.Contains(raw, `\ud83d\uDE00`) && strings.Contains(whole(t, raw), "😀👩‍🚀")
		}},
	})
}

func TestEventFraming(t *testing.T) {
	playAll(t, []onWire{
		{"crlf", nil, func(t *testing.T, raw string) bool {
			_, b := unchunk(t, raw)
			return strings.HasSuffix(b, "data: [DONE]\r\n\r\n")
		}},
		{"cr", nil, func(t *testing.T, raw string) bool {
			_, b := unchunk(t, raw)
			return strings.HasSuffix(b, "data: [DONE]\r\r")
		}},
		{"no-space", nil, func(t *testing.T, raw string) bool { _, b := unchunk(t, raw); return strings.HasPrefix(b, "data:{") }},
		{"fields", nil, func(t *testing.T, raw string) bool {
			_, b := unchunk(t, raw)
			return strings.HasPrefix(b, "id: 7\nevent: message\n")
		}},
		{"comments-2", nil, func(t *testing.T, raw string) bool {
			_, b := unchunk(t, raw)
			return strings.HasPrefix(b, ": keep-alive\n\n: keep-alive\n\ndata: ")
		}},
		{"keepalive-4,delay=1ms", nil, func(_ *testing.T, raw string) bool { return strings.Count(raw, ": keep-alive") == 4 }},
		{"bom", nil, func(t *testing.T, raw string) bool {
			_, b := unchunk(t, raw)
			return strings.HasPrefix(b, "\xef\xbb\xbfdata: ")
		}},
		{"multi-line", nil, func(t *testing.T, raw string) bool {
			_, b := unchunk(t, raw)
			return strings.Contains(b, ",\ndata: \"choices\"")
		}},
		{"two-in-data", nil, func(t *testing.T, raw string) bool { return strings.Contains(events(t, raw)[0], "}{") }},
		{"two-in-write", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Count(raw, "\r\ndata: ") == 5
		}},
		{"all-in-write", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Count(raw, "\r\ndata: ") == 1
		}},
		{"no-blank-line", nil, func(t *testing.T, raw string) bool {
			_, b := unchunk(t, raw)
			return strings.HasSuffix(b, "\n\ndata: [DONE]")
		}},
		{"ndjson", nil, func(t *testing.T, raw string) bool { _, b := unchunk(t, raw); return strings.HasPrefix(b, "{") }},
	})
}

func TestHTTPFraming(t *testing.T) {
	playAll(t, []onWire{
		{"interim-103,n=2", nil, func(_ *testing.T, raw string) bool {
			return strings.HasPrefix(raw, "HTTP/1.1 103 ") && strings.Count(raw, "HTTP/1.1 103 ") == 2 && strings.Contains(raw, "HTTP/1.1 200 OK")
		}},
		{"continue", nil, func(_ *testing.T, raw string) bool {
			return strings.HasPrefix(raw, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
		}},
		{"chunk-extension", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Contains(raw, ";mock=1;note=\"a b\"\r\n")
		}},
		{"trailers", nil, func(_ *testing.T, raw string) bool { return strings.HasSuffix(raw, "0\r\nX-Mock-Trailer: 1\r\n\r\n") }},
		{"close-body", nil, func(t *testing.T, raw string) bool { return whole(t, raw) == full && !strings.Contains(raw, "chunked") }},
		{"http10", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.HasPrefix(raw, "HTTP/1.0 200 OK")
		}},
		{"length-stream", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Contains(raw, "Content-Length: ")
		}},
		{"length-short", nil, func(_ *testing.T, raw string) bool {
			return strings.HasSuffix(raw, "[DONE]\n\n") && strings.Contains(raw, "Content-Length: ")
		}},
		{"bad-chunk-1,size=-1,hold=0", nil, func(_ *testing.T, raw string) bool { return strings.HasSuffix(raw, "\n\n\r\n-1\r\n") }},
		{"bad-chunk,n=1,hold=0", nil, func(_ *testing.T, raw string) bool { return strings.HasSuffix(raw, "\n\n\r\nzz\r\n") }},
		{"short-chunk-1", nil, func(_ *testing.T, raw string) bool { return strings.Contains(raw, "\r\n400\r\ndata: ") }},
		{"trailing-garbage,hold=0", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.HasSuffix(raw, "0\r\n\r\nGARBAGE\r\n")
		}},
		{"second-response,hold=0", nil, func(_ *testing.T, raw string) bool { return strings.Count(raw, "HTTP/1.1 200 OK") == 2 }},
		{"bad-head,hold=0", nil, func(_ *testing.T, raw string) bool { return strings.HasPrefix(raw, "SIMULATED NONSENSE\r\n") }},
		{"bad-head-two-lengths,hold=0", nil, func(_ *testing.T, raw string) bool { return strings.Count(raw, "Content-Length: ") == 2 }},
		{"bad-head-length-and-chunked,hold=0", nil, func(_ *testing.T, raw string) bool {
			return strings.Contains(raw, "Content-Length: 2\r\n") && strings.Contains(raw, "chunked\r\n")
		}},
		{"huge-head-9000", nil, func(t *testing.T, raw string) bool {
			return whole(t, raw) == full && strings.Index(raw, "\r\n\r\n") > 9000
		}},
	})
}

func TestOtherAnswers(t *testing.T) {
	playAll(t, []onWire{
		{"status-429,retry-after=7", nil, func(_ *testing.T, raw string) bool {
			return strings.HasPrefix(raw, "HTTP/1.1 429 ") && strings.Contains(raw, "Retry-After: 7\r\n") && strings.Contains(raw, "rate_limit_exceeded")
		}},
		{"status-html-502", nil, func(_ *testing.T, raw string) bool {
			return strings.HasPrefix(raw, "HTTP/1.1 502 ") && strings.Contains(raw, "<h1>")
		}},
		{"redirect", nil, func(_ *testing.T, raw string) bool {
			return strings.HasPrefix(raw, "HTTP/1.1 307 ") && strings.Contains(raw, "Location: /health")
		}},
		{"no-content", nil, func(_ *testing.T, raw string) bool { return strings.HasPrefix(raw, "HTTP/1.1 204 ") }},
		{"wrong-type", nil, func(_ *testing.T, raw string) bool {
			return strings.Contains(raw, "Content-Type: text/plain\r\n") && strings.Contains(raw, "[DONE]")
		}},
		{"html-200", nil, func(_ *testing.T, raw string) bool { return strings.Contains(raw, "Content-Type: text/html") }},
		{"empty-200", nil, func(_ *testing.T, raw string) bool { return strings.Contains(raw, "Content-Length: 0\r\n") }},
		{"error-200", nil, func(_ *testing.T, raw string) bool {
			return strings.Contains(raw, "application/json") && strings.Contains(raw, `{"error"`)
		}},
		{"unary-for-stream", nil, func(_ *testing.T, raw string) bool { return strings.Contains(raw, `"object":"chat.completion",`) }},
		{"gzip", nil, func(t *testing.T, raw string) bool {
			_, body := unchunk(t, raw)
			z, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				return false
			}
			plain, err := io.ReadAll(z)
			return err == nil && bytes.HasSuffix(plain, []byte("data: [DONE]\n\n"))
		}},
		{"gzip,lie=1", nil, func(_ *testing.T, raw string) bool {
			return strings.Contains(raw, "Content-Encoding: gzip\r\n") && strings.Contains(raw, "data: ")
		}},
		{"many-tokens-300", nil, func(t *testing.T, raw string) bool { return len(events(t, raw)) == 303 }},
	})
}

func events(t *testing.T, raw string) []string {
	t.Helper()
	_, body := unchunk(t, raw)
	return data(body)
}

func whole(t *testing.T, raw string) string {
	t.Helper()
	return contents(t, events(t, raw))
}

func nth(t *testing.T, raw string, n int) bool {
	t.Helper()
	return len(events(t, raw)) > n
}
