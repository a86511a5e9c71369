package faults

import (
	"strings"

	"modelgate.internal/bench/internal/mockmodel/openai"
	"modelgate.internal/shared/plane"
)

// awkward is what the simulator adds to its answer in the scenarios that cut and escape it.
const awkward = " naïve café — 日本語 😀👩‍🚀 \"quoted\" back\\slash tab\tnew\nline \u0001\u2028 end"

// usual is the simulator's answer to the short prompt.
const usual = "Simulated answer. You said: " + shortWords

// legal are answers that are unusual and complete: the caller must notice nothing.
func legal() []fault {
	tokens := int64(len(openai.Tokens(usual)))
	filler := func(bytes int) string { return strings.Repeat("simulated ", bytes/10) }
	empty := ""
	both := func(name, does string) fault { return fault{name: name, does: does, unary: &want{}, stream: &want{}} }
	stream := func(name, does string) fault { return fault{name: name, does: does, stream: &want{}} }
	return []fault{
		both("nothing unusual", "normal"),
		both("interim answers", "interim code=103 n=3"),
		both("100 Continue", "continue"),
		both("chunk extensions", "chunk-extension"),
		both("trailers", "trailers"),
		both("a body that ends with the connection", "close-body"),
		both("an HTTP/1.0 answer", "http10"),
		both("a stream with a length", "length-stream"),
		both("another finish reason", "finish reason=content_filter"),
		{name: "garbage after the answer", does: "trailing-garbage", unary: &want{repeat: 3}, stream: &want{repeat: 3}},
		{name: "an answer after the answer", does: "second-response", unary: &want{repeat: 3}, stream: &want{repeat: 3}},

		{name: "UTF-8 and escapes split", does: "split size=1", text: usual + awkward, unary: &want{}, stream: &want{}},
		{name: "UTF-8 and escapes split in threes", does: "split size=3 delay=200us", text: usual + awkward, unary: &want{}, stream: &want{}},
		{name: "every kind of escape", does: "escapes", text: usual + awkward, unary: &want{}, stream: &want{}},
		both("one byte at a time", "drip-body delay=100us"),

		stream("CR LF", "crlf"),
		stream("CR", "cr"),
		stream("no space after the colon", "no-space"),
		stream("other fields", "fields"),
		stream("comments", "comments n=3"),
		stream("comments before the first event", "keepalive n=5 delay=100ms"),
		stream("blank lines", "blank-lines"),
		stream("a byte order mark", "bom"),
		stream("data over several lines", "multi-line"),
		stream("two events at once", "two-in-write"),
		stream("all events at once", "all-in-write"),
		stream("empty deltas", "empty-deltas n=3"),
		stream("null contents", "null-content"),
		stream("no [DONE]", "no-done"),
		stream("no finish reason", "no-finish"),
		stream("no blank line at the end", "no-blank-line"),
		stream("an event after [DONE]", "after-done"),
		stream("a length that is too large", "length-short"),

		{name: "no role and no content", does: "finish-only", stream: &want{text: &empty, use: counts(plane.SourceProvider, tokens)}},
		{name: "a role and no content", does: "role-only", stream: &want{text: &empty, use: counts(plane.SourceProvider, tokens)}},
		{
			name: "no token count", does: "no-usage",
			unary: &want{use: counts(plane.SourceEstimated, estimate(usual))}, stream: &want{use: counts(plane.SourceCounted, tokens)},
		},
		{
			name: "a senseless token count", does: "bad-usage",
			unary: &want{use: counts(plane.SourceEstimated, estimate(usual))}, stream: &want{use: counts(plane.SourceCounted, tokens)},
		},
		{
			name: "a large whole answer", does: "huge-unary bytes=5000000", text: filler(5_000_000),
			unary: &want{use: counts(plane.SourceProvider, tokens)},
		},
		{
			name: "a large event", does: "huge-unary bytes=900000", text: filler(900_000),
			stream: &want{use: counts(plane.SourceProvider, tokens)},
		},
		{name: "very many events", does: "many-tokens n=1500", text: strings.Repeat(" simulated", 1500), unary: &want{}, stream: &want{}},
	}
}
