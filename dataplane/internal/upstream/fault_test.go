package upstream

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

var (
	provider = call.Usage{TokensIn: 7, TokensOut: 2, Source: plane.SourceProvider}
	seen     = func(n int64) call.Usage { return call.Usage{TokensIn: 3, TokensOut: n, Source: plane.SourceCounted} }
)

// streamFaults are streams that are odd or broken after their head.
var streamFaults = []struct {
	name  string
	do    func(a *act)
	text  string
	end   string // "" when Open fails
	use   call.Usage
	fails string // part of the detail
	kind  apierr.Kind
	tries int // requests; 0 means 1
}{
	{
		name: "as it should be", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk(roleEvent)
			a.chunk(delta("H"))
			a.chunk(delta("i"))
			a.chunk(tail)
			a.end()
		},
	},
	{
		name: "all in one write", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) { a.events(); a.chunk(roleEvent + delta("H") + delta("i") + tail); a.end() },
	},
	{
		name: "two events in one chunk", text: "Hi there", end: plane.EndDone, use: provider,
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + delta(" there")); a.chunk(tail); a.end() },
	},
	{
		name: "an event in two chunks", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			d := delta("Hi")
			a.events()
			a.chunk(d[:40])
			a.pause()
			a.chunk(d[40:])
			a.chunk(tail)
			a.end()
		},
	},
	{
		name: "one byte a time", text: "Hi é \\n", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			for _, c := range []byte(roleEvent + delta("Hi ") + delta(`é \n`) + tail) {
				a.chunk(string([]byte{c}))
			}
			a.end()
		},
	},
	{
		name: "split UTF-8", text: "aéb", end: plane.EndDone, use: provider,
		do: func(a *act) {
			d := delta("aéb")
			i := strings.Index(d, "é") + 1
			a.events()
			a.chunk(d[:i])
			a.pause()
			a.chunk(d[i:])
			a.chunk(tail)
			a.end()
		},
	},
	{
		name: "CRLF", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk(strings.ReplaceAll(delta("H")+delta("i")+tail, "\n", "\r\n"))
			a.end()
		},
	},
	{
		name: "bare CR", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk(strings.ReplaceAll(delta("H")+delta("i")+tail, "\n", "\r"))
			a.end()
		},
	},
	{
		name: "comments and unknown fields", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk(": PROCESSING\n\n:\nretry: 10\n\nevent: message\n" + delta("Hi") + ": bye\n\n" + tail)
			a.end()
		},
	},
	{
		name: "multi-line data", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk("data: {\"choices\":\ndata: [{\"index\":0,\ndata: \"delta\":{\"content\":\"Hi\"}}]}\n\n" + tail)
			a.end()
		},
	},
	{
		name: "no space, byte order mark", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk("\xef\xbb\xbf" + strings.ReplaceAll(delta("H")+delta("i")+tail, "data: ", "data:"))
			a.end()
		},
	},
	{
		name: "until close", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n" + delta("Hi") + tail)
			a.nc.Close()
		},
	},
	{
		name: "content length", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) { a.body(200, "text/event-stream", delta("Hi")+tail) },
	},
	{
		name: "no empty line behind DONE", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + stopEvent + usageEvent + "data: [DONE]"); a.end() },
	},
	{
		name: "no DONE but a finish reason", text: "Hi", end: plane.EndDone, use: seen(1),
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + stopEvent); a.end() },
	},
	{
		name: "cut after the finish reason", text: "Hi", end: plane.EndDone, use: seen(1),
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + stopEvent); a.pause(); a.reset() },
	},
	{
		name: "finish reason and text together", text: "Hi!", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + strings.Replace(delta("!"), `"finish_reason":null`, `"finish_reason":"length"`, 1) + usageEvent + doneEvent)
			a.end()
		},
	},
	{
		name: "usage in every chunk", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			for i, text := range []string{"H", "i"} {
				a.chunk(strings.Replace(delta(text), `"usage":null`, `"usage":{"prompt_tokens":7,"completion_tokens":`+string(rune('1'+i))+`}`, 1))
			}
			a.chunk(stopEvent + doneEvent)
			a.end()
		},
	},
	{
		name: "explicit zero usage", text: "Hi", end: plane.EndDone, use: call.Usage{Source: plane.SourceProvider},
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + stopEvent + `data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}` + "\n\n" + doneEvent)
			a.end()
		},
	},
	{
		name: "usage that is nonsense", text: "Hi", end: plane.EndDone, use: seen(1),
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + stopEvent + `data: {"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":"x"}}` + "\n\n" + doneEvent)
			a.end()
		},
	},
	{
		name: "reasoning counts", text: "Hi", end: plane.EndDone, use: seen(3),
		do: func(a *act) {
			a.events()
			r := `data: {"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"hm"},"finish_reason":null}]}` + "\n\n"
			a.chunk(r + r + delta("Hi") + stopEvent + doneEvent)
			a.end()
		},
	},
	{
		name: "no text at all", text: "", end: plane.EndDone, use: provider,
		do: func(a *act) { a.events(); a.chunk(roleEvent + tail); a.end() },
	},
	{
		name: "nothing but a finish reason", text: "", end: plane.EndDone, use: seen(0),
		do: func(a *act) { a.events(); a.chunk(stopEvent + doneEvent); a.end() },
	},
	{
		name: "a count before the text", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) { a.events(); a.chunk(usageEvent + delta("Hi") + stopEvent + doneEvent); a.end() },
	},
	{
		name: "escapes of every kind", text: `\"\\\/\b\f\n\r\t\u00e9\ud83d`, end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			a.chunk(delta(`\"\\\/\b\f\n`) + delta(`\r\t\u00e9\ud83d`) + tail)
			a.end()
		},
	},
	{
		name: "an event that looks like ours inside text", text: `\"delta\":{\"content\":\"x\"`, end: plane.EndDone, use: provider,
		do: func(a *act) { a.events(); a.chunk(delta(`\"delta\":{\"content\":\"x\"`) + tail); a.end() },
	},
	{
		name: "1 MiB event of text", text: strings.Repeat("x", 1<<20-300), end: plane.EndDone, use: provider,
		do: func(a *act) { a.events(); a.chunk(delta(strings.Repeat("x", 1<<20-300)) + tail); a.end() },
	},
	{
		name: "extensions and trailers", text: "Hi", end: plane.EndDone, use: provider,
		do: func(a *act) {
			a.events()
			body := delta("Hi") + tail
			a.sayf("%x;x=\"y\"\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n", len(body), body)
		},
	},

	// Broken after the first text: the outcome says so.
	{
		name: "cut: clean end without DONE", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi")); a.end() },
	},
	{
		name: "cut: until close without DONE", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) {
			a.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + delta("Hi"))
			a.nc.Close()
		},
	},
	{
		name: "cut: between chunks", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi")); a.nc.Close() },
	},
	{
		name: "cut: inside an event", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi")); a.sayf("ff\r\n%s", delta("there")[:50]); a.nc.Close() },
	},
	{
		name: "cut: half an event, clean end", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + delta("there")[:50]); a.end() },
	},
	{
		name: "cut: reset", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi")); a.pause(); a.reset() },
	},
	{
		name: "cut: short content length", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) {
			a.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n" + delta("Hi"))
			a.nc.Close()
		},
	},
	{
		name: "bad chunk size", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "breaks HTTP", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi")); a.pause(); a.say("zz\r\n") },
	},
	{
		name: "bad chunk size in the same write", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "breaks HTTP", kind: apierr.BadGateway,
		do: func(a *act) { d := delta("Hi"); a.events(); a.sayf("%x\r\n%s\r\nzz\r\n", len(d), d) },
	},
	{
		name: "chunk longer than announced", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "breaks HTTP", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi")); a.pause(); a.say("1\r\nxyz\r\n") },
	},
	{
		name: "oversized event", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "over 1 MiB", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi")); a.chunk(delta(strings.Repeat("x", 2<<20))) },
	},
	{
		name: "event without end", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "over 1 MiB", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi"))
			for range 40 {
				a.chunk("data: " + strings.Repeat("x", 64<<10))
			}
		},
	},
	{
		name: "malformed JSON", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "not a chat completion", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + "data: {oops\n\n" + tail); a.end() },
	},
	{
		name: "another JSON", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "not a chat completion", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + "data: {\"type\":\"ping\"}\n\n" + tail); a.end() },
	},
	{
		name: "a second choice", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "not a chat completion", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + strings.Replace(delta("x"), `"index":0`, `"index":1`, 1) + tail)
			a.end()
		},
	},
	{
		name: "content that is a list", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "not a chat completion", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + strings.Replace(delta("x"), `"x"`, `["x"]`, 1) + tail)
			a.end()
		},
	},
	{
		name: "tool call", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "tool call", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}` + "\n\n" + tail)
			a.end()
		},
	},
	{
		name: "invalid UTF-8", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "UTF-8", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + delta("a\xffb") + tail); a.end() },
	},
	{
		name: "control character in text", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "not a chat completion", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(delta("Hi") + delta("a\x01b") + tail); a.end() },
	},
	{
		name: "error object", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "model overloaded", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + "data: {\"error\":{\"message\":\"model overloaded\",\"code\":500}}\n\n" + doneEvent)
			a.end()
		},
	},
	{
		name: "error event", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "lost the GPU", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + "event: error\ndata: {\"message\":\"lost the GPU\"}\n\n")
			a.end()
		},
	},
	{
		name: "error field", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "lost the GPU", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + "error: {\"code\":500,\"message\":\"lost the GPU\"}\n\n" + doneEvent)
			a.end()
		},
	},
	{
		name: "finish reason error", text: "Hi", end: plane.EndUpstreamCut, use: seen(1), fails: "reported an error", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(delta("Hi") + strings.Replace(stopEvent, "stop", "error", 1) + doneEvent)
			a.end()
		},
	},

	// Broken before the first text: Open fails, and the client gets a status.
	{name: "early: cut before the head", fails: "without an answer", kind: apierr.BadGateway, do: func(a *act) { a.nc.Close() }},
	{name: "early: reset before the head", fails: "without an answer", kind: apierr.BadGateway, do: func(a *act) { a.reset() }},
	{
		name: "early: cut inside the head", fails: "broke off", kind: apierr.BadGateway,
		do: func(a *act) { a.say("HTTP/1.1 200 OK\r\nContent-"); a.nc.Close() },
	},
	{name: "early: cut after the head", fails: "broke off", kind: apierr.BadGateway, do: func(a *act) { a.events(); a.nc.Close() }},
	{name: "early: empty body", fails: "broke off", kind: apierr.BadGateway, do: func(a *act) { a.events(); a.end() }},
	{name: "early: not HTTP", fails: "breaks HTTP", kind: apierr.BadGateway, do: func(a *act) { a.say("SSH-2.0-x\r\n\r\n") }},
	{
		name: "early: length and chunks", fails: "breaks HTTP", kind: apierr.BadGateway,
		do: func(a *act) {
			a.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")
		},
	},
	{
		name: "early: head without end", fails: "breaks HTTP", kind: apierr.BadGateway,
		do: func(a *act) {
			a.say("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 90))
		},
	},
	{
		name: "early: gzip", fails: "compressed", kind: apierr.BadGateway,
		do: func(a *act) {
			a.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b")
		},
	},
	{name: "early: html 200", fails: "content type", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "text/html", "<h1>login</h1>") }},
	{name: "early: json 200", fails: "content type", kind: apierr.BadGateway, do: func(a *act) { a.body(200, "application/json", "{}") }},
	{
		name: "early: error object", fails: "no GPU for [removed]", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(roleEvent + "data: {\"error\":{\"message\":\"no GPU for http://10.0.0.1/x\"}}\n\n")
			a.end()
		},
	},
	{
		name: "early: nothing but DONE", fails: "without beginning it", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(doneEvent); a.end() },
	},
	{
		name: "early: nothing but a comment, a count and DONE", fails: "without beginning it", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk(": hm\n\n" + usageEvent + doneEvent); a.end() },
	},
	{
		name: "early: llama.cpp's error field", fails: "reported an error: no free slot", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(`error: {"code":500,"message":"no free slot","type":"server_error"}` + "\n\n" + doneEvent)
			a.end()
		},
	},
	{
		name: "early: llama.cpp's error field about the request", fails: "refused the request: Context size has been exceeded.", kind: apierr.BadRequest,
		do: func(a *act) {
			a.events()
			a.chunk(roleEvent + `error: {"code":500,"message":"Context size has been exceeded.","type":"server_error"}` + "\n\n")
			a.end()
		},
	},
	{
		name: "early: an error field that is no JSON", fails: "reported an error without saying which", kind: apierr.BadGateway,
		do: func(a *act) { a.events(); a.chunk("error: oops\n\n" + doneEvent); a.end() },
	},
	{
		name: "early: tool call", fails: "tool call", kind: apierr.BadGateway,
		do: func(a *act) {
			a.events()
			a.chunk(`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a"}]}}]}` + "\n\n")
			a.end()
		},
	},
	{name: "early: redirect", fails: "status 302", kind: apierr.BadGateway, do: func(a *act) { a.body(302, "text/html", "") }},
	{name: "early: 201", fails: "status 201", kind: apierr.BadGateway, do: func(a *act) { a.body(201, "text/event-stream", delta("x")+tail) }},
	{name: "early: 500", fails: "status 500", kind: apierr.BadGateway, do: func(a *act) { a.body(500, "text/plain", "trace: secret") }},
	{
		name: "early: 401", fails: "credential for upstream up", kind: apierr.BadGateway,
		do: func(a *act) {
			a.body(401, "application/json", `{"error":{"message":"Incorrect API key provided: sesame"}}`)
		},
	},
	{name: "early: 403", fails: "credential for upstream up", kind: apierr.BadGateway, do: func(a *act) { a.body(403, "application/json", "{}") }},
	{name: "early: 404", fails: `the model "m"`, kind: apierr.BadGateway, do: func(a *act) { a.body(404, "application/json", "{}") }},
	{name: "early: 413", fails: "larger than upstream", kind: apierr.TooLarge, do: func(a *act) { a.body(413, "application/json", "{}") }},
	{
		name: "early: 429", fails: "not the limit of your key", kind: apierr.Limited,
		do: func(a *act) { a.say("HTTP/1.1 429 Slow\r\nRetry-After: 17\r\nContent-Length: 2\r\n\r\n{}") },
	},
	{
		name: "early: 400", fails: "refused the request: max_tokens is too large: 16", kind: apierr.BadRequest,
		do: func(a *act) {
			a.body(400, "application/json", `{"error":{"message":"max_tokens is too large:\n16","type":"invalid_request_error"}}`)
		},
	},
	{
		name: "early: 422", fails: "refused the request: bad temperature", kind: apierr.BadRequest,
		do: func(a *act) { a.body(422, "application/json", `{"detail":"bad temperature"}`) },
	},
}

