package scan

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

const usual = `{"prompt":"And in Zulu?\n\u00e9 \ud83d\ude00","model":"Nova","stream":true,"messages":[{"role":"user","content":"Say hello."},` +
	`{"content":"Habari! \"x\"","role":"assistant"}],"system_prompt":"One word. ü","image_b64":"aGk=","temperature":0.25,"max_tokens":64}`

func TestTheFastReaderTakesTheUsual(t *testing.T) {
	for _, body := range []string{
		usual,
		`{"prompt":"hi"}`,
		` { "prompt" : "hi" , "stream" : false , "messages" : [ ] , "system_prompt" : null , "image_b64" : null } `,
		`{"prompt":"hi","temperature":2,"max_tokens":1000000}`,
		`{"prompt":"hi","temperature":2.000,"max_tokens":1}`,
	} {
		var r Request
		if !fast([]byte(body), &r) {
			t.Errorf("not taken: %s", body)
		}
		agree(t, []byte(body))
	}
}

func TestTheFastReaderLeavesTheUnusual(t *testing.T) {
	for _, body := range []string{
		``, `{}`, `[]`, `{"prompt":""}`, `{"prompt":1}`, `{"prompt":"a"`, `{"prompt":"a"}x`, `{"prompt":"a",}`,
		`{"prompt":"a","prompt":"b"}`, `{"prompt":"a","extra":1}`, `{"\u0070rompt":"a"}`,
		`{"prompt":"a","temperature":2.1}`, `{"prompt":"a","temperature":1e0}`, `{"prompt":"a","temperature":-0}`,
		`{"prompt":"a","temperature":1.}`, `{"prompt":"a","temperature":12}`, `{"prompt":"a","temperature":"1"}`,
		`{"prompt":"a","max_tokens":0}`, `{"prompt":"a","max_tokens":01}`, `{"prompt":"a","max_tokens":1000001}`,
		`{"prompt":"a","max_tokens":1.0}`, `{"prompt":"a","max_tokens":"5"}`,
		`{"prompt":"a","stream":1}`, `{"prompt":"a","model":"Dar\u0077in"}`, `{"prompt":"a","messages":null}`,
		`{"prompt":"a","messages":[{"role":"user"}]}`, `{"prompt":"a","messages":[{"role":"user","role":"user"}]}`,
		`{"prompt":"a","messages":[{"role":"x","content":"y"}]}`, `{"prompt":"a","messages":[{"role":"user","content":"y","name":"z"}]}`,
		"{\"prompt\":\"a\x00\"}", "{\"prompt\":\"a\xff\"}", `{"prompt":"\ud800"}`, `{"prompt":"\ud800\u0041"}`, `{"prompt":"\udc00"}`,
		`{"prompt":"\x"}`, `{"prompt":"\u12g4"}`, `{"prompt":"a","messages":[` + strings.Repeat(`{"role":"user","content":"y"},`, 1000) + `{"role":"user","content":"y"}]}`,
	} {
		var r Request
		if fast([]byte(body), &r) {
			t.Errorf("taken: %.200s", body)
		}
	}
}

func TestTheSlowReaderGivesTheSameForm(t *testing.T) {
	var r Request
	if err := Parse([]byte(`{"prompt":"\ud800<","extra":{},"max_tokens":5.0,"temperature":1e-7,"messages":[{"role":"user","content":"é","x":1}]}`), &r); err != nil {
		t.Fatal(err)
	}
	if string(r.Chat.Prompt) != `"�<"` || string(r.Model) != "Darwin" || r.Chat.MaxTokens != 5 ||
		string(r.Chat.Temperature) != "0.0000001" || string(r.Chat.Turns[0].Content) != `"é"` {
		t.Errorf("got %q, %q, %+v", r.Chat.Prompt, r.Model, r)
	}
}

func TestScanningDoesNotAllocate(t *testing.T) {
	body := []byte(usual)
	var r Request
	if n := testing.AllocsPerRun(1000, func() {
		if !fast(body, &r) {
			t.Fatal("not taken")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	short := []byte(`{"prompt":"hi"}`)
	if n := testing.AllocsPerRun(1000, func() { fast(short, &r) }); n != 0 {
		t.Errorf("%v allocations with defaults", n)
	}
}

// agree fails the test if the fast reader accepts what the slow one does not, or with other values.
func agree(t *testing.T, body []byte) {
	t.Helper()
	var r Request
	if !fast(body, &r) {
		return
	}
	var want wire.AgentRequest
	if err := bind.JSON(body, &want); err != nil {
		t.Fatalf("the slow reader refuses %q: %v", body, err)
	}
	temperature, err := strconv.ParseFloat(string(r.Chat.Temperature), 64)
	if err != nil || temperature != want.Temperature {
		t.Errorf("temperature %s, want %v", r.Chat.Temperature, want.Temperature)
	}
	if string(r.Model) != want.Model || r.Stream != want.Stream || r.Chat.MaxTokens != want.MaxTokens || len(r.Chat.Turns) != len(want.Messages) {
		t.Errorf("got %+v, want %+v", r, want)
	}
	same(t, "prompt", r.Chat.Prompt, &want.Prompt)
	same(t, "system_prompt", r.Chat.System, want.SystemPrompt)
	same(t, "image_b64", r.Chat.Image, want.ImageB64)
	for i, turn := range r.Chat.Turns {
		same(t, "role", turn.Role, &want.Messages[i].Role)
		same(t, "content", turn.Content, &want.Messages[i].Content)
	}
}

func same(t *testing.T, what string, literal []byte, want *string) {
	t.Helper()
	if literal == nil || want == nil {
		if literal != nil || want != nil {
			t.Errorf("%s: %q, want %v", what, literal, want)
		}
		return
	}
	var got string
	if err := json.Unmarshal(literal, &got); err != nil || got != *want {
		t.Errorf("%s: %q (%v), want %q", what, literal, err, *want)
	}
}

func FuzzFastAgreesWithSlow(f *testing.F) {
	for _, seed := range []string{
		usual, `{"prompt":"hi"}`, `{"prompt":"hi","temperature":1.5,"max_tokens":12,"stream":true}`, `{"prompt":"\u0041\ud83d\ude00"}`,
		`{"prompt":"a","messages":[{"role":"system","content":""}],"system_prompt":null,"image_b64":""}`, "{\"prompt\":\"\xc3\xa9\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(agree)
}

func BenchmarkFast(b *testing.B) {
	body := []byte(`{"prompt":"` + strings.Repeat("word ", 60) + `","messages":[{"role":"user","content":"hello there"},{"role":"assistant","content":"hi"}],"stream":true}`)
	var r Request
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		fast(body, &r)
	}
}

func BenchmarkFastImage(b *testing.B) {
	body := append(append([]byte(`{"prompt":"a","image_b64":"`), bytes.Repeat([]byte("QUJD"), 1<<18)...), `"}`...)
	var r Request
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		fast(body, &r)
	}
}
