package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/sse"
)

// chunkSeeds are payloads of events.
func chunkSeeds() (seeds []string) {
	for _, event := range []string{
		delta("Hi"), delta(`\"\\\/\b\f\n\r\té`), delta(""), roleEvent, stopEvent, usageEvent,
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"x","refusal":null,"tool_calls":null},"logprobs":{"content":[{"token":"x","logprob":-1.5e-3,"bytes":[120]}]}}],"obfuscation":"abc"}`,
		`data: {"choices":[{"delta":{"content":"x"},"delta":{}}]}`, `data: {"Choices":[{"delta":{"content":"x"}}]}`,
		`data: {"choices":[{"delta":{"content":"x"}}],"error":{"message":"no"}}`, `data: {"choices":[{"delta":{"content":"x"},"index":0.0}]}`,
		`data: {"choices":[{"delta":{"content":"x"}}],"Error":{"message":"no"}}`, `data: {"choices":[{"delta":{"content":"x"},"FINISH_reason":"stop"}]}`,
		`data: {"object":"error","message":"no"}`, `data: { "choices" : [ { "delta" : { "content" : "x" } } ] } `,
		`data: {"choices":[{"delta":{"content":"x","tool_calls":[]}}]}`, `data: {"choices":[{"delta":{"content":"x"}},{"index":1}]}`,
	} {
		seeds = append(seeds, strings.TrimSpace(strings.TrimPrefix(event, "data: ")))
	}
	return seeds
}

// FuzzChunk holds that the fast path accepts only what the slow path accepts, with the same meaning.
func FuzzChunk(f *testing.F) {
	for _, seed := range chunkSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok := scanChunk(data)
		if !ok {
			return
		}
		c, err := parseChunk(data)
		if err != nil || !bytes.Equal(c.text, text) || c.finished || c.thought || c.usage != nil {
			t.Fatalf("%q: the fast path has %q, the slow one %+v, %v", data, text, c, err)
		}
		if !utf8.Valid(text) || !json.Valid(literal(text)) {
			t.Fatalf("%q: text %q is not JSON", data, text)
		}
	})
}

// FuzzWhole is FuzzChunk for answers that are not streamed.
func FuzzWhole(f *testing.F) {
	for _, seed := range []string{
		wholeAnswer(`"Hi"`, providerUsage), wholeAnswer(`"a\nb"`, `{"prompt_tokens":0,"completion_tokens":1e3}`), wholeAnswer("null", "null"),
		`{"choices":[{"index":0,"message":{"content":"x","tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var use call.Usage
		text, ok := scanWhole(data, &use)
		if !ok {
			return
		}
		w, err := parseWhole(data)
		if err != nil || !bytes.Equal(w.text, text) || w.usage == nil || *w.usage != use || !json.Valid(literal(text)) {
			t.Fatalf("%q: the fast path has %q, %+v, the slow one %+v, %v", data, text, use, w, err)
		}
	})
}

// digest is what a stream of events means.
type digest struct {
	text     string
	broken   bool
	done     bool
	finished bool
	use      call.Usage
}

// digestFast reads in through stream, which it reaches in pieces.
func digestFast(in []byte, size int) (d digest) {
	t := stream{server: &server{id: "up", now: time.Now}}
	for len(in) > 0 && !d.broken && !t.done {
		n := min(size, len(in))
		buf := append(bytes.Clone(t.rest), in[:n]...)
		in = in[n:]
		t.rest = buf
		text, err := t.next()
		for ; err == nil && text != nil; text, err = t.next() {
			d.text += string(text)
		}
		d.broken = err != nil
	}
	d.done, d.finished, d.use = t.done, !t.finished.IsZero(), t.count()
	return d
}

// digestSlow reads in without templates and without the scanner.
func digestSlow(in []byte) (d digest) {
	t := stream{}
	r := sse.NewReader(bytes.NewReader(in), eventBytesMax)
	for {
		e, err := r.Next()
		if err != nil {
			d.broken = errors.Is(err, sse.ErrTooLarge)
			break
		}
		if len(e.Data) == 0 {
			continue
		}
		if d.done = string(e.Data) == "[DONE]"; d.done {
			break
		}
		c, err := parseChunk(e.Data)
		if d.broken = err != nil || string(e.Name) == "error"; d.broken {
			break
		}
		d.finished = d.finished || c.finished
		if c.usage != nil {
			t.usage = c.usage
		}
		if len(c.text) > 0 || c.thought {
			t.deltas++
		}
		d.text += string(c.text)
	}
	d.use = t.count()
	return d
}

// FuzzStream holds that a stream means the same through templates and scanner, in pieces of any size, as it does to a
// plain reader and encoding/json.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		roleEvent + delta("H") + delta("i") + delta(`\n`) + tail,
		strings.ReplaceAll(delta("H")+delta("i")+tail, "\n", "\r\n"), strings.ReplaceAll(delta("H")+delta("i")+tail, "\n", "\r"),
		delta("a") + strings.Replace(delta("b"), "null}]", `"stop"}]`, 1) + delta("c") + doneEvent,
		": c\n\n" + delta("a") + delta("b\"},\"x\":{\"y\":\"z") + delta("c"), "\xef\xbb\xbfevent: x\n" + delta("a") + "event: error\ndata: {}\n\n",
		delta("a") + "data: x\ndata: y\n\n", delta("\xff") + delta("a"), delta("a") + delta("\\") + delta("b"),
	} {
		f.Add([]byte(seed), 7)
		f.Add([]byte(seed), 1000)
	}
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		size = max(1, size%2048)
		fast, slow := digestFast(in, size), digestSlow(in)
		if fast != slow {
			t.Fatalf("%q in pieces of %d:\nfast %+v\nslow %+v", in, size, fast, slow)
		}
	})
}