// pause makes it likely that what was said is read on its own.
func (a *act) pause() { time.Sleep(10 * time.Millisecond) }

func TestStreamFaults(t *testing.T) {
	for _, test := range streamFaults {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up, script := newScript(t, Options{}, func(a *act) { test.do(a); io.Copy(io.Discard, a.nc) })
			got := listen(t, t.Context(), up, hello)
			if n := script.requests(); n != max(1, test.tries) {
				t.Errorf("%d requests", n)
			}
			err := got.outcome.Err
			if test.end == "" {
				err = got.openErr
				if err == nil {
					t.Fatalf("the stream opens and ends with %+v after %q", got.outcome, got.text)
				}
			} else {
				if got.openErr != nil {
					t.Fatal(got.openErr)
				}
				if got.text != test.text || got.outcome.End != test.end || got.outcome.Usage != test.use || got.outcome.First.IsZero() != (test.text == "") {
					t.Errorf("got %.80q, %+v, want %.80q, %s, %+v", got.text, got.outcome, test.text, test.end, test.use)
				}
			}
			checkFault(t, err, test.kind, test.fails)
			if idle, busy := up.Connections(); test.fails != "" && busy != 0 {
				t.Errorf("%d idle and %d busy connections are left", idle, busy)
			}
		})
	}
}

