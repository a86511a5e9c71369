package fault

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"modelgate.internal/bench/internal/mockmodel/openai"
)

// awkwardText has what parsers get wrong when it is cut: long UTF-8 sequences, quotes, backslashes, control bytes.
const awkwardText = " naïve café — 日本語 😀👩‍🚀 \"quoted\" back\\slash tab\tnew\nline \u0001\u2028 end"

// events are the scenarios that concern what the events of a stream say.
func events() []Scenario {
	at := count("n", "3", "whole events before it; the role-only event is the first")
	more := count("more", "0", "1 lets the normal events and [DONE] follow; 0 ends the body there")
	return []Scenario{
		{Name: "bad-json", Doc: "an event (or the unary body) that is not JSON", Breaks: true, Params: []Param{at}, run: runBadJSON},
		{Name: "bad-shape", Doc: "an event (or the unary body) that is JSON of the wrong shape", Breaks: true, Params: []Param{
			at, text("json", `{"choices":"none"}`, "what it is, without spaces"),
		}, run: runBadShape},
		{Name: "bad-utf8", Doc: "a content event with bytes that are not UTF-8", Breaks: true, Params: []Param{at}, run: runBadUTF8},
		{Name: "oversized", Doc: "one very long event (or unary body)", Params: []Param{
			count("bytes", "10485760", "length of its text in bytes"), at,
		}, run: runOversized},
		{Name: "error-first", Doc: "status 200 and an error object as the first event", Breaks: true, Params: []Param{
			text("code", "rate_limit_exceeded", "the error's code"), more,
		}, run: runErrorFirst},
		{Name: "error-mid", Doc: "an error object after some events", Breaks: true, Params: []Param{
			at, text("code", "server_error", "the error's code"), more,
		}, run: runErrorMid},
		{Name: "error-field", Doc: "llama.cpp's \"error:\" line after some events, and [DONE]", Breaks: true, Params: []Param{
			count("n", "0", "whole events before it"), text("message", "Simulated_failure", "the error's message, with _ for spaces"),
		}, run: runErrorField},
		{Name: "no-done", Doc: "an orderly end without [DONE]", run: onlyKinds(kindDone)},
		{Name: "no-finish", Doc: "[DONE] without any finish_reason", run: onlyKinds(openai.KindFinish)},
		{Name: "no-usage", Doc: "no usage, though it was asked for", run: runNoUsage},
		{Name: "bad-usage", Doc: "a usage object with a negative, a fractional and a text count", run: runBadUsage},
		{Name: "role-only", Doc: "the role-only event and [DONE]", run: onlyKinds(openai.KindContent, openai.KindFinish)},
		{Name: "finish-only", Doc: "the finish event and [DONE], no role, no content", run: onlyKinds(openai.KindContent, openai.KindRole)},
		{Name: "done-only", Doc: "nothing but [DONE]", run: onlyKinds(openai.KindContent, openai.KindRole, openai.KindFinish, openai.KindUsage)},
		{Name: "empty-stream", Doc: "an event stream with an empty body", run: onlyKinds(openai.KindContent, openai.KindRole, openai.KindFinish, openai.KindUsage, kindDone)},
		{Name: "empty-deltas", Doc: "empty deltas and empty contents between the content events", Params: []Param{
			count("n", "2", "of each before every content event"),
		}, run: runEmptyDeltas},
		{Name: "null-content", Doc: "\"content\":null in the role and finish events", run: runNullContent},
		{Name: "finish", Doc: "another finish_reason", Params: []Param{text("reason", "content_filter", "the reason")}, run: runFinish},
		{Name: "after-done", Doc: "one more content event after [DONE]", Breaks: true, run: runAfterDone},
		{Name: "escapes", Doc: "contents with every kind of JSON escape and raw UTF-8", run: runEscapes},
	}
}

// onlyKinds leaves kinds of event out of a stream; a unary answer is normal.
func onlyKinds(kinds ...openai.Kind) func(*Exchange) error {
	return func(x *Exchange) error { return x.send(x.http(), lines("\n"), without(x.payloads(), kinds...)) }
}

// replaceAt puts data in the place of the event after n whole ones.
func (x *Exchange) replaceAt(n int, data []byte) error {
	if !x.Request.Stream {
		return x.sendBody(x.http(), jsonHead(), data)
	}
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(i int, p payload) []payload {
		if i == n+1 {
			p.data = data
		}
		return []payload{p}
	}))
}

func runBadJSON(x *Exchange) error {
	return x.replaceAt(x.count("n"), []byte(`{"id":"chatcmpl-broken","choices":[{"index":0,"delta":{"content":"simul`))
}

func runBadShape(x *Exchange) error { return x.replaceAt(x.count("n"), []byte(x.value("json"))) }

func runBadUTF8(x *Exchange) error {
	word := "simulated"
	data := x.Answer.Event(openai.Delta{Content: &word}, "", false)
	if !x.Request.Stream {
		x.Answer.SetText(word, 0, nil)
		data = x.Answer.JSON(true)
	}
	return x.replaceAt(x.count("n"), bytes.Replace(data, []byte(word), []byte("simul\xff\xc3(\xed\xa0\x80ated"), 1))
}

func runOversized(x *Exchange) error {
	long := filler(x.count("bytes"))
	if !x.Request.Stream {
		return runHugeText(x, long)
	}
	return x.replaceAt(x.count("n"), x.Answer.Event(openai.Delta{Content: &long}, "", x.Request.WantsUsage()))
}

