package fault

import "time"

// cuts are the scenarios that end before the answer does.
func cuts() []Scenario {
	return []Scenario{
		{Name: "cut-head", Doc: "the connection is closed before the end of the head", Breaks: true, Params: []Param{
			count("bytes", "0", "bytes of the head to send before"),
			count("rst", "0", "1 ends with a TCP reset instead of FIN"),
		}, run: runCutHead},
		{Name: "cut-after", Doc: "some events, then FIN without the end of the body; half of a unary body", Breaks: true, Params: []Param{
			count("n", "3", "events before the cut; the role-only event is the first"),
		}, run: runCutAfter},
		{Name: "rst-after", Doc: "some events, then a TCP reset; half of a unary body", Breaks: true, Params: []Param{
			count("n", "3", "events before the reset"),
			duration("pause", "50ms", "time between the last event and the reset, which may overtake data"),
		}, run: runRSTAfter},
		{Name: "cut-event", Doc: "some events, half an event, then an orderly end of the body", Breaks: true, Params: []Param{
			count("n", "3", "whole events before"),
		}, run: runCutEvent},
		{Name: "drip-head", Doc: "the head one byte at a time, then the normal answer", Params: []Param{
			duration("delay", "20ms", "time between bytes"),
		}, run: runDripHead},
		{Name: "drip-body", Doc: "the body one byte, and in a stream one chunk, at a time", Params: []Param{
			duration("delay", "1ms", "time between bytes"),
		}, run: runDripBody},
		{Name: "split", Doc: "pieces of a few bytes: UTF-8 sequences, escapes and line ends are cut across chunks", Params: []Param{
			count("size", "3", "bytes of a piece"),
			duration("delay", "0", "time between pieces"),
		}, run: runSplit},
	}
}

func runCutHead(x *Exchange) error {
	c, err := x.hijack()
	if err != nil {
		return err
	}
	text := (&rawSink{c: c, keep: true}).headText(streamHead())
	// The last byte is kept back whatever is asked for: with it the head would be whole.
	if _, err := c.Write([]byte(text[:min(x.count("bytes"), len(text)-1)])); err != nil {
		return err
	}
	if x.count("rst") > 0 {
		return c.reset()
	}
	return nil
}

func runCutAfter(x *Exchange) error {
	_, err := x.part(x.count("n"))
	return err
}

func runRSTAfter(x *Exchange) error {
	s, err := x.part(x.count("n"))
	if err != nil {
		return err
	}
	if err := x.sleep(x.duration("pause")); err != nil {
		return err
	}
	return s.c.reset()
}

func runCutEvent(x *Exchange) error {
	if !x.Request.Stream {
		return x.sendBody(x.http(), jsonHead(), half(x.Answer.JSON(true)))
	}
	n := x.count("n")
	return x.send(x.http(), lines("\n"), first(edit(x.payloads(), func(i int, p payload) []payload {
		if i == n+1 {
			p.data, p.verbatim = half(lines("\n")(p.data)), true
		}
		return []payload{p}
	}), n+1))
}

func runDripHead(x *Exchange) error {
	c, err := x.hijack()
	if err != nil {
		return err
	}
	return x.send(&rawSink{c: c, headWait: max(x.duration("delay"), time.Microsecond)}, lines("\n"), x.payloads())
}

func runDripBody(x *Exchange) error {
	x.TokenDelay = 0
	return x.send(&splitSink{sink: x.http(), x: x, size: 1, wait: x.duration("delay")}, lines("\n"), x.payloads())
}

func runSplit(x *Exchange) error {
	x.TokenDelay = 0
	x.Answer.SetText(x.Answer.Text()+awkwardText, x.Request.Limit(), nil)
	s := &splitSink{sink: x.http(), x: x, size: x.count("size"), wait: x.duration("delay")}
	return x.send(s, lines("\n"), escaped(x.payloads()))
}

func half(b []byte) []byte { return b[:len(b)/2] }
