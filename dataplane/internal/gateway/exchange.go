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
	verdict limit.Verdict
	judged  bool // verdict is filled
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
	if apierr.Ours(err) {
		x.refund()
	}
	x.respondError(err, out)
}

func (x *exchange) respondError(err error, out *call.Outcome) {
	x.release()
	out.Err = err
	status := statusClientGone
	if out.End == plane.EndClientGone {
		x.ctx.SetStatusCode(status)
		x.ctx.SetConnectionClose()
	} else {
		status = encode.Error(&x.ctx.Response, err)
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
	x.g.o.Log.Error("handler panicked", slog.String("request_id", x.ID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	x.ctx.Response.Reset()
	x.ctx.SetConnectionClose()
	x.refund()
	x.respondError(fmt.Errorf("panic: %v", p), &call.Outcome{End: plane.EndFailed, Usage: call.Usage{Source: plane.SourceNone}})
}

// whole answers a body.
func (x *exchange) whole(answer *call.Answer) {
	x.release()
	encode.JSON(&x.ctx.Response, answer.Body)
	x.finish(fasthttp.StatusOK, &call.Outcome{End: plane.EndDone, Usage: answer.Use})
	x.headers()
}

// stream answers a stream. The call lives on until the stream is over.
func (x *exchange) stream(s call.Stream) {
	x.headers()
	x.g.o.Metrics.streams.Inc()
	x.g.streams.Answer(&x.ctx.Response, s, x.streamed)
}

// streamed settles a stream that is over, before its last event leaves.
func (x *exchange) streamed(out *call.Outcome) {
	x.g.o.Metrics.streams.Dec()
	if out.End != plane.EndDone {
		if end, why := x.g.early(x.Ctx); end != "" {
			out.Err, out.End = why, end
		}
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
	x.cancel(nil)
}

func (x *exchange) refund() {
	if !x.judged {
		return
	}
	x.verdict.Refund()
	x.verdict.Remaining++
	x.g.o.Metrics.refunded()
}

// finish accounts for a call that ended: usage, metrics, and the one line of the log.
func (x *exchange) finish(status int, out *call.Outcome) {
	now := x.g.o.Now()
	if x.op != nil && x.op.counted && x.Caller != nil {
		if err := x.g.o.Record(&x.Call, status, out, now); err != nil {
			x.g.o.Metrics.unrecorded.Inc()
			x.g.o.Log.Error("call is not recorded", slog.String("request_id", x.ID), slog.Any("error", err))
		}
	}
	took := max(now.Sub(x.Started), 0)
	x.g.o.Metrics.observe(x, status, out, took)
	x.log(status, out, took)
}

// log writes the canonical line of a call. Bodies and credentials are never in it.
func (x *exchange) log(status int, out *call.Outcome, took time.Duration) {
	level := slog.LevelInfo
	if out.Err != nil && out.End != plane.EndClientGone && apierr.From(out.Err).Kind == apierr.Internal {
		level = slog.LevelError
	}
	ctx := context.Background()
	if !x.g.o.Log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs,
		slog.String("request_id", x.ID), slog.String("operation", x.operation()), slog.Int("status", status),
		slog.String("end", out.End), slog.Duration("took", took))
	if x.op == nil {
		attrs = append(attrs, slog.String("method", short(x.ctx.Method())), slog.String("path", short(x.ctx.Path())))
	}
	if x.Caller != nil {
		attrs = append(attrs, slog.String("key_id", x.Caller.KeyID), slog.String("app_id", x.Caller.AppID))
	}
	if x.Facts.Model != "" {
		attrs = append(attrs, slog.String("model", x.Facts.Model), slog.String("task", x.Facts.Task), slog.String("upstream", x.Facts.Upstream),
			slog.Int("attempts", x.Facts.Attempts),
			slog.Duration("waited", x.Facts.Waited), slog.Int64("tokens_in", out.Usage.TokensIn), slog.Int64("tokens_out", out.Usage.TokensOut))
	}
	if !out.First.IsZero() {
		attrs = append(attrs, slog.Duration("ttft", out.First.Sub(x.Started)))
	}
	if x.judged {
		attrs = append(attrs, slog.String("limit", x.verdict.Name), slog.Int64("limit_remaining", x.verdict.Remaining))
	}
	if out.Err != nil {
		attrs = append(attrs, slog.String("error", out.Err.Error()))
	}
	x.g.o.Log.LogAttrs(ctx, level, "request", attrs...)
}

// operation is the label of logs and metrics.
func (x *exchange) operation() string {
	if x.op == nil {
		return unmatched
	}
	return x.op.ID
}

const unmatched = "unmatched"

// short bounds text of the client in the log.
func short(b []byte) string {
	const bytesMax = 200
	return string(b[:min(len(b), bytesMax)])
}

// Refuse answers requests that the listener could not parse or that broke a handler. It implements the listener's contract.
func (g *Gateway) Refuse(ctx *fasthttp.RequestCtx, err *apierr.Error) {
	x := &exchange{g: g, ctx: ctx}
	x.Started = g.o.Now()
	x.ID = newRequestID(x.Started)
	x.Config = g.o.Current()
	x.refuse(err)
}
