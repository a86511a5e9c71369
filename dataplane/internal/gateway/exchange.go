package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/encode"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// statusClientGone is how a call is recorded whose client did not wait for the answer, as nginx does it. Nobody reads it.
const statusClientGone = 499

// exchange is one request and its answer.
type exchange struct {
	call.Call
	g       *Gateway
	ctx     *fasthttp.RequestCtx
	op      *operation // nil when the path is unknown
	conn    *listener.Conn
	cancel  context.CancelCauseFunc // nil before begin
	detach  func() bool             // stops the end of the call from ending its upload; nil without one
	verdict limit.Verdict
	judged  bool         // verdict is filled
	ended   time.Time    // zero while it runs
	steps   settled      // of its end
	outcome call.Outcome // of a whole answer
	once    *once        // nil without an Idempotency-Key
}

// refuse answers an error that came before the handler was asked.
func (x *exchange) refuse(err error) {
	x.respondError(err, &call.Outcome{End: plane.EndRefused, Usage: call.Usage{Source: plane.SourceNone}})
}

// fail answers an error of the handler. When the call's context ended, that is the reason, whatever the handler made of it.
func (x *exchange) fail(err error) {
	out := &call.Outcome{End: plane.EndFailed, Usage: call.Usage{Source: plane.SourceNone}}
	if x.Facts.Attempts == 0 { // no upstream was asked
		out.End = plane.EndRefused
	}
	if end, why := x.g.early(x.Ctx); end != "" {
		err, out.End = why, end
	}
	switch {
	case apierr.Ours(err):
		x.refund()
	case out.End == plane.EndRefused: // usage does not count it against the day either
		x.verdict.RefundDay()
	}
	x.respondError(err, out)
}

// settle ends the reservation of model tokens by what the call has used. Of a failure of ours that is nothing.
func (x *exchange) settle(out *call.Outcome) {
	if x.Tokens == nil {
		return
	}
	if out.Limit != "" {
		x.g.o.Metrics.kinds.Of(judgement{out.Limit, outcomeReached}).Inc()
	}
	if refused := x.Tokens.Refused(); refused != "" {
		x.g.o.Metrics.kinds.Of(judgement{refused, outcomeRefused}).Inc()
	}
	used := out.Usage.TokensIn + out.Usage.TokensOut
	if out.First.IsZero() && apierr.Ours(out.Err) {
		used = 0
	}
	x.Tokens.Settle(used)
}

func (x *exchange) respondError(err error, out *call.Outcome) {
	x.release()
	x.freed()
	out.Err = err
	status := statusClientGone
	if out.End == plane.EndClientGone {
		x.ctx.SetStatusCode(status)
		x.ctx.SetConnectionClose()
	} else {
		status = encode.Error(&x.ctx.Response, err, form(x.ctx.Path()))
	}
	if allow, ok := allowOf(err); ok {
		x.ctx.Response.Header.Set("Allow", allow)
	}
	x.finish(status, out)
	x.headers()
}

// recover answers a panic of a handler with 500. The stack goes to the log.
func (x *exchange) recover() {
	p := recover()
	if p == nil {
		return
	}
	x.panicked(p)
	x.ctx.Response.Reset()
	x.ctx.SetConnectionClose()
	x.refund()
	x.respondError(fmt.Errorf("panic: %v", p), &call.Outcome{End: plane.EndFailed, Usage: call.Usage{Source: plane.SourceNone}})
}