// checkFault looks at an error for a client; fails is part of its detail, "" means that there must be none.
func checkFault(t *testing.T, err error, kind apierr.Kind, fails string) {
	t.Helper()
	if fails == "" {
		if err != nil {
			t.Errorf("unexpected error: %v", err)
		}
		return
	}
	e, ok := errors.AsType[*apierr.Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Detail, fails) {
		t.Fatalf("got %v, want kind %v and %q", err, kind, fails)
	}
	for _, secret := range []string{"127.0.0.1", "sesame", "://"} {
		if strings.Contains(e.Detail, secret) {
			t.Errorf("the detail tells %q: %s", secret, e.Detail)
		}
	}
}

func TestRetryAfterIsPassedOn(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"17": 17 * time.Second, "0": 0, "-4": 0, "": 0, "soon": 0, "999999999": time.Hour, "99999999999999999999": 0,
		"Sat, 21 Nov 2026 10:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 09:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
	up, _ := newScript(t, Options{}, func(a *act) { a.say("HTTP/1.1 429 Slow\r\nRetry-After: 17\r\nContent-Length: 2\r\n\r\n{}") })
	for _, ask := range []func() error{
		func() error { return listen(t, t.Context(), up, hello).openErr },
		func() error { _, err := up.Ask(t.Context(), hello); return err },
	} {
		if e, ok := errors.AsType[*apierr.Error](ask()); !ok || e.RetryAfter != 17*time.Second {
			t.Errorf("got %+v", e)
		}
	}
	if idle, _ := up.Connections(); idle != 1 {
		t.Errorf("%d idle connections after refusals that were read to their end", idle)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	up := newUpstream(t, "http://"+l.Addr().String(), Options{})
	checkFault(t, listen(t, t.Context(), up, hello).openErr, apierr.BadGateway, "could not be reached")
	_, err = up.Ask(t.Context(), hello)
	checkFault(t, err, apierr.BadGateway, "could not be reached")
}