func TestTemplate(t *testing.T) {
	var tmpl template
	learn := func(event string) {
		block := []byte(event)
		data := sse.Parse(block).Data
		text, ok := scanChunk(data)
		if !ok {
			t.Fatalf("%q is refused", event)
		}
		tmpl.learn(block, data, text)
	}
	learn(delta("first"))
	for event, want := range map[string]string{
		delta("x"):                     "x",
		delta(`a\"b`):                  `a\"b`,
		delta("é") + "data: more":      "é",
		delta(strings.Repeat("y", 99)): strings.Repeat("y", 99),
	} {
		text, n := tmpl.match([]byte(event))
		if string(text) != want || n != strings.Index(event, "\n\n")+2 {
			t.Errorf("%q: got %q, %d bytes", event, text, n)
		}
	}
	for _, event := range []string{
		"", "data: ", roleEvent, stopEvent, strings.TrimSuffix(delta("x"), "\n"), delta("\xff"), delta("\x01"), delta(`\x`), delta(`"`),
		strings.Replace(delta("x"), `"created":1`, `"created":2`, 1), strings.Replace(delta("x"), `reason":null`, `reason":"s"`, 1),
	} {
		if text, n := tmpl.match([]byte(event)); n != 0 {
			t.Errorf("%q matches with %q", event, text)
		}
	}
	for _, event := range []string{"event: x\n" + delta("a"), strings.TrimSuffix(delta("a"), "\n") + "id: 1\n\n", "data: \n" + delta("a")} {
		learn(event)
		if tmpl.prefix != 0 {
			t.Errorf("%q is learned", event)
		}
	}
}

func TestStringEnd(t *testing.T) {
	for in, want := range map[string]int{
		`"`: 0, `a"`: 1, `abcdefg"`: 7, `abcdefgh"`: 8, `abcdefghi"x`: 9, `\""`: 2, `abcdefg\"h"`: 10, `\\"`: 2, `é"`: 2, "\u007f\"": 1, `\u00e9"`: 6,
		``: -1, `abc`: -1, `abcdefghijk`: -1, "a\nb\"": -1, "abcdefghij\x1f\"": -1, `\x"`: -1, `\`: -1, `\u12`: -1, `\u12g4"`: -1, "\xff\"": -1, "abcdefgh\xc3\"": -1,
		"\x80": -1, strings.Repeat("é", 50) + `"rest`: 100,
	} {
		if got := stringEnd([]byte(in)); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}
