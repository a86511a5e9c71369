package fault

import (
	"bytes"
	"fmt"

	"modelgate.internal/bench/internal/mockmodel/openai"
)

// framer wraps the data of one event as SSE.
type framer func(data []byte) []byte

// lines is the normal framing with a chosen line end.
func lines(eol string) framer {
	return func(data []byte) []byte {
		out := make([]byte, 0, len(data)+len("data: ")+2*len(eol))
		out = append(append(out, "data: "...), data...)
		return append(append(out, eol...), eol...)
	}
}

// frames are the scenarios that frame the events of a stream in unusual, mostly legal ways.
func frames() []Scenario {
	return []Scenario{
		{Name: "crlf", Doc: "lines end with CR LF (legal)", run: framed(lines("\r\n"))},
		{Name: "cr", Doc: "lines end with CR alone (legal)", run: framed(lines("\r"))},
		{Name: "no-space", Doc: "no space after \"data:\" (legal)", run: framed(func(data []byte) []byte {
			return fmt.Appendf(nil, "data:%s\n\n", data)
		})},
		{Name: "fields", Doc: "id, event and retry lines beside the data (legal)", run: framed(func(data []byte) []byte {
			return fmt.Appendf(nil, "id: 7\nevent: message\nretry: 1000\nunknown: x\ndata: %s\n\n", data)
		})},
		{Name: "comments", Doc: "comment lines before each event (legal)", Params: []Param{
			count("n", "1", "comments before each event"),
		}, run: runComments},
		{Name: "keepalive", Doc: "nothing but comments for a while, then the normal stream (legal)", Params: []Param{
			count("n", "10", "comments"), duration("delay", "100ms", "time before each"),
		}, run: runKeepalive},
		{Name: "blank-lines", Doc: "blank lines before each event (legal)", run: framed(func(data []byte) []byte {
			return fmt.Appendf(nil, "\n\n\ndata: %s\n\n", data)
		})},
		{Name: "bom", Doc: "a byte order mark at the start of the stream (legal)", run: runBOM},
		{Name: "multi-line", Doc: "one event over several data lines (legal)", run: framed(func(data []byte) []byte {
			return fmt.Appendf(nil, "data: %s\n\n", bytes.Replace(data, []byte(`,"choices"`), []byte(",\ndata: \"choices\""), 1))
		})},
		{Name: "two-in-data", Doc: "two JSON objects in one data line", Breaks: true, run: runTwoInData},
		{Name: "two-in-write", Doc: "two events in each chunk (legal)", run: runTwoInWrite},
		{Name: "all-in-write", Doc: "the whole stream in one chunk (legal)", run: runAllInWrite},
		{Name: "no-blank-line", Doc: "the last event lacks its blank line", Breaks: true, run: runNoBlankLine},
		{Name: "ndjson", Doc: "events as bare JSON lines without \"data:\"", Breaks: true, run: framed(func(data []byte) []byte {
			return fmt.Appendf(nil, "%s\n", data)
		})},
	}
}

func framed(f framer) func(*Exchange) error {
	return func(x *Exchange) error { return x.send(x.http(), f, x.payloads()) }
}

func comment(s string) payload {
	return payload{kind: openai.KindContent, data: []byte(": " + s + "\n\n"), verbatim: true}
}

func runComments(x *Exchange) error {
	n := x.count("n")
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(_ int, p payload) []payload {
		var out []payload
		for range n {
			out = append(out, comment("keep-alive"))
		}
		return append(out, p)
	}))
}

func runKeepalive(x *Exchange) error {
	n, delay := x.count("n"), x.duration("delay")
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(i int, p payload) []payload {
		var out []payload
		for range n {
			if i == 1 {
				c := comment("keep-alive")
				c.wait = delay
				out = append(out, c)
			}
		}
		return append(out, p)
	}))
}

func runBOM(x *Exchange) error {
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(i int, p payload) []payload {
		if i == 1 {
			return []payload{{data: []byte("\xef\xbb\xbf"), verbatim: true}, p}
		}
		return []payload{p}
	}))
}

// paired joins payloads two and two, each framed by f unless it is nil.
func paired(seq stream, f framer) stream {
	return func(yield func(payload) bool) {
		var held *payload
		for p := range seq {
			if f != nil {
				p.data, p.verbatim, p.events = f(p.data), true, 1
			}
			if held == nil {
				held = &p
				continue
			}
			held.data = append(held.data, p.data...)
			held.kind, held.events = p.kind, held.events+p.events
			if !yield(*held) {
				return
			}
			held = nil
		}
		if held != nil {
			yield(*held)
		}
	}
}

func runTwoInData(x *Exchange) error {
	seq := paired(without(x.payloads(), kindDone), nil)
	return x.send(x.http(), lines("\n"), func(yield func(payload) bool) {
		for p := range seq {
			if !yield(p) {
				return
			}
		}
		yield(payload{kind: kindDone, data: []byte("[DONE]")})
	})
}

func runTwoInWrite(x *Exchange) error {
	return x.send(x.http(), lines("\n"), paired(x.payloads(), lines("\n")))
}

func runAllInWrite(x *Exchange) error {
	return x.send(x.http(), lines("\n"), func(yield func(payload) bool) {
		var all payload
		all.kind, all.verbatim = kindDone, true
		for p := range x.payloads() {
			all.data = append(all.data, lines("\n")(p.data)...)
			all.events++
		}
		yield(all)
	})
}

func runNoBlankLine(x *Exchange) error {
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(_ int, p payload) []payload {
		if p.kind == kindDone {
			p.data, p.verbatim, p.events = []byte("data: [DONE]"), true, 1
		}
		return []payload{p}
	}))
}
