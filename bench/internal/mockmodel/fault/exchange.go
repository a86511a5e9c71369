package fault

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/bench/internal/mockmodel/openai"
)

// bigBodyBytes is the size from which writing a body takes time.
const bigBodyBytes = 64 << 10

// Exchange is one request with everything that is needed to answer it.
type Exchange struct {
	W http.ResponseWriter
	// Ctx ends when the caller leaves or the server stops.
	Ctx context.Context
	// Leave ends Ctx; the watcher of a hijacked connection calls it.
	Leave func()
	// Entry takes notes.
	Entry   *journal.Entry
	Request *openai.Request
	Answer  *openai.Answer
	// TokenDelay is the time between two content events, FirstDelay the time before the answer's head.
	TokenDelay, FirstDelay time.Duration

	values map[string]string
	raw    *rawConn
}

// payload is one event of a stream before it is framed.
type payload struct {
	kind openai.Kind
	data []byte
	// wait is slept before the payload is written.
	wait time.Duration
	// verbatim data goes out without SSE framing; events is how many events it holds.
	verbatim bool
	events   int
}

// kindDone is the payload "[DONE]", which ends a stream.
const kindDone openai.Kind = -1

// stream is a sequence of payloads.
type stream = iter.Seq[payload]

// payloads is the normal stream of the answer: its chunks at the configured pace, then [DONE].
func (x *Exchange) payloads() stream {
	return func(yield func(payload) bool) {
		content := 0
		for c := range x.Answer.Chunks(x.Request.WantsUsage()) {
			p := payload{kind: c.Kind, data: c.Data}
			if c.Kind == openai.KindContent {
				if content++; content > 1 {
					p.wait = x.TokenDelay
				}
			}
			if !yield(p) {
				return
			}
		}
		yield(payload{kind: kindDone, data: []byte("[DONE]")})
	}
}

// send answers through a sink: a stream if the caller asked for one, otherwise the unary JSON.
func (x *Exchange) send(s sink, frame framer, seq stream) error {
	if !x.Request.Stream {
		return x.sendBody(s, jsonHead(), x.Answer.JSON(true))
	}
	if err := x.begin(s, streamHead()); err != nil {
		return err
	}
	if err := x.pour(s, frame, seq); err != nil {
		return err
	}
	x.Entry.Closing()
	return s.end()
}

// begin waits the first delay and sends the head.
func (x *Exchange) begin(s sink, h head) error {
	if err := x.sleep(x.FirstDelay); err != nil {
		return err
	}
	x.Entry.Status(h.status)
	return s.begin(h)
}

// pour writes payloads without beginning or ending the answer.
func (x *Exchange) pour(s sink, frame framer, seq stream) error {
	for p := range seq {
		if err := x.sleep(p.wait); err != nil {
			return err
		}
		data := p.data
		if !p.verbatim {
			data, p.events = frame(p.data), 1
		}
		if p.kind == kindDone {
			x.Entry.Closing()
		}
		if err := s.write(data); err != nil {
			x.Leave()
			return err
		}
		x.Entry.Events(p.events)
	}
	return nil
}

// sendBody sends a whole body with its length. Of a body that takes time only the last byte counts as its end, so
// that a caller who leaves before is noticed.
func (x *Exchange) sendBody(s sink, h head, body []byte) error {
	if h.length == lengthOfBody {
		h.length = len(body)
	}
	if err := x.begin(s, h); err != nil {
		return err
	}
	if _, slow := s.(*splitSink); slow || len(body) > bigBodyBytes {
		if err := s.write(body[:len(body)-1]); err != nil {
			x.Leave()
			return err
		}
		body = body[len(body)-1:]
	}
	x.Entry.Closing()
	if err := s.write(body); err != nil {
		return err
	}
	return s.end()
}

// sleep waits, or returns early with the reason why the exchange ended.
func (x *Exchange) sleep(d time.Duration) error {
	if d <= 0 {
		return x.Ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-x.Ctx.Done():
		return x.Ctx.Err()
	case <-timer.C:
		return nil
	}
}

// forever waits until the caller leaves, at most for the parameter "for".
func (x *Exchange) forever() error { return x.sleep(x.duration("for")) }

func (x *Exchange) count(name string) int {
	n, err := parseCount(x.value(name))
	if err != nil {
		panic("BUG: parameter was not judged: " + err.Error())
	}
	return n
}

func (x *Exchange) duration(name string) time.Duration {
	d, err := parseDuration(x.value(name))
	if err != nil {
		panic("BUG: parameter was not judged: " + err.Error())
	}
	return d
}

func (x *Exchange) value(name string) string {
	v, ok := x.values[name]
	if !ok {
		panic(fmt.Sprintf("BUG: scenario does not declare parameter %q", name))
	}
	return v
}
