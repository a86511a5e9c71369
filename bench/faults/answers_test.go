package faults

import (
	"slices"
	"strings"
)

// Wants that many rows share.
func fails(status int, detail string) *want { return &want{status: status, detail: detail} }

func breaks(deltas int, detail string) *want {
	return &want{event: 502, deltas: deltas, detail: detail}
}
func letGo(w *want) *want { w.letGo = true; return w }

func tried(n int, w *want) *want { w.attempts = n; return w }

// again is a failure that callers can bring about at will: however often they do, the model server goes on being asked.
func again(n int, w *want) *want { w.repeat = n; return w }

// alike is a row where no stream has begun, so that both kinds of call end in the same way.
func alike(name, does string, w *want) fault {
	stream := *w
	return fault{name: name, does: does, unary: w, stream: &stream}
}

// answers are model servers that cannot be used, or that answer something else than was asked for. Every call ends with a
// status. What may pass is tried again, three times in all; an error that the model server gave itself only once, since it would give it
// again; what would come out the same is not, and neither is what broke off
// once the answer had begun.
func answers() []fault { return slices.Concat(heads(), statuses(), contents(), wholes()) }

// heads are answers that end before their head does, or that break HTTP.
func heads() []fault {
	return []fault{
		alike("cut before the head", "cut-head", tried(3, fails(502, "closed the connection without an answer"))),
		alike("reset before the head", "cut-head rst=1", tried(3, fails(502, "closed the connection without an answer"))),
		alike("cut inside the head", "cut-head bytes=40", fails(502, "broke off")),
		alike("a head that is no HTTP", "bad-head kind=status", fails(502, "breaks HTTP")),
		alike("a header without a colon", "bad-head kind=colon", fails(502, "breaks HTTP")),
		alike("a header with a NUL", "bad-head kind=nul", fails(502, "breaks HTTP")),
		alike("a folded header", "bad-head kind=fold", fails(502, "breaks HTTP")),
		alike("a space before the colon", "bad-head kind=space-colon", fails(502, "breaks HTTP")),
		alike("two lengths", "bad-head kind=two-lengths", fails(502, "breaks HTTP")),
		alike("a length and chunks", "bad-head kind=length-and-chunked", fails(502, "breaks HTTP")),
		alike("chunked twice", "bad-head kind=double-chunked", fails(502, "breaks HTTP")),
		alike("a length that is no number", "bad-head kind=bad-length", fails(502, "breaks HTTP")),
		alike("a head of a megabyte", "huge-head bytes=1000000", fails(502, "breaks HTTP")),
	}
}

// statuses are answers with another status than 200.
func statuses() []fault {
	return []fault{
		alike("status 400", "status code=400", fails(400, "refused the request: ")),
		alike("status 401", "status code=401", fails(502, "not a fault of your key")),
		alike("status 403", "status code=403", fails(502, "not a fault of your key")),
		alike("status 404", "status code=404", fails(502, "does not know the model")),
		alike("status 413", "status code=413", fails(413, "larger than upstream")),
		alike("status 429", "status code=429 retry-after=7", &want{status: 429, detail: "not the limit of your key", header: "Retry-After: 7"}),
		alike("status 500", "status code=500", tried(2, fails(502, "answered with status 500. Try again later. It said: Simulated failure"))),
		alike("status 503", "status code=503 retry-after=3", &want{status: 503, detail: "answered with status 503", header: "Retry-After: 3"}),
		alike("status 503 without a time", "status code=503", tried(3, &want{status: 503, detail: "Simulated failure", header: "Retry-After: 5"})),
		alike("status 502 from a proxy", "status-html code=502", tried(2, fails(502, "answered with status 502"))),
		alike("status 429 once", "status code=429 times=1", &want{attempts: 2}),
		alike("status 500 once", "status code=500 times=1", &want{attempts: 2}),
		alike("status 503 twice", "status code=503 times=2", &want{attempts: 3}),
		alike("status 500 for a bad request", "status code=500 message=tools_param_requires_--jinja_flag", again(7, fails(400, "tools param requires --jinja flag"))),
		alike("status 503 once, for a second", "status code=503 retry-after=1 times=1", &want{attempts: 2}),
		alike("cut before the head once", "cut-head times=1", &want{attempts: 2}),
		alike("a redirect", "redirect code=307", fails(502, "instead of a completion")),
		alike("status 204", "no-content", fails(502, "instead of a completion")),
	}
}

// contents are answers of status 200 that are not what they should be.
func contents() []fault {
	return []fault{
		alike("wrong content type", "wrong-type type=text/plain", fails(502, "content type")),
		alike("HTML with status 200", "html-200", fails(502, "content type")),
		alike("nothing with status 200", "empty-200", fails(502, "")),
		{name: "an error with status 200", does: "error-200", unary: tried(2, fails(502, "Simulated failure")), stream: fails(502, "content type")},
		alike("a compressed answer", "gzip", fails(502, "compressed")),
		alike("a plain answer that says compressed", "gzip lie=1", fails(502, "compressed")),
		{name: "a whole answer for a stream", does: "unary-for-stream", stream: fails(502, "content type")},
		{name: "a stream for a whole answer", does: "stream-for-unary", unary: fails(502, "content type")},
		{name: "an error object first", does: "error-first", stream: tried(2, fails(502, "Simulated failure")), unary: tried(2, fails(502, "Simulated failure"))},
		{name: "a first event that is not JSON", does: "bad-json n=0", stream: fails(502, "not a chat completion")},
		{name: "a first event over the bound", does: "oversized bytes=3000000 n=0", stream: fails(502, "over 1 MiB")},
		{name: "an event stream without events", does: "empty-stream", stream: fails(502, "broke off")},
		{name: "nothing but [DONE]", does: "done-only", stream: fails(502, "without beginning it")},
		alike("llama.cpp's error field", "error-field", tried(2, fails(502, "Simulated failure"))),
		alike("llama.cpp's error field for a bad request", "error-field message=Context_size_has_been_exceeded.", again(7, fails(400, "Context size has been exceeded."))),
		{name: "lines of bare JSON", does: "ndjson", stream: fails(502, "broke off")},
		{name: "two objects in one event", does: "two-in-data", stream: fails(502, "not a chat completion")},
	}
}

