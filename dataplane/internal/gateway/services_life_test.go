package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Bodies of calls that have the servers do something.
func translation(text string) string { return `{"text":"` + text + `","target":"sw"}` }
func question(query string) string   { return `{"query":"` + query + `"}` }
func drawing(prompt string) string   { return `{"prompt":"` + prompt + `","model":"images"}` }
func painting(prompt string) string {
	return `{"prompt":"` + prompt + `","model":"images","stream":true}`
}

// ended returns the record of the one call that there was, once it is there.
func (n *node) ended(t *testing.T) record {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < hang; time.Sleep(10 * time.Millisecond) {
		if all := n.ledger.all(); len(all) == 1 {
			return all[0]
		}
	}
	t.Fatalf("%d records of one call", len(n.ledger.all()))
	return record{}
}

func TestLanguagesAreListedAndRemembered(t *testing.T) {
	s := newServers(t)
	n := startServices(t, s, "", upstream.Timeouts{}, 0)
	const path = "/api/v1/translate/languages"
	for range 3 {
		answer := receive(t, send(t, n.main, "GET "+path+" HTTP/1.1\r\nHost: gateway\r\nX-API-Key: svc_test_ok\r\n\r\n"), "GET")
		receive(t, send(t, n.main, post("/api/v1/translate", "svc_test_ok", translation("Hello"))), "POST")
		_, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
		var list wire.LanguageList
		if err := json.Unmarshal(body, &list); err != nil || list.Count != len(list.Languages) || list.Count < 130 {
			t.Fatalf("got %d languages, counted as %d, %v", len(list.Languages), list.Count, err)
		}
		available := map[string]wire.Language{}
		for _, l := range list.Languages {
			if l.Available != (l.Via != nil) || l.Available != (len(l.Targets) > 0) || l.Name == "" {
				t.Errorf("got %+v", l)
			}
			if l.Available {
				available[l.Code] = l
			}
		}
		if len(available) != 3 || available["zt"].Name != "Chinese (traditional)" || strings.Join(available["en"].Targets, " ") != "en sw zt" {
			t.Errorf("available: %+v", available)
		}
	}
	if got := s.lists.Load(); got != 1 {
		t.Errorf("the server was asked %d times for its languages", got)
	}
}

func TestCallsWithoutAKeyAreLimitedByAddress(t *testing.T) {
	n := startServices(t, newServers(t), "", upstream.Timeouts{}, 0)
	const languages = "GET /api/translate/languages HTTP/1.1\r\nHost: gateway\r\n\r\n"
	for i, want := range []string{"200", "200", "200", "429"} {
		request := languages
		if i%2 == 0 {
			request = strings.Replace(post("/api/translate", "", translation("Hello")), "Authorization: Bearer \r\n", "", 1)
		}
		got := receive(t, send(t, n.main, request), "POST")
		if !bytes.HasPrefix(got, []byte("HTTP/1.1 "+want)) || bytes.Contains(got, []byte("Retry-After: ")) != (want == "429") {
			t.Errorf("call %d: got %s", i, got)
		}
	}
	if got := receive(t, send(t, n.main, post("/api/v1/translate", "svc_test_ok", translation("Hello"))), "POST"); !bytes.HasPrefix(got, []byte("HTTP/1.1 200")) {
		t.Errorf("a call with a key is limited too: %s", got)
	}
	if all := n.ledger.all(); len(all) != 1 || all[0].call.Caller == nil {
		t.Errorf("%d records of one call with a key", len(all))
	}
}