func runHugeText(x *Exchange, s string) error {
	x.Answer.Tokens, x.Answer.Calls = []string{s}, nil
	return Normal(x)
}

func errorObject(code string) []byte {
	e := openai.ForStatus(500)
	e.Message, e.Code = "Simulated failure inside an answer of status 200.", code
	return e.JSON()
}

func runErrorFirst(x *Exchange) error { return x.errorAfter(0) }
func runErrorMid(x *Exchange) error   { return x.errorAfter(x.count("n")) }

func runErrorField(x *Exchange) error {
	message := strings.ReplaceAll(x.value("message"), "_", " ")
	object := fmt.Appendf(nil, `{"code":500,"message":%q,"type":"server_error"}`, message)
	if !x.Request.Stream {
		return x.sendBody(x.http(), jsonHead(), fmt.Appendf(nil, `{"error":%s}`, object))
	}
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(i int, p payload) []payload {
		switch {
		case i <= x.count("n"):
			return []payload{p}
		case p.kind != kindDone:
			return nil
		}
		return []payload{{kind: openai.KindContent, data: fmt.Appendf(nil, "error: %s\n\n", object), verbatim: true, events: 1}, p}
	}))
}

func (x *Exchange) errorAfter(n int) error {
	object := errorObject(x.value("code"))
	if !x.Request.Stream {
		return x.sendBody(x.http(), jsonHead(), object)
	}
	seq := edit(x.payloads(), func(i int, p payload) []payload {
		if i == n+1 {
			return []payload{{kind: openai.KindContent, data: object}, p}
		}
		return []payload{p}
	})
	if x.count("more") == 0 {
		seq = first(seq, n+1)
	}
	return x.send(x.http(), lines("\n"), seq)
}

func runNoUsage(x *Exchange) error {
	if !x.Request.Stream {
		return x.sendBody(x.http(), jsonHead(), x.Answer.JSON(false))
	}
	x.Request.StreamOptions = nil
	return Normal(x)
}

func runBadUsage(x *Exchange) error {
	bad := func(b []byte) []byte {
		usage := fmt.Sprintf(`"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d`,
			x.Answer.Usage.PromptTokens, x.Answer.Usage.CompletionTokens, x.Answer.Usage.TotalTokens)
		return bytes.Replace(b, []byte(usage), []byte(`"prompt_tokens":-1,"completion_tokens":2.5,"total_tokens":"many"`), 1)
	}
	if !x.Request.Stream {
		return x.sendBody(x.http(), jsonHead(), bad(x.Answer.JSON(true)))
	}
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(_ int, p payload) []payload {
		if p.kind == openai.KindUsage {
			p.data = bad(p.data)
		}
		return []payload{p}
	}))
}

func runEmptyDeltas(x *Exchange) error {
	n, empty, usage := x.count("n"), "", x.Request.WantsUsage()
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(_ int, p payload) []payload {
		var out []payload
		for i := 0; i < n && p.kind == openai.KindContent; i++ {
			out = append(out,
				payload{kind: p.kind, data: x.Answer.Event(openai.Delta{}, "", usage)},
				payload{kind: p.kind, data: x.Answer.Event(openai.Delta{Content: &empty}, "", usage)})
		}
		return append(out, p)
	}))
}

func runNullContent(x *Exchange) error {
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(_ int, p payload) []payload {
		switch p.kind {
		case openai.KindRole:
			p.data = bytes.Replace(p.data, []byte(`"content":""`), []byte(`"content":null`), 1)
		case openai.KindFinish:
			p.data = bytes.Replace(p.data, []byte(`"delta":{}`), []byte(`"delta":{"content":null}`), 1)
		default:
		}
		return []payload{p}
	}))
}

func runFinish(x *Exchange) error {
	x.Answer.FinishReason = x.value("reason")
	return Normal(x)
}

func runAfterDone(x *Exchange) error {
	late := " late"
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(_ int, p payload) []payload {
		if p.kind == kindDone {
			return []payload{p, {kind: openai.KindContent, data: x.Answer.Event(openai.Delta{Content: &late}, "", false)}}
		}
		return []payload{p}
	}))
}

func runEscapes(x *Exchange) error {
	x.Answer.SetText(x.Answer.Text()+awkwardText, x.Request.Limit(), nil)
	return x.send(x.http(), lines("\n"), escaped(x.payloads()))
}

// escaped rewrites every second character beyond ASCII as \uXXXX, in surrogate pairs and both letter cases where
// that applies, so that raw and escaped text stand side by side in one string.
func escaped(seq stream) stream {
	n := 0
	return edit(seq, func(_ int, p payload) []payload {
		if p.kind != openai.KindContent {
			return []payload{p}
		}
		var out bytes.Buffer
		for _, r := range string(p.data) {
			if r >= utf8.RuneSelf {
				n++
			}
			switch {
			case r < utf8.RuneSelf || n%2 == 0:
				out.WriteRune(r)
			case r > 0xffff:
				high, low := utf16.EncodeRune(r)
				fmt.Fprintf(&out, `\u%04x\u%04X`, high, low)
			default:
				fmt.Fprintf(&out, `\u%04x`, r)
			}
		}
		p.data = out.Bytes()
		return []payload{p}
	})
}
