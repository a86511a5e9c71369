package mockmodel

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel/journal"
)

func TestJournalShowsWhatWasReceived(t *testing.T) {
	s, addr := start(t, Config{})
	body := prompt("mock:cut-event-2", "hello", true)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer very-secret")
	req.Header.Set("X-Api-Key", "very-secret")
	req.Header.Set("X-Trace", "kept")
	send(t, req)
	ended(t, s)
	_, text := get(t, addr, "/_mock/requests?since=0")
	if strings.Contains(text, "very-secret") {
		t.Errorf("the journal holds a secret: %s", text)
	}
	var got struct {
		Last     int64
		Requests []journal.View
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Last != 1 || len(got.Requests) != 1 {
		t.Fatalf("journal is %s", text)
	}
	v := got.Requests[0]
	if v.Body != body || v.BodyBytes != len(body) || v.Headers["X-Trace"] != "kept" || v.Headers["Authorization"] != "[redacted]" {
		t.Errorf("entry is %+v", v)
	}
	if v.Scenario != "cut-event n=2" || v.Model != "mock:cut-event-2" || !v.Stream || v.Status != 200 || v.Events != 2 || v.Outcome != journal.Fault || v.CancelledAt != nil {
		t.Errorf("entry is %+v", v)
	}
	if _, text := get(t, addr, "/_mock/requests?since=1"); !strings.Contains(text, `"requests":[]`) {
		t.Errorf("since=1 gives %s", text)
	}
}

func TestJournalIsBounded(t *testing.T) {
	s, addr := start(t, Config{Keep: 3})
	for range 5 {
		post(t, addr, prompt("mock", strings.Repeat("x", journal.MaxBodyBytes+1), false))
	}
	views, last := s.Requests(0)
	if last != 5 || len(views) != 3 || views[0].Seq != 3 || len(views[0].Body) != journal.MaxBodyBytes {
		t.Errorf("last %d, %d kept", last, len(views))
	}
	s.Reset()
	if views, last := s.Requests(0); last != 5 || len(views) != 0 {
		t.Errorf("after reset: last %d, %d kept", last, len(views))
	}
}

func TestCallerWhoLeavesIsSeen(t *testing.T) {
	for _, tc := range []struct {
		name, model string
		stream      bool
		reset       bool
	}{
		{"silent stream", "mock:silent", true, false},
		{"silent stream, reset", "mock:silent", true, true},
		{"silent head", "mock:silent-head", true, false},
		{"slow first event", "mock:slow-first-1m", true, false},
		{"slow events", "mock:slow-events-20ms", true, false},
		{"stalled", "mock:stall-after-2", true, true},
		{"unary", "mock:slow-head-1m", false, false},
		{"unary body", "mock:slow-first-1m", false, false},
		{"long stream, unread", "mock:many-tokens-1000000", true, false},
		{"huge body, unread", "mock:huge-unary-100000000", false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, addr := start(t, Config{})
			c := dial(t, addr, prompt(tc.model, "hello there my friend, how are you this fine day", tc.stream))
			for s.Open() == 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(30 * time.Millisecond)
			if _, text := get(t, addr, "/_mock/open"); text != "{\"open\":1}\n" {
				t.Errorf("open is %s", text)
			}
			if tc.reset {
				_ = c.(interface{ SetLinger(sec int) error }).SetLinger(0)
			}
			left := time.Now()
			c.Close()
			v := ended(t, s)
			if v.Outcome != journal.ClientGone || v.CancelledAt == nil {
				t.Fatalf("entry is %+v", v)
			}
			if late := v.CancelledAt.Sub(left); late > patience {
				t.Errorf("seen after %s", late)
			}
		})
	}
}

func TestCallerWhoReadsAllIsNotCancelled(t *testing.T) {
	s, addr := start(t, Config{})
	for range 50 {
		c := dial(t, addr, prompt("mock", "x", true))
		var got []byte
		buf := make([]byte, 4096)
		for !strings.Contains(string(got), "[DONE]") {
			n, err := c.Read(buf)
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			got = append(got, buf[:n]...)
		}
		c.Close() // before the last chunk is read
		if v := ended(t, s); v.Outcome != journal.Done || v.CancelledAt != nil {
			t.Fatalf("entry is %+v", v)
		}
	}
}

func TestScriptGoesStepByStep(t *testing.T) {
	s, addr := start(t, Config{Script: "# comment\n\nflaky status code=503\nflaky status-429\nflaky normal\n"})
	statuses := func() (out []int) {
		for range 4 {
			resp, _ := post(t, addr, prompt("flaky", "x", false))
			out = append(out, resp.StatusCode)
		}
		return out
	}
	want := toJSON([]int{503, 429, 200, 200})
	if got := toJSON(statuses()); got != want {
		t.Errorf("statuses are %s, want %s", got, want)
	}
	s.Reset()
	if got := toJSON(statuses()); got != want {
		t.Errorf("after reset statuses are %s, want %s", got, want)
	}
	admin := func(path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, _ := send(t, req)
		return resp.StatusCode
	}
	if got := admin("/_mock/script", "flaky nonsense"); got != 400 {
		t.Errorf("a wrong script gives %d", got)
	}
	if got := admin("/_mock/script", "flaky status-404"); got != 200 {
		t.Errorf("a script gives %d", got)
	}
	if got := toJSON(statuses()); got != "[404,404,404,404]" {
		t.Errorf("with the new script statuses are %s", got)
	}
	if got := admin("/_mock/reset", ""); got != 200 {
		t.Errorf("reset gives %d", got)
	}
}

func TestTimesLimitsAFault(t *testing.T) {
	_, addr := start(t, Config{})
	ask := func(text string) int {
		resp, _ := post(t, addr, prompt("mock", text, false))
		return resp.StatusCode
	}
	const a, b = "x [[scenario:status code=503 times=2 id=a]]", "x [[scenario:status code=503 times=2 id=b]]"
	if got := toJSON([]int{ask(a), ask(b), ask(a), ask(a), ask(b), ask(b)}); got != "[503,503,503,200,503,200]" {
		t.Errorf("statuses are %s", got)
	}
}

func TestTokenIsNotRepeated(t *testing.T) {
	_, addr := start(t, Config{})
	_, body := post(t, addr, prompt("mock:status-500", "hello [[scenario:normal]]", false))
	if !strings.Contains(body, `"Simulated answer. You said: hello"`) {
		t.Errorf("answer is %s", body)
	}
}