func (x *exchange) panicked(p any) {
	x.g.o.Log.Error("handler panicked", slog.String("request_id", x.ID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}

// whole answers a body.
func (x *exchange) whole(answer *call.Answer) {
	x.release()
	if x.once != nil {
		x.keepWhole(answer)
	}
	encode.JSON(&x.ctx.Response, answer.Body)
	if x.g.compressor != nil && !answer.Media {
		x.g.compressor.Compress(&x.ctx.Response, &x.ctx.Request.Header)
	}
	x.outcome = call.Outcome{End: plane.EndDone, Usage: answer.Use}
	x.finish(fasthttp.StatusOK, &x.outcome)
	x.headers()
}

// stream answers a stream. The call lives on until the stream is over.
func (x *exchange) stream(s call.Stream) {
	x.headers()
	if begun, ok := s.(interface{ Began() bool }); ok && begun.Began() {
		x.dropBody()
	}
	if x.once != nil {
		s = x.once.record(s)
	}
	x.g.o.Metrics.streams.Inc()
	x.g.streams.Answer(&x.ctx.Response, s, form(x.ctx.Path()), x.Running, x.streamed)
}

// streamed settles a stream that is over, before its last event leaves. If that panics, the stream has failed, and is settled all the same.
func (x *exchange) streamed(out *call.Outcome) {
	x.g.o.Metrics.streams.Dec()
	defer func() {
		if p := recover(); p != nil {
			x.panicked(p)
			out.End, out.Err = plane.EndFailed, fmt.Errorf("panic: %v", p)
			x.release()
			x.freed()
			x.finish(fasthttp.StatusOK, out)
		}
	}()
	if out.End != plane.EndDone {
		if end, why := x.g.early(x.Ctx); end != "" {
			out.Err, out.End = why, end
		}
	}
	if x.once != nil {
		x.keepStream(out)
	}
	x.release()
	if out.First.IsZero() && apierr.Ours(out.Err) {
		x.refund()
	}
	x.finish(fasthttp.StatusOK, out)
}

// release ends the call's context and lets go of the connection.
func (x *exchange) release() {
	if x.cancel == nil {
		return
	}
	if x.conn != nil {
		x.conn.Unbind()
	}
	if x.detach != nil {
		x.detach()
	}
	x.cancel(nil)
	x.dropBody()
}

func (x *exchange) refund() {
	if x.verdict.Refund() {
		x.g.o.Metrics.refunded()
	}
}

// settled says what of the account of a call was begun, so that a panic on the way does not have it done twice.
type settled struct{ tokens, recorded, observed, logged bool }

// first reports whether a step was not begun before, and marks it.
func first(step *bool) bool {
	begun := *step
	*step = true
	return !begun
}

// finish accounts for a call that ended: usage, metrics, and the one line of the log. When one of them panics, the next finish goes on
// behind it.
func (x *exchange) finish(status int, out *call.Outcome) {
	now := x.g.o.Now()
	x.ended = now
	x.verdict.Done()
	if first(&x.steps.tokens) {
		x.settle(out)
	}
	if first(&x.steps.recorded) {
		x.record(status, out, now)
	}
	if first(&x.steps.observed) {
		x.g.o.Metrics.observe(x, status, out, max(now.Sub(x.Started), 0))
	}
	if first(&x.steps.logged) {
		x.log(status, out, now)
	}
}

// record counts the call as usage, if it is one.
func (x *exchange) record(status int, out *call.Outcome, now time.Time) {
	if x.op == nil || !x.op.counted || x.Caller == nil {
		return
	}
	recorded := false
	defer func() {
		if !recorded { // also when it panics
			x.g.o.Metrics.unrecorded.Inc()
		}
	}()
	err := x.g.o.Record(&x.Call, status, out, now)
	if err != nil {
		x.g.o.Log.Error("call is not recorded", slog.String("request_id", x.ID), slog.Any("error", err))
	}
	recorded = err == nil
}

// operation is the label of logs and metrics.
func (x *exchange) operation() string {
	if x.op == nil {
		return unmatched
	}
	return x.op.ID
}

const unmatched = "unmatched"

// Refuse answers requests that the listener could not parse or that broke a handler. It implements the listener's contract.
func (g *Gateway) Refuse(ctx *fasthttp.RequestCtx, err *apierr.Error) {
	x := &exchange{g: g, ctx: ctx}
	x.Started = g.o.Now()
	x.ID = newRequestID(x.Started)
	x.Config = g.o.Current()
	x.refuse(err)
	allowOrigin(&ctx.Response.Header) // whether a page asked was perhaps not read
}
