package gateway

import (
	"log/slog"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// log writes the canonical line of a call that ended at now. Bodies and credentials are never in it.
func (x *exchange) log(status int, out *call.Outcome, now time.Time) {
	level := slog.LevelInfo
	if out.Err != nil && out.End != plane.EndClientGone && apierr.From(out.Err).Kind == apierr.Internal {
		level = slog.LevelError
	}
	line := x.g.o.Calls.Line(now, level)
	if line == nil {
		return
	}
	line.String("request_id", x.ID)
	line.String("operation", x.operation())
	line.Int("status", int64(status))
	line.String("end", out.End)
	line.Duration("took", max(now.Sub(x.Started), 0))
	if x.op == nil {
		line.String("method", short(x.ctx.Method()))
		line.String("path", short(x.ctx.Path()))
	}
	if x.Caller != nil {
		line.String("key_id", x.Caller.KeyID)
		line.String("app_id", x.Caller.AppID)
	}
	if x.Facts.Model != "" {
		line.String("model", x.Facts.Model)
		line.String("task", x.Facts.Task)
		line.String("upstream", x.Facts.Upstream)
		line.Int("attempts", int64(x.Facts.Attempts))
		line.Duration("waited", x.Facts.Waited)
		line.Int("tokens_in", out.Usage.TokensIn)
		line.Int("tokens_out", out.Usage.TokensOut)
	}
	if !out.First.IsZero() {
		line.Duration("ttft", out.First.Sub(x.Started))
	}
	if x.once != nil {
		line.String("idempotency", x.once.outcome)
	}
	if x.judged {
		line.String("limit", x.verdict.Name)
		line.Int("limit_remaining", x.verdict.Remaining)
	}
	if out.Err != nil {
		line.String("error", out.Err.Error())
	}
	line.End()
}

// short bounds text of the client in the log.
func short(b []byte) string {
	const bytesMax = 200
	return string(b[:min(len(b), bytesMax)])
}