// TestServersAreLetGoWhenTheClientLeaves has the client leave while a server is silent, before and after the stream has begun.
func TestServersAreLetGoWhenTheClientLeaves(t *testing.T) {
	for name, tt := range map[string]struct {
		path, body string
		requests   int // at the server
		begun      bool
	}{
		"translation":  {"/api/v1/translate", translation("silent"), 1, false},
		"image":        {"/api/v1/agent", drawing("silent"), 1, false},
		"image stream": {"/api/v1/agent", painting("silent"), 1, false},
		"begun image":  {"/api/v1/agent", painting("silent"), 1, true},
		"search":       {"/api/v1/deep-search", question("silent"), 2, false},
		"begun search": {"/api/v1/deep-search", question("silent"), 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServers(t)
			keepAlive := time.Hour
			if tt.begun {
				keepAlive = 10 * time.Millisecond
			}
			n := startServices(t, s, "", upstream.Timeouts{}, keepAlive)
			conn := send(t, n.main, post(tt.path, "svc_test_ok", tt.body))
			for range tt.requests {
				<-s.open
			}
			if tt.begun {
				awaitText(t, conn, ": keep-alive\n\n")
			}
			must(t, conn.Close())
			for range tt.requests {
				select {
				case <-s.left:
				case <-time.After(hang): // below every deadline of ours, which would end it too
					t.Fatal("the server is still waited for")
				}
			}
			if r := n.ended(t); r.out.End != plane.EndClientGone || r.out.Usage.TokensOut != 0 {
				t.Errorf("recorded as %+v", r.out)
			}
		})
	}
}

func TestTheReportIsLetGoWhenTheClientLeaves(t *testing.T) {
	n := startServices(t, newServers(t), "", upstream.Timeouts{}, time.Hour)
	conn := send(t, n.main, post("/api/v1/deep-search", "svc_test_ok", question("have the model wait")))
	<-n.model.opened
	must(t, conn.Close())
	<-n.model.stopped
	if r := n.ended(t); r.out.End != plane.EndClientGone || r.out.Usage.TokensIn != 3 {
		t.Errorf("recorded as %+v", r.out)
	}
}

// TestSilenceIsFilledWithComments holds answers back until the client has had comments.
func TestSilenceIsFilledWithComments(t *testing.T) {
	for name, tt := range map[string]struct {
		path, body, want string
		requests         int
	}{
		"image":  {"/api/v1/agent", painting("late"), `"type":"image"`, 1},
		"search": {"/api/v1/deep-search", question("late"), "[1] One - https://a.example/1", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServers(t)
			n := startServices(t, s, "", upstream.Timeouts{}, 10*time.Millisecond)
			conn := send(t, n.main, post(tt.path, "svc_test_ok", tt.body))
			for range tt.requests {
				<-s.open
			}
			awaitText(t, conn, ": keep-alive\n\n")
			awaitText(t, conn, ": keep-alive\n\n")
			s.release()
			awaitText(t, conn, tt.want)
			awaitText(t, conn, "data: [DONE]\n\n")
			if r := n.ended(t); r.out.End != plane.EndDone || r.status != 200 {
				t.Errorf("recorded as %+v", r.out)
			}
		})
	}
}

func TestServersThatStaySilentAreGivenUp(t *testing.T) {
	for name, tt := range map[string]struct {
		path, body string
		keepAlive  time.Duration
		want       string
	}{
		"translation": {"/api/v1/translate", translation("silent"), 0, "HTTP/1.1 502 "},
		"image":       {"/api/v1/agent", drawing("silent"), 0, "HTTP/1.1 502 "},
		"image stream": {
			"/api/v1/agent", painting("silent"), 10 * time.Millisecond,
			`data: {"type":"error","status":502,"detail":"Upstream images did not finish its answer within 1s. Try again later."}` + "\n\ndata: [DONE]\n\n",
		},
		"search": {"/api/v1/deep-search", question("silent"), 0, "HTTP/1.1 502 "},
		"begun search": {
			"/api/v1/deep-search", question("silent"), 10 * time.Millisecond,
			"event: error\n" + `data: {"type":"error","status":502,"detail":"Upstream search did not finish its answer within 1s. Try again later."}` + "\n\ndata: [DONE]\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServers(t)
			n := startServices(t, s, "", upstream.Timeouts{Answer: time.Second}, tt.keepAlive)
			got := string(receive(t, send(t, n.main, post(tt.path, "svc_test_ok", tt.body)), "POST"))
			if !strings.Contains(got, tt.want) || !strings.Contains(got, "did not finish its answer within 1s") {
				t.Errorf("got %s", got)
			}
			<-s.left
			if r := n.ended(t); r.out.Err == nil || r.out.Usage.TokensOut != 0 {
				t.Errorf("recorded as %+v", r.out)
			}
		})
	}
}

