package mockmodel

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel/fault"
	"modelgate.internal/bench/internal/mockmodel/journal"
)

// quick are parameters that make slow scenarios fast enough for a test.
func quick(name string) string {
	return map[string]string{
		"slow-head": ",delay=30", "slow-first": ",delay=30", "slow-events": ",delay=3", "silent": ",for=30", "silent-head": ",for=30",
		"stall-after": ",for=30", "drip-head": ",delay=0", "drip-body": ",delay=0", "keepalive": ",delay=1", "trailing-garbage": ",hold=5",
		"second-response": ",hold=5", "bad-chunk": ",hold=5", "bad-head": ",hold=5", "huge-unary": ",bytes=100000",
		"oversized": ",bytes=100000", "rst-after": ",pause=10",
	}[name]
}

// TestEveryScenarioEnds plays the whole catalogue, both ways of asking, and compares the journal.
func TestEveryScenarioEnds(t *testing.T) {
	for _, sc := range fault.List() {
		for _, stream := range []bool{true, false} {
			t.Run(sc.Name, func(t *testing.T) {
				t.Parallel()
				s, addr := start(t, Config{})
				raw, err := wire(t, addr, prompt("mock:"+sc.Name+quick(sc.Name), "hello you", stream))
				if err != nil && !errors.Is(err, syscall.ECONNRESET) {
					t.Fatal(err)
				}
				if strings.HasPrefix(raw, "HTTP/1.1 200") && !strings.Contains(raw, "X-Simulator: modelgate-mockmodel\r\n") {
					t.Errorf("unmarked answer %.200q", raw)
				}
				want := journal.Done
				if sc.Breaks {
					want = journal.Fault
				}
				if v := ended(t, s); v.Outcome != want || v.Scenario == "" && quick(sc.Name) != "" {
					t.Errorf("stream %v: entry is %+v", stream, v)
				}
			})
		}
	}
}

func TestUnaryScenarios(t *testing.T) {
	for _, tc := range []struct{ call, part string }{
		{"stream-for-unary", "data: [DONE]"},
		{"no-usage", `"finish_reason":"stop"}]}`},
		{"bad-usage", `"usage":{"prompt_tokens":-1,"completion_tokens":2.5,"total_tokens":"many"}`},
		{"bad-json", "Content-Length: 71\r\n"},
		{"cut-after", "\"object\":\"chat.completion\""},
		{"error-mid", `{"error":{`},
		{"status", "HTTP/1.1 500 Internal Server Error"},
	} {
		_, addr := start(t, Config{})
		raw, err := wire(t, addr, prompt("mock:"+tc.call, "hello you", false))
		if err != nil || !strings.Contains(raw, tc.part) {
			t.Errorf("%s: %v, %q; want %q", tc.call, err, raw, tc.part)
		}
	}
	_, addr := start(t, Config{})
	if raw, _ := wire(t, addr, prompt("mock:huge-unary-3000000", "x", false)); len(raw) < 3_000_000 {
		t.Errorf("a huge answer has %d bytes", len(raw))
	}
}

func TestUsageScenariosInStreams(t *testing.T) {
	_, addr := start(t, Config{})
	for call, want := range map[string]string{"no-usage": "", "bad-usage": `"total_tokens":"many"`, "normal": `"total_tokens":8`} {
		_, body := post(t, addr, `{"model":"mock:`+call+`","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"a b"}]}`)
		if strings.Contains(body, `"total_tokens"`) != (want != "") || !strings.Contains(body, want) {
			t.Errorf("%s: %s", call, body)
		}
	}
}

func TestSlowScenariosTakeTheirTime(t *testing.T) {
	for _, tc := range []struct {
		call        string
		head, first time.Duration // at least, after the request
	}{
		{"slow-head-120ms", 120 * time.Millisecond, 120 * time.Millisecond},
		{"slow-first-120ms", 0, 120 * time.Millisecond},
		{"drip-head-1ms", 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		_, addr := start(t, Config{})
		c := dial(t, addr, prompt("mock:"+tc.call, "x", true))
		begin := time.Now()
		var got []byte
		head, first := time.Duration(-1), time.Duration(-1)
		for buf := make([]byte, 4096); first < 0; {
			n, err := c.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, buf[:n]...)
			if head < 0 && bytes.Contains(got, []byte("\r\n\r\n")) {
				head = time.Since(begin)
			}
			if bytes.Contains(got, []byte("data: ")) {
				first = time.Since(begin)
			}
		}
		// The request was sent a moment before begin.
		if slack := 5 * time.Millisecond; head < tc.head-slack || first < tc.first-slack || (tc.head == 0 && head > 100*time.Millisecond) {
			t.Errorf("%s: head after %s, first event after %s", tc.call, head, first)
		}
	}
}
