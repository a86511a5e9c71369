package fault

import (
	"fmt"
	"strings"
)

// heads are the scenarios that concern HTTP itself: head, framing of the body, what follows it.
func heads() []Scenario {
	hold := duration("hold", "200ms", "how long the connection stays open afterwards")
	return []Scenario{
		{Name: "interim", Doc: "interim answers before the real head (legal)", Params: []Param{
			count("code", "103", "status from 100 to 199, not 101"), count("n", "1", "how many"),
		}, run: runInterim},
		{Name: "continue", Doc: "\"100 Continue\" that nobody asked for (legal)", run: func(x *Exchange) error {
			return x.rawSend(&rawSink{before: "HTTP/1.1 100 Continue\r\n\r\n"})
		}},
		{Name: "chunk-extension", Doc: "chunk sizes with extensions (legal)", run: func(x *Exchange) error {
			return x.rawSend(&rawSink{extension: `;mock=1;note="a b"`})
		}},
		{Name: "trailers", Doc: "a trailer field after the last chunk (legal)", run: func(x *Exchange) error {
			return x.rawSend(&rawSink{trailer: "X-Mock-Trailer: 1\r\n"})
		}},
		{Name: "close-body", Doc: "no length, the body ends with the connection (legal)", run: func(x *Exchange) error {
			return x.rawSend(&rawSink{framing: byClose})
		}},
		{Name: "http10", Doc: "an HTTP/1.0 answer that ends with the connection (legal)", run: func(x *Exchange) error {
			return x.rawSend(&rawSink{framing: byClose, proto: "HTTP/1.0"})
		}},
		{Name: "length-stream", Doc: "an event stream with a Content-Length (legal)", run: runLengthStream},
		{Name: "length-short", Doc: "a Content-Length that is larger than the body, then FIN", Breaks: true, Params: []Param{
			count("bytes", "10", "missing bytes"),
		}, run: runLengthShort},
		{Name: "bad-chunk", Doc: "some events, then a chunk size that is none", Breaks: true, Params: []Param{
			count("n", "3", "events before"),
			text("size", "zz", "the size line, for instance -1 or ffffffffffffffffff"), hold,
		}, run: runBadChunk},
		{Name: "short-chunk", Doc: "some events, a chunk with fewer bytes than announced, then FIN", Breaks: true, Params: []Param{
			count("n", "3", "events before"),
		}, run: runShortChunk},
		{Name: "trailing-garbage", Doc: "a whole answer, then bytes that belong to nothing", Breaks: true, Params: []Param{
			text("bytes", "GARBAGE", "what follows"), hold,
		}, run: runTrailingGarbage},
		{Name: "second-response", Doc: "a whole answer, then an answer that nobody asked for", Breaks: true, Params: []Param{hold}, run: runSecondResponse},
		{Name: "bad-head", Doc: "a head that is not HTTP", Breaks: true, Params: []Param{
			text("kind", "status", "status, colon, space-colon, fold, nul, two-lengths, length-and-chunked, bad-length or double-chunked"), hold,
		}, run: runBadHead},
		{Name: "huge-head", Doc: "a head with very many bytes, then the normal answer", Params: []Param{
			count("bytes", "65536", "length of the additional fields"),
		}, run: runHugeHead},
	}
}

// rawSend answers through a raw sink whose connection is filled in here.
func (x *Exchange) rawSend(s *rawSink) error {
	c, err := x.hijack()
	if err != nil {
		return err
	}
	s.c = c
	return x.send(s, lines("\n"), x.payloads())
}

func runInterim(x *Exchange) error {
	code := x.count("code")
	if code < 100 || code > 199 || code == 101 {
		code = 103
	}
	one := fmt.Sprintf("HTTP/1.1 %d Interim\r\nLink: </simulated>; rel=preload\r\n\r\n", code)
	return x.rawSend(&rawSink{before: strings.Repeat(one, x.count("n"))})
}

// streamBytes is the whole body of the answer, whichever kind was asked for.
func (x *Exchange) streamBytes() (h head, body []byte) {
	if !x.Request.Stream {
		h, body = jsonHead(), x.Answer.JSON(true)
		h.length = len(body)
		return h, body
	}
	for p := range x.payloads() {
		body = append(body, lines("\n")(p.data)...)
	}
	h = streamHead()
	h.length = len(body)
	return h, body
}

