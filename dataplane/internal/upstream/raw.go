package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// Raw is a chat that is put, and answered, in the words of OpenAI's chat completions. The request's members are passed on as
// they are, behind the upstream's own name of the model. Of the answer its choices are, tool calls included, which get ids
// where the server gives none, while what stands around them is written anew: it would tell of the upstream. Literals
// are JSON string literals with their quotes.
type Raw struct {
	Fields    []byte   // members of the request's object but model, stream and stream_options: `"messages":[...],"seed":1`
	Model     []byte   // literal: the model's name in the answer
	ID        []byte   // literal: of the answer
	Created   int64    // Unix seconds: of answers that do not say
	Tools     bool     // tools are offered, so an answer may call them
	Usage     bool     // a stream ends with the provider's count, if there is one
	TextBytes int      // of the text in the messages, for estimates
	MaxTokens int64    // of the answer, as the members say it; 0 if they do not
	Bounds    [][2]int // where Fields say it: from and behind the number, in their order
}

// Lower has the members ask for no more than so many tokens of an answer, where they name a bound.
func (r *Raw) Lower(tokens int64) {
	for _, at := range slices.Backward(r.Bounds) { // what a change moves is behind it
		if n, err := strconv.ParseFloat(string(r.Fields[at[0]:at[1]]), 64); err != nil || n <= float64(tokens) {
			continue
		}
		r.Fields = slices.Concat(r.Fields[:at[0]], strconv.AppendInt(nil, tokens, 10), r.Fields[at[1]:])
	}
}

// buildRaw is build for a chat in the dialect's own words.
func (q *requests) buildRaw(r *request, c *Chat, stream bool) *request {
	lead := len(q.head) + reserve
	b := append(r.buf[:0], q.head...)
	b = append(b, make([]byte, reserve)...)
	b = append(b, q.begin[:len(q.begin)-len(messagesOpen)]...)
	split := len(b)
	if stream {
		b = append(b, streamMembers...)
	}
	b = append(b, '}')
	r.buf = b
	sealed := q.seal(b, lead, len(b)-lead+len(c.Raw.Fields))
	r.parts[0], r.parts[1], r.parts[2], r.used = sealed[:len(sealed)-(len(b)-split)], c.Raw.Fields, b[split:], 3
	return r
}

// envelope is what is kept of an answer or a chunk around and beside its choices.
type envelope struct {
	Created     *float64        `json:"created"` // an integer, which some write as 1.7e9
	Fingerprint json.RawMessage `json:"system_fingerprint"`
	Choices     json.RawMessage `json:"choices"`
	Usage       json.RawMessage `json:"usage"`
}

// open appends the beginning of an answer or a chunk, up to its choices.
func (r *Raw) open(b []byte, object string, e *envelope) []byte {
	b = append(b, `{"id":`...)
	b = append(b, r.ID...)
	b = append(b, `,"object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	created := r.Created
	if e.Created != nil && *e.Created > 0 && *e.Created < 1<<53 {
		created = int64(*e.Created)
	}
	b = strconv.AppendInt(b, created, 10)
	b = append(b, `,"model":`...)
	b = append(b, r.Model...)
	if len(e.Fingerprint) > 0 && e.Fingerprint[0] == '"' {
		b = append(b, `,"system_fingerprint":`...)
		b = append(b, e.Fingerprint...)
	}
	return append(b, `,"choices":`...)
}

// rawWhole is whole for a chat in the dialect's own words.
func (s *ChatServer) rawWhole(c *Chat, body []byte) (Whole, error) {
	var e envelope
	w, err := readWhole(body)
	if err == nil {
		err = c.Raw.allow(w.called, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil {
		return Whole{}, s.content(err)
	}
	if w.called {
		e.Choices = c.Raw.identify(e.Choices, "message", func(int) bool { return false })
	}
	b := make([]byte, 0, len(e.Choices)+len(e.Usage)+200)
	b = append(c.Raw.open(b, "chat.completion", &e), e.Choices...)
	if w.usage == nil {
		w.usage = &call.Usage{TokensIn: c.Estimate(), TokensOut: estimate(len(e.Choices)), Source: plane.SourceEstimated}
	} else {
		b = append(b, `,"usage":`...)
		b = append(b, e.Usage...)
	}
	return Whole{Text: append(b, '}'), Use: *w.usage}, nil
}

// allow checks what is passed on without being looked at.
func (r *Raw) allow(called bool, data []byte) error {
	switch {
	case called && !r.Tools:
		return errTools
	case !utf8.Valid(data):
		return errText
	}
	return nil
}

// rawStream rewrites the chunks of a stream.
type rawStream struct {
	Raw                    // without its fields: they are of the request, which is large
	frames []byte          // events that Relay has not taken yet
	usage  json.RawMessage // the provider's count as it came last
	last   envelope        // of the latest chunk
	calls  []int           // numbers of the tool calls that have begun
}

// callBegun reports whether a part of a tool call has come, and notes that one has.
func (r *rawStream) callBegun(number int) bool {
	if slices.Contains(r.calls, number) || len(r.calls) >= toolCallsMax {
		return true
	}
	r.calls = append(r.calls, number)
	return false
}

// add rewrites a chunk. It returns something that is not empty when the chunk has output, with which the answer begins: what
// comes before that, such as the role, waits for it, because another server can still be asked.
func (r *rawStream) add(data []byte, c *chunk) (output []byte, err error) {
	if err := r.allow(c.called, data); err != nil {
		return nil, err
	}
	e := envelope{}
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotChunk, err)
	}
	if c.usage != nil {
		r.usage = oneLine(e.Usage)
	}
	if c.called && (bytes.Contains(e.Choices, []byte(`"id"`)) || bytes.Contains(e.Choices, []byte(`"name"`))) { // not only arguments
		e.Choices = r.identify(e.Choices, "delta", r.callBegun)
	}
	if c.choices > 0 {
		r.event(&e, e.Choices, nil)
	}
	r.last = e
	switch {
	case len(c.text) > 0:
		return c.text, nil
	case c.called || c.thought || len(r.frames) > heldBytesMax:
		return data, nil
	}
	return []byte{}, nil
}

// event appends an event. A caller who wants the count gets null in the chunks before it.
func (r *rawStream) event(e *envelope, choices, usage json.RawMessage) {
	b := append(r.frames, "data: "...)
	b = append(r.open(b, "chat.completion.chunk", e), oneLine(choices)...)
	if r.Usage {
		b = append(b, `,"usage":`...)
		if usage == nil {
			usage = json.RawMessage("null")
		}
		b = append(b, usage...)
	}
	r.frames = append(b, "}\n\n"...)
}

// drain hands over what there is.
func (r *rawStream) drain(w *sse.Writer) {
	w.Frames(r.frames)
	if r.frames = r.frames[:0]; cap(r.frames) > framesKeptBytes {
		r.frames = nil
	}
}

// finish hands over the rest of an answer that ended well.
func (r *rawStream) finish(w *sse.Writer) {
	if r.Usage && r.usage != nil {
		r.event(&r.last, json.RawMessage("[]"), r.usage)
	}
	r.drain(w)
}

// oneLine takes line breaks out of JSON, where they can only be white space; an event has none.
func oneLine(value json.RawMessage) json.RawMessage {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}
