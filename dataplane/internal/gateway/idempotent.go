package gateway

import (
	"log/slog"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/replay"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// What became of a request with an Idempotency-Key.
const (
	onceFirst    = "first"    // it is the one that makes the call
	onceReplayed = "replayed" // the result was there
	onceJoined   = "joined"   // it waited for the result of a call that was running
	onceConflict = "conflict" // the key stands for another request, or for a result that was not kept
	onceRefused  = "refused"  // it is no key, or one too many
	onceAway     = "unavailable"
	onceEnded    = "ended"  // it ended while it waited
	onceUnkept   = "unkept" // it made the call, and its result could not be kept; counted besides "first"
)

// once is what there is under the Idempotency-Key of a request.
type once struct {
	outcome string
	held    *replay.Held // of the one that makes the call
	tape    *replay.Tape // of its stream
}

func (o *once) replayed() bool { return o.outcome == onceReplayed || o.outcome == onceJoined }

var errTwoKeys = apierr.New(apierr.BadRequest, "Send one Idempotency-Key header. Which of several counts, proxies would not agree on.")

// claim asks for the right to make the call, if it has an Idempotency-Key, and reports whether the request is answered: with what the
// first call under the key was answered with, or with a refusal. What the handler would refuse has no claim and is left to it.
func (x *exchange) claim() (answered bool) {
	texts := x.ctx.Request.Header.PeekAll("Idempotency-Key")
	if len(texts) == 0 {
		return false
	}
	x.once = &once{}
	err := replay.Check(texts[0])
	if len(texts) > 1 {
		err = errTwoKeys
	}
	if err != nil {
		x.became(onceRefused)
		x.refuse(err)
		return true
	}
	stream, backend, err := x.op.once(&x.Call)
	if err != nil {
		x.once = nil
		return false
	}
	if x.g.o.Claim == nil {
		return x.unclaimed(replay.ErrAway)
	}
	c, err := x.g.o.Claim(x.Ctx, x.Caller.Principal, texts[0], x.Body)
	outcome := onceReplayed
	if err == nil && c.Held == nil && c.Result == nil {
		outcome = onceJoined
		if stream {
			x.replay(outcome)
			x.Facts.Backend = backend
			x.stream(c.Stream(func(idle func() error) error { return c.Wait(x.Ctx, true, x.seldom(idle)) }))
			return true
		}
		err = c.Wait(x.Ctx, false, func() error { return nil })
	}
	switch {
	case err != nil:
		return x.unclaimed(err)
	case c.Held != nil:
		x.once.held = c.Held
		x.became(onceFirst)
		return false
	}
	x.replay(outcome)
	x.Facts.Backend = c.Result.Backend
	if c.Result.Stream {
		x.stream(c.Stream(nil))
	} else {
		x.whole(&call.Answer{Body: c.Result.Body, Media: c.Result.Media})
	}
	return true
}

// seldom calls idle when nothing was sent for the keep-alive interval.
func (x *exchange) seldom(idle func() error) func() error {
	last := x.g.o.Now()
	return func() error {
		now := x.g.o.Now()
		if every := x.g.o.KeepAlive; every == 0 || now.Sub(last) < every {
			return nil
		}
		last = now
		return idle()
	}
}

// unclaimed answers a request whose claim failed.
func (x *exchange) unclaimed(err error) bool {
	switch kind := apierr.From(err).Kind; {
	case x.Ctx.Err() != nil:
		x.became(onceEnded)
	case kind == apierr.Conflict:
		x.became(onceConflict)
	case kind == apierr.Limited:
		x.became(onceRefused)
	default:
		x.became(onceAway)
	}
	x.fail(err)
	return true
}

// replay makes of the call one that costs nothing and is no usage.
func (x *exchange) replay(outcome string) {
	op := *x.op
	op.ID, op.counted = op.ID+"_replay", false
	x.op = &op
	x.became(outcome)
}

func (x *exchange) became(outcome string) {
	x.once.outcome = outcome
	x.g.o.Metrics.once.Of(outcome).Inc()
}

// record returns a stream that remembers its events if they are to be kept.
func (o *once) record(s call.Stream) call.Stream {
	if o.held == nil {
		return s
	}
	o.tape = replay.Record(s)
	return o.tape
}

// keepWhole keeps the answer of the call that holds the claim.
func (x *exchange) keepWhole(answer *call.Answer) {
	result := &plane.ReplayResult{Media: answer.Media, Backend: x.Facts.Backend, Body: answer.Body}
	if len(answer.Body) > plane.ReplayBytesMax {
		result = nil
	}
	x.keep(result)
}

// keepStream keeps the events of the call that holds the claim, if it ended well.
func (x *exchange) keepStream(out *call.Outcome) {
	if x.once.tape == nil {
		return
	}
	if out.End != plane.EndDone || out.Err != nil {
		x.freed()
		return
	}
	frames, ok := x.once.tape.Frames()
	if !ok {
		x.keep(nil)
		return
	}
	x.keep(&plane.ReplayResult{Stream: true, Backend: x.Facts.Backend, Body: frames})
}

// keep keeps a result, nil for one that is too large. The answer leaves whether or not that works: the model has served it.
func (x *exchange) keep(result *plane.ReplayResult) {
	if x.once.held == nil {
		return
	}
	if err := x.once.held.Keep(result); err != nil {
		x.g.o.Metrics.once.Of(onceUnkept).Inc()
		x.g.o.Log.Warn("result of an idempotent call is not kept", slog.String("request_id", x.ID), slog.Any("error", err))
	}
}

// freed lets go of the claim of a call that did not end well.
func (x *exchange) freed() {
	if x.once != nil && x.once.held != nil {
		x.once.held.Free()
	}
}