func TestWhatAReportCosts(t *testing.T) {
	for query, want := range map[string]struct {
		answer, end         string
		tokensIn, tokensOut int64
		model               string
	}{
		"abacus":                     {"Sources (query type: topic)", plane.EndDone, 3, 2, "Darwin"},
		"have the model cut":         {"event: error\ndata: {\"type\":\"error\",\"status\":502,\"detail\":\"The upstream broke off.\"}\n\ndata: [DONE]", plane.EndUpstreamCut, 3, 2, "Darwin"},
		"have the model unreachable": {"HTTP/1.1 502 ", plane.EndFailed, 0, 0, "Darwin"},
		"nothing":                    {"found nothing", plane.EndDone, 0, 0, "Darwin"},
	} {
		n := startServices(t, newServers(t), "", upstream.Timeouts{}, 0)
		got := string(receive(t, send(t, n.main, post("/api/v1/deep-search", "svc_test_ok", question(query))), "POST"))
		if !strings.Contains(got, want.answer) {
			t.Errorf("%s: got %s", query, got)
		}
		if want.end != plane.EndDone && strings.Contains(got, "Sources") {
			t.Errorf("%s: a report that broke off has an end: %s", query, got)
		}
		r := n.ended(t)
		if r.out.End != want.end || r.out.Usage.TokensIn != want.tokensIn || r.out.Usage.TokensOut != want.tokensOut ||
			r.call.Facts.Model != want.model || r.call.Facts.Task != "deep_search" {
			t.Errorf("%s: recorded as %+v, %+v", query, r.out, r.call.Facts)
		}
	}
}

func TestWhatImagesAndTranslationsCost(t *testing.T) {
	for name, tt := range map[string]struct {
		path, body, without string
		tokensIn, tokensOut int64
		source, model, task string
	}{
		"image": {
			path: "/api/v1/agent", body: painting("counted"),
			tokensIn: 12, tokensOut: 272, source: plane.SourceProvider, model: "images", task: "image_generation",
		},
		"translation": {
			path: "/api/v1/translate", body: translation("Hello"), source: plane.SourceNone, model: "translate", task: "translation",
		},
		"chat": {
			path: "/api/v1/translate", body: translation("Hello"), without: "translate",
			tokensIn: 3, tokensOut: 5, source: plane.SourceProvider, model: "Darwin", task: "translation",
		},
	} {
		n := startServices(t, newServers(t), tt.without, upstream.Timeouts{}, 0)
		receive(t, send(t, n.main, post(tt.path, "svc_test_ok", tt.body)), "POST")
		r := n.ended(t)
		if r.out.End != plane.EndDone || r.out.Usage.TokensIn != tt.tokensIn || r.out.Usage.TokensOut != tt.tokensOut ||
			r.out.Usage.Source != tt.source || r.call.Facts.Model != tt.model || r.call.Facts.Task != tt.task {
			t.Errorf("%s: recorded as %+v, %+v", name, r.out, r.call.Facts)
		}
	}
}

// awaitText reads an answer until it has the text.
func awaitText(t *testing.T, from io.Reader, text string) {
	t.Helper()
	var got []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(got, []byte(text)) {
		if _, err := from.Read(one); err != nil {
			t.Fatalf("%v after %q, want %q", err, got, text)
		}
		got = append(got, one[0])
	}
}
