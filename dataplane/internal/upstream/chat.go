package upstream

import (
	"context"
	"errors"
	"io"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
)

// ChatServer is an upstream that speaks OpenAI's chat completions, over connections of its own. It may be used by many
// goroutines.
type ChatServer struct {
	server
	requests *requests
}

var _ Upstream = (*ChatServer)(nil)

// Ask implements [Upstream]. Tokens that the upstream does not count are estimated: one for every four bytes of
// JSON-escaped text, rounded up, and none for images.
func (s *ChatServer) Ask(ctx context.Context, c *Chat) (Whole, error) {
	began := s.begin()
	answer, err := s.ask(ctx, c)
	if err != nil {
		f := s.broken(ctx, err)
		s.end(began, f.result)
		return Whole{}, f.classed()
	}
	s.end(began, ResultDone)
	return answer, nil
}

func (s *ChatServer) ask(ctx context.Context, c *Chat) (Whole, error) {
	r := s.requests.build(c, false)
	limit := min(s.timeouts.Answer, s.timeouts.Total)
	conn, err := s.host.Exchange(ctx, r.bytes(), transport.Times{Connect: s.timeouts.Connect, Head: limit})
	s.requests.release(r)
	if err != nil {
		return Whole{}, s.lateWhole(err, limit)
	}
	defer conn.Finish()
	if conn.Head.Status != 200 {
		return Whole{}, s.refusal(conn)
	}
	if f := s.unreadable(conn, "application/json"); f != nil {
		return Whole{}, f
	}
	for {
		body, err := conn.Next()
		if len(body) > answerBytesMax {
			return Whole{}, s.overlong(answerBytesMax, "Ask for fewer tokens.")
		}
		if errors.Is(err, io.EOF) {
			return s.whole(c, body)
		}
		if err != nil {
			return Whole{}, s.lateWhole(err, limit)
		}
	}
}

// whole reads the body of an answer.
func (s *ChatServer) whole(c *Chat, body []byte) (Whole, error) {
	if c.Raw != nil {
		return s.rawWhole(c, body)
	}
	var use call.Usage
	if text, ok := scanWhole(body, &use); ok {
		return Whole{Text: literal(text), Use: use}, nil
	}
	w, err := parseWhole(body)
	if err != nil {
		return Whole{}, s.content(err)
	}
	if w.usage == nil {
		w.usage = &call.Usage{TokensIn: c.Estimate(), TokensOut: estimate(len(w.text)), Source: plane.SourceEstimated}
	}
	return Whole{Text: literal(w.text), Use: *w.usage}, nil
}

// Open implements [Upstream].
func (s *ChatServer) Open(ctx context.Context, c *Chat) (call.Stream, error) {
	t := &stream{server: &s.server, ctx: ctx, began: s.begin(), in: c.Estimate(), budget: c.Budget}
	if c.Raw != nil {
		t.raw = &rawStream{Raw: *c.Raw}
		t.raw.Fields, t.raw.Bounds = nil, nil
	}
	r := s.requests.build(c, true)
	conn, err := s.host.Exchange(ctx, r.bytes(), transport.Times{
		Connect: s.timeouts.Connect, Head: min(s.timeouts.Head, s.timeouts.Total), Patience: s.keepAlive,
	})
	s.requests.release(r)
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
