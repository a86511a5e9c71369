package fault

import (
	"slices"
	"strings"

	"modelgate.internal/bench/internal/mockmodel/openai"
)

// timing are the scenarios that are correct but slow, silent or long.
func timing() []Scenario {
	hold := duration("for", "10m", "how long to stay silent")
	return []Scenario{
		{Name: "normal", Doc: "the answer without any fault", run: Normal},
		{Name: "slow-head", Doc: "nothing, not even the head, for a while; then the normal answer", Params: []Param{
			duration("delay", "1s", "time before the head"),
		}, run: runSlowHead},
		{Name: "slow-first", Doc: "the head at once, the first event (or the body) late", Params: []Param{
			duration("delay", "1s", "time between head and first event"),
		}, run: runSlowFirst},
		{Name: "slow-events", Doc: "a long time between events; a unary body comes in eight parts", Params: []Param{
			duration("delay", "1s", "time before each event after the first"),
		}, run: runSlowEvents},
		{Name: "silent", Doc: "the head, then nothing, then the end of the connection", Breaks: true, Params: []Param{hold}, run: runSilent},
		{Name: "silent-head", Doc: "not even a head, then the end of the connection", Breaks: true, Params: []Param{hold}, run: runSilentHead},
		{Name: "stall-after", Doc: "some events, then nothing, then the end; half of a unary body", Breaks: true, Params: []Param{
			count("n", "3", "events before the silence"), hold,
		}, run: runStallAfter},
		{Name: "many-tokens", Doc: "a very long answer", Params: []Param{
			count("n", "1000", "content tokens"),
			duration("delay", "0", "time between tokens"),
		}, run: runManyTokens},
		{Name: "huge-unary", Doc: "one big text: a unary body, or one content event in a stream", Params: []Param{
			count("bytes", "10000000", "length of the text in bytes"),
		}, run: runHuge},
	}
}

func runSlowHead(x *Exchange) error {
	if err := x.sleep(x.duration("delay")); err != nil {
		return err
	}
	return Normal(x)
}

func runSlowFirst(x *Exchange) error {
	s := x.http()
	h, body := streamHead(), []byte(nil)
	if !x.Request.Stream {
		body, h = x.Answer.JSON(true), jsonHead()
		h.length = len(body)
	}
	if err := x.begin(s, h); err != nil {
		return err
	}
	if err := s.write(nil); err != nil {
		return err
	}
	if err := x.sleep(x.duration("delay")); err != nil {
		return err
	}
	if x.Request.Stream {
		return x.pour(s, lines("\n"), x.payloads())
	}
	x.Entry.Closing()
	return s.write(body)
}

func runSlowEvents(x *Exchange) error {
	delay := x.duration("delay")
	if !x.Request.Stream {
		body := x.Answer.JSON(true)
		return x.sendBody(&splitSink{sink: x.http(), x: x, size: len(body)/8 + 1, wait: delay}, jsonHead(), body)
	}
	return x.send(x.http(), lines("\n"), edit(x.payloads(), func(i int, p payload) []payload {
		if i > 1 {
			p.wait = delay
		}
		return []payload{p}
	}))
}

// openRaw takes the connection and promises a body that chunks will bring.
func (x *Exchange) openRaw() (*rawSink, error) {
	c, err := x.hijack()
	if err != nil {
		return nil, err
	}
	s := &rawSink{c: c, keep: true}
	h := streamHead()
	if !x.Request.Stream {
		s.framing, h = byLength, jsonHead()
		h.length = len(x.Answer.JSON(true))
	}
	return s, x.begin(s, h)
}

// part sends the head and the beginning of the answer: n events of a stream, or half of a unary body.
func (x *Exchange) part(n int) (*rawSink, error) {
	s, err := x.openRaw()
	if err != nil {
		return s, err
	}
	if x.Request.Stream {
		return s, x.pour(s, lines("\n"), first(x.payloads(), n))
	}
	body := x.Answer.JSON(true)
	return s, s.write(body[:len(body)/2])
}

func runSilent(x *Exchange) error {
	if _, err := x.openRaw(); err != nil {
		return err
	}
	return x.forever()
}

func runSilentHead(x *Exchange) error {
	if _, err := x.hijack(); err != nil {
		return err
	}
	return x.forever()
}

func runStallAfter(x *Exchange) error {
	if _, err := x.part(x.count("n")); err != nil {
		return err
	}
	return x.forever()
}

func runManyTokens(x *Exchange) error {
	x.TokenDelay = x.duration("delay")
	n := x.count("n")
	x.Answer.SetText(strings.Repeat(" simulated", n), x.Request.Limit(), nil)
	return Normal(x)
}

func runHuge(x *Exchange) error {
	x.Answer.Tokens, x.Answer.Calls = []string{filler(x.count("bytes"))}, nil
	return Normal(x)
}

// filler is n bytes of plain text.
func filler(n int) string {
	const word = "simulated "
	return strings.Repeat(word, n/len(word)+1)[:n]
}

// edit replaces each payload by what f returns for it; i counts from 1.
func edit(seq stream, f func(i int, p payload) []payload) stream {
	return func(yield func(payload) bool) {
		i := 0
		for p := range seq {
			i++
			for _, out := range f(i, p) {
				if !yield(out) {
					return
				}
			}
		}
	}
}

// first is the first n payloads of a stream.
func first(seq stream, n int) stream {
	return func(yield func(payload) bool) {
		if n == 0 {
			return
		}
		i := 0
		for p := range seq {
			if i++; !yield(p) || i == n {
				return
			}
		}
	}
}

// without leaves out the payloads of some kinds.
func without(seq stream, kinds ...openai.Kind) stream {
	return edit(seq, func(_ int, p payload) []payload {
		if slices.Contains(kinds, p.kind) {
			return nil
		}
		return []payload{p}
	})
}