func runLengthStream(x *Exchange) error {
	h, body := x.streamBytes()
	return x.sendBody(x.http(), h, body)
}

func runLengthShort(x *Exchange) error {
	c, err := x.hijack()
	if err != nil {
		return err
	}
	h, body := x.streamBytes()
	h.length += x.count("bytes")
	return x.sendBody(&rawSink{c: c, framing: byLength, keep: true}, h, body)
}

// partChunked is part for scenarios that need a chunked body even for a unary call.
func (x *Exchange) partChunked(n int) (*rawSink, error) {
	if x.Request.Stream {
		return x.part(n)
	}
	c, err := x.hijack()
	if err != nil {
		return nil, err
	}
	s := &rawSink{c: c, keep: true}
	if err := x.begin(s, jsonHead()); err != nil {
		return s, err
	}
	return s, s.write(half(x.Answer.JSON(true)))
}

func runBadChunk(x *Exchange) error {
	s, err := x.partChunked(x.count("n"))
	if err != nil {
		return err
	}
	return x.garbage(s, x.value("size")+"\r\n")
}

// garbage writes bytes and keeps the connection open for the parameter "hold".
func (x *Exchange) garbage(s *rawSink, bytes string) error {
	x.Entry.Closing()
	if err := s.put([]byte(bytes)); err != nil {
		return err
	}
	_ = x.sleep(x.duration("hold")) // whoever leaves now has seen all there is
	return nil
}

func runShortChunk(x *Exchange) error {
	s, err := x.partChunked(x.count("n"))
	if err != nil {
		return err
	}
	x.Entry.Closing()
	return s.put([]byte("400\r\ndata: {\"id\":\"chatcmpl-short"))
}

func runTrailingGarbage(x *Exchange) error {
	return x.whole(x.value("bytes") + "\r\n")
}

func runSecondResponse(x *Exchange) error {
	return x.whole("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{\"smuggled\":\"yes\"}")
}

// whole sends a complete answer on a connection that looks reusable, and then more.
func (x *Exchange) whole(more string) error {
	c, err := x.hijack()
	if err != nil {
		return err
	}
	s := &rawSink{c: c, keep: true}
	if err := x.send(s, lines("\n"), x.payloads()); err != nil {
		return err
	}
	return x.garbage(s, more)
}

func runBadHead(x *Exchange) error {
	c, err := x.hijack()
	if err != nil {
		return err
	}
	s := &rawSink{c: c, keep: true}
	good := s.headText(head{status: 200, contentType: "application/json", length: lengthUnknown})
	body := "2\r\n{}\r\n0\r\n\r\n"
	insert := func(field string) string { return strings.TrimSuffix(good, "\r\n") + field + "\r\n\r\n" }
	text := "SIMULATED NONSENSE\r\n\r\n"
	switch x.value("kind") {
	case "colon":
		text = insert("A-Field-Without-Colon")
	case "space-colon":
		text = insert("X-Space : 1")
	case "fold":
		text = insert("X-Folded: a\r\n b")
	case "nul":
		text = insert("X-Nul: a\x00b")
	case "length-and-chunked":
		text = insert("Content-Length: 2")
	case "double-chunked":
		text = insert("Transfer-Encoding: chunked")
	case "two-lengths":
		text, body = strings.Replace(insert("Content-Length: 2\r\nContent-Length: 12"), "Transfer-Encoding: chunked\r\n", "", 1), "{}          "
	case "bad-length":
		text, body = strings.Replace(insert("Content-Length: 2x"), "Transfer-Encoding: chunked\r\n", "", 1), "{}"
	}
	return x.garbage(s, text+body)
}

func runHugeHead(x *Exchange) error {
	var fields strings.Builder
	for i := 0; fields.Len() < x.count("bytes"); i++ {
		fmt.Fprintf(&fields, "X-Mock-%d: %s\r\n", i, filler(200))
	}
	c, err := x.hijack()
	if err != nil {
		return err
	}
	s := &rawSink{c: c}
	s.extraHead = fields.String()
	return x.send(s, lines("\n"), x.payloads())
}
