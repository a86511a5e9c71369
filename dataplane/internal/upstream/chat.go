package upstream

import (
	"context"
	"errors"
	"io"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
)

// ChatServer is an upstream that speaks OpenAI's chat completions, over connections of its own. It may be used by many
// goroutines.
type ChatServer struct {
	id, model  string
	base       base
	credential string
	timeouts   Timeouts
	keepAlive  time.Duration
	now        func() time.Time
	observer   Observer
	host       *transport.Host
	requests   *requests
}

var _ Upstream = (*ChatServer)(nil)

func newChatServer(spec plane.UpstreamSpec, b base, credential string, o Options) *ChatServer {
	return &ChatServer{
		id: spec.ID, model: spec.Model, base: b, credential: credential,
		timeouts: o.Timeouts.withDefaults(), keepAlive: o.KeepAlive, now: o.Now, observer: o.Observer,
		host: newHost(b, o), requests: newRequests(spec, b, credential),
	}
}

// Close closes the idle connections, and those of running calls as they end. Calls that still come are served.
func (s *ChatServer) Close() { s.host.Close() }

// Connections returns the number of idle and of busy connections.
func (s *ChatServer) Connections() (idle, busy int) { return s.host.Counts() }

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
			return Whole{}, s.bad(ResultInvalid, "sent an answer over %d MiB. Ask for fewer tokens.", answerBytesMax>>20)
		}
		if errors.Is(err, io.EOF) {
			return s.whole(c, body)
		}
		if err != nil {
			return Whole{}, s.lateWhole(err, limit)
		}
	}
}

// lateWhole gives a timeout on the way of a whole answer its name.
func (s *ChatServer) lateWhole(err error, limit time.Duration) error {
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Phase != transport.Connect && e.Timeout() {
		return s.late("did not finish its answer", limit)
	}
	return err
}

// whole reads the body of an answer.
func (s *ChatServer) whole(c *Chat, body []byte) (Whole, error) {
	var use call.Usage
	if text, ok := scanWhole(body, &use); ok {
		return Whole{Text: literal(text), Use: use}, nil
	}
	w, err := parseWhole(body)
	if err != nil {
		return Whole{}, s.content(err)
	}
	if w.usage == nil {
		w.usage = &call.Usage{TokensIn: c.estimate(), TokensOut: estimate(len(w.text)), Source: plane.SourceEstimated}
	}
	return Whole{Text: literal(w.text), Use: *w.usage}, nil
}

// unreadable says why the body of a good status cannot be read, or nil.
func (s *ChatServer) unreadable(conn *transport.Conn, mediaType string) *fault {
	if conn.Head.Encoded {
		return s.bad(ResultInvalid, "sent a compressed answer that was not asked for. This is for the gateway's operator to fix.")
	}
	if !conn.Head.Is(mediaType) {
		return s.bad(ResultInvalid, "answered with another content type than %s. This is for the gateway's operator to fix.", mediaType)
	}
	return nil
}

// Open implements [Upstream].
func (s *ChatServer) Open(ctx context.Context, c *Chat) (call.Stream, error) {
	t := &stream{server: s, ctx: ctx, began: s.begin(), in: c.estimate()}
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

// begin counts a call in and returns when it began.
func (s *ChatServer) begin() time.Time {
	if s.observer.InFlight != nil {
		s.observer.InFlight(s.id, 1)
	}
	return s.now()
}

// end counts a call out.
func (s *ChatServer) end(began time.Time, result string) {
	if s.observer.InFlight != nil {
		s.observer.InFlight(s.id, -1)
	}
	if s.observer.Ended != nil {
		s.observer.Ended(s.id, result, s.now().Sub(began))
	}
}
