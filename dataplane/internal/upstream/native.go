package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"unicode/utf8"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
)

// The dialect native is the gateway's own contract: a POST of our JSON to our path behind /api/v1, answered by our JSON, or by
// our events where we stream. X-Account-Id says whose call it is.

// Native asks for a whole answer. It is JSON by its content type; what it says is for the caller to check.
func (s *Service) Native(ctx context.Context, path, account string, body []byte) ([]byte, error) {
	reply, err := s.Do(ctx, &Exchange{Path: path, Body: body, Accept: "application/json", Account: account})
	return reply.Body, err
}

// Each looks at one event of a stream, a JSON object, before the client gets it. It returns the object as it is to be sent, on
// one line, or says what is wrong with it.
type Each func(event []byte) (sent []byte, wrong string)

// NativeCall asks a server for a stream.
type NativeCall struct {
	Path, Account string
	Body          []byte
	Each          Each
	Prompt        int64  // tokens of the prompt, estimated; 0 where nobody has
	Budget        Budget // nil is without end
}

// NativeStream asks for a stream. The service answers with events, which are passed on as they come until its [DONE], or with one
// JSON object, which is the only event. An event of the type "error" ends the stream with its detail.
//
// With a budget the stream ends where that does: a delta counts as a token, beside those of the prompt.
func (s *Service) NativeStream(ctx context.Context, q *NativeCall) (call.Stream, error) {
	t := &stream{server: &s.server, ctx: ctx, began: s.begin(), each: q.Each, budget: q.Budget, in: q.Prompt}
	request := s.request(&Exchange{Path: q.Path, Body: q.Body, Accept: "text/event-stream, application/json", Account: q.Account})
	conn, err := s.host.Exchange(ctx, request, transport.Times{
		Connect: s.timeouts.Connect, Head: min(s.timeouts.Head, s.timeouts.Total), Patience: s.keepAlive,
	})
	if err == nil {
		t.conn = conn
		err = t.open()
	}
	if err != nil {
		f := s.broken(ctx, err)
		t.result = f.result
		t.Close()
		return nil, f.classed()
	}
	return t, nil
}

// copied judges an event that is passed on.
func (t *stream) copied(data []byte) ([]byte, error) {
	var said struct {
		Type  string `json:"type"`
		Usage *struct {
			TokensIn  int64 `json:"tokens_in"`
			TokensOut int64 `json:"tokens_out"`
		} `json:"usage"`
	}
	data = bytes.TrimSpace(data)
	if !utf8.Valid(data) || len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &said) != nil {
		if t.ended && !t.single { // the body ended inside the event
			return nil, t.cut()
		}
		return nil, t.wrong("is not a JSON object")
	}
	if said.Type == "error" {
		return nil, t.reported(data)
	}
	event, wrong := t.each(data)
	if wrong != "" {
		return nil, t.wrong(wrong)
	}
	if said.Type == "delta" {
		t.deltas++
	}
	if said.Usage != nil {
		t.usage = &call.Usage{TokensIn: max(said.Usage.TokensIn, 0), TokensOut: max(said.Usage.TokensOut, 0), Source: plane.SourceProvider}
	}
	return event, nil
}

func (t *stream) wrong(what string) error {
	return t.server.bad(ResultInvalid, "sent an answer that %s. This is for the gateway's operator to fix.", what)
}

// whole returns the event that the whole body is, once all of it has come.
func (t *stream) whole() ([]byte, error) {
	if len(t.rest) > answerBytesMax {
		return nil, t.oversized()
	}
	if !t.ended {
		return nil, nil
	}
	event, err := t.copied(t.rest)
	if err != nil {
		return nil, err
	}
	t.rest, t.done = nil, true
	t.came()
	return event, nil
}