// wholes are answers that go wrong after their head, while nothing has been passed on.
func wholes() []fault {
	return []fault{
		{name: "a whole answer over the bound", does: "huge-unary bytes=10000000", unary: again(7, fails(502, "over 8 MiB"))},
		{name: "a whole answer cut in the middle", does: "cut-after", unary: fails(502, "broke off")},
		{name: "a whole answer reset in the middle", does: "rst-after", unary: fails(502, "broke off")},
		{name: "half a whole answer", does: "cut-event", unary: fails(502, "not a chat completion")},
		{name: "a whole answer that is not JSON", does: "bad-json", unary: fails(502, "not a chat completion")},
		{name: "a whole answer of another shape", does: "bad-shape", unary: fails(502, "not a chat completion")},
		{name: "a whole answer that is not UTF-8", does: "bad-utf8", unary: fails(502, "not valid UTF-8")},
		{name: "a length that is too large", does: "length-short", unary: fails(502, "broke off")},
		{name: "a chunk size that is none", does: "bad-chunk", unary: fails(502, "")},
		{name: "a chunk that is too short", does: "short-chunk", unary: fails(502, "broke off")},
	}
}

// middles are streams that go wrong after their first event.
func middles() []fault {
	more := strings.Repeat(longWords, 80)
	row := func(name, does string, w *want) fault { return fault{name: name, does: does, stream: w} }
	going := func(name, does string, w *want) fault { // the simulator would go on for seconds
		return fault{name: name, does: does, says: more, stream: letGo(w)}
	}
	return []fault{
		row("cut", "cut-after n=5", breaks(4, "broke off")),
		row("cut after one token", "cut-after n=2", breaks(1, "broke off")),
		row("reset", "rst-after n=5", breaks(4, "broke off")),
		row("ends inside an event", "cut-event n=3", breaks(2, "broke off")),
		row("a chunk that is too short", "short-chunk n=3", breaks(2, "broke off")),
		row("a chunk size that is none", "bad-chunk n=3", breaks(2, "")),
		row("a negative chunk size", "bad-chunk n=3 size=-1", breaks(2, "")),
		row("a chunk size beyond all numbers", "bad-chunk n=3 size=ffffffffffffffffff", breaks(2, "")),
		row("llama.cpp's error field", "error-field n=4", breaks(3, "Simulated failure")),
		row("an error object", "error-mid n=4", breaks(3, "Simulated failure")),
		going("an error object and more", "error-mid n=4 more=1", breaks(3, "Simulated failure")),
		going("not JSON", "bad-json n=3", breaks(2, "not a chat completion")),
		going("another shape", "bad-shape n=3", breaks(2, "not a chat completion")),
		going("not UTF-8", "bad-utf8 n=3", breaks(2, "not valid UTF-8")),
		going("over the bound", "oversized bytes=10485760 n=3", breaks(2, "over 1 MiB")),
	}
}

// waits are model servers that are slow, or say nothing any more. What passes a deadline is let go.
func waits() []fault {
	late := func(detail string) *want { return letGo(fails(502, detail)) }
	lateStream := func(deltas int, detail string) *want {
		w := letGo(breaks(deltas, detail))
		w.comment = true
		return w
	}
	return []fault{
		{name: "a late head", does: "slow-head delay=1s", unary: &want{}, stream: &want{}},
		{name: "a very late head", does: "slow-head delay=4s", unary: &want{}, stream: &want{comment: true}},
		{name: "a late first event", does: "slow-first delay=4s", unary: &want{}, stream: &want{comment: true}},
		{name: "pauses between events", does: "slow-events delay=300ms", unary: &want{}, stream: &want{}},
		{name: "a head that drips", does: "drip-head delay=5ms", unary: &want{}, stream: &want{}},
		{name: "a head that drips for ever", does: "drip-head delay=300ms", unary: late("did not finish its answer"), stream: lateStream(0, "did not begin to answer")},
		{name: "no head", does: "silent-head", unary: late("did not finish its answer"), stream: lateStream(0, "did not begin to answer")},
		{name: "no first event", does: "silent", unary: late("did not finish its answer"), stream: lateStream(0, "did not send a first event")},
		{name: "comments and no first event", does: "keepalive n=100 delay=200ms", stream: lateStream(0, "did not send a first event")},
		{name: "stalls in the middle", does: "stall-after n=4", unary: late("did not finish its answer"), stream: lateStream(3, "went silent in the middle")},
	}
}
