package upstream

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"

	"modelgate.internal/shared/plane"
)

// request is a chat completion request ready to be sent: parts of one buffer, and perhaps an image in the middle that
// stays where it is.
type request struct {
	buf   []byte
	parts [3][]byte
	used  int // of parts
}

func (r *request) bytes() [][]byte { return r.parts[:r.used] }

// requests writes the requests to one upstream.
type requests struct {
	head  []byte // up to and including "Content-Length: "
	begin []byte // of the body: model and the start of messages
	pool  sync.Pool
}

// How every body begins behind the model, and what a stream is asked with: the provider's count is always wanted.
const (
	messagesOpen  = `"messages":[`
	streamMembers = `,"stream":true,"stream_options":{"include_usage":true}`
)

// reserve is room for the digits of the content length and the empty line.
const reserve = 20 + len("\r\n\r\n")

func newRequests(spec plane.UpstreamSpec, b base, credential string) *requests {
	head := "POST " + b.path + "/chat/completions HTTP/1.1\r\nHost: " + b.host + "\r\n"
	if credential != "" {
		head += "Authorization: Bearer " + credential + "\r\n"
	}
	head += "User-Agent: modelgate\r\nAccept: application/json, text/event-stream\r\nAccept-Encoding: identity\r\n" +
		"Content-Type: application/json\r\nContent-Length: "
	model, err := json.Marshal(spec.Model)
	if err != nil {
		panic("BUG: a string cannot be encoded: " + err.Error())
	}
	return &requests{head: []byte(head), begin: []byte(`{"model":` + string(model) + `,` + messagesOpen)}
}

// build returns the request for c. It holds on to c until it is released.
func (q *requests) build(c *Chat, stream bool) *request {
	r, ok := q.pool.Get().(*request)
	if !ok {
		r = new(request)
	}
	if c.Raw != nil {
		return q.buildRaw(r, c, stream)
	}
	lead := len(q.head) + reserve
	b := append(r.buf[:0], q.head...)
	b = append(b, make([]byte, reserve)...)
	b = append(b, q.begin...)
	if c.System != nil {
		b = message(b, []byte(`"system"`), c.System)
	}
	for _, t := range c.Turns {
		b = message(b, t.Role, t.Content)
	}
	b = append(b, `{"role":"user","content":`...)
	if c.Image == nil {
		b = append(b, c.Prompt...)
		b = finish(b, c, stream)
		r.buf, r.used = b, 1
		r.parts[0] = q.seal(b, lead, len(b)-lead)
		return r
	}
	image := c.Image[1 : len(c.Image)-1]
	b = append(b, `[{"type":"text","text":`...)
	b = append(b, c.Prompt...)
	b = append(b, `},{"type":"image_url","image_url":{"url":"data:`...)
	b = append(b, mediaType(image)...)
	b = append(b, `;base64,`...)
	split := len(b)
	if len(image) <= imageInlineBytes {
		b = append(b, image...)
	}
	b = append(b, `"}}]`...)
	b = finish(b, c, stream)
	r.buf = b
	if len(image) <= imageInlineBytes {
		r.parts[0], r.used = q.seal(b, lead, len(b)-lead), 1
		return r
	}
	sealed := q.seal(b, lead, len(b)-lead+len(image))
	r.parts[0], r.parts[1], r.parts[2], r.used = sealed[:len(sealed)-(len(b)-split)], image, b[split:], 3
	return r
}

// seal writes the content length behind the head, and moves the head against the body, which begins at lead.
func (q *requests) seal(b []byte, lead, length int) []byte {
	var text [reserve]byte
	tail := append(strconv.AppendInt(text[:0], int64(length), 10), "\r\n\r\n"...)
	from := lead - len(tail) - len(q.head)
	copy(b[from:], q.head)
	copy(b[lead-len(tail):], tail)
	return b[from:]
}

// release makes r's storage available again.
func (q *requests) release(r *request) {
	clear(r.parts[:])
	if cap(r.buf) <= requestKeptBytes {
		q.pool.Put(r)
	}
}

// message appends a turn and a comma.
func message(b, role, content []byte) []byte {
	b = append(b, `{"role":`...)
	b = append(b, role...)
	b = append(b, `,"content":`...)
	b = append(b, content...)
	return append(b, "},"...)
}

// finish appends what follows the content of the last message.
func finish(b []byte, c *Chat, stream bool) []byte {
	b = append(b, "}]"...)
	if c.MaxTokens > 0 {
		b = append(b, `,"max_tokens":`...)
		b = strconv.AppendInt(b, c.MaxTokens, 10)
	}
	if c.Temperature != nil {
		b = append(b, `,"temperature":`...)
		b = append(b, c.Temperature...)
	}
	if stream {
		b = append(b, streamMembers...)
	}
	return append(b, '}')
}

// mediaType tells the format of an image from the start of its base64 text. Data URLs need one; servers look at the bytes.
func mediaType(base64 []byte) string {
	for _, known := range []struct{ start, mediaType string }{
		{"/9j/", "image/jpeg"},
		{`\/9j\/`, "image/jpeg"},
		{"R0lG", "image/gif"},
		{"UklG", "image/webp"},
	} {
		if bytes.HasPrefix(base64, []byte(known.start)) {
			return known.mediaType
		}
	}
	return "image/png"
}

// Estimate is the token count of the prompt where nobody has counted: one for every four bytes of escaped text, rounded
// up. Images count nothing.
func (c *Chat) Estimate() int64 {
	if c.Raw != nil {
		return estimate(c.Raw.TextBytes)
	}
	n := inside(c.Prompt) + inside(c.System)
	for _, t := range c.Turns {
		n += inside(t.Content)
	}
	return estimate(n)
}

// Estimate is the number of tokens in so many bytes of text where nobody has counted.
func Estimate(textBytes int) int64 { return estimate(textBytes) }

func estimate(textBytes int) int64 { return int64((textBytes + bytesPerToken - 1) / bytesPerToken) }

// inside is the length of a literal without its quotes.
func inside(literal []byte) int { return max(0, len(literal)-2) }
