package gateway

import (
	"encoding/json"
	"errors"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/encode"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

var errNoDryRun = apierr.New(apierr.BadRequest,
	"This operation has no dry run. The agent, generate, stream and chat completions have one; leave out X-Dry-Run.")

// wantsDryRun reports whether the caller wants to know what would happen. Whoever sends the header with any value but a no
// does not want to be charged.
func (x *exchange) wantsDryRun() bool {
	switch string(x.ctx.Request.Header.PeekBytes(dryRunName)) {
	case "", "0", "false":
		return false
	}
	return true
}

// dryRun goes the way of a call as far as the model and answers what it found. The call is neither counted against limits nor
// recorded, and no model server hears of it. What refuses a call before its key is known refuses a dry run, too.
func (x *exchange) dryRun() {
	op := *x.op
	op.ID, op.counted = op.ID+"_dry_run", false
	x.op = &op
	if !op.dry {
		x.refuse(errNoDryRun)
		return
	}
	standings, limited := x.g.o.Peek(x.Ctx, x.Caller.Cells, x.Started)
	x.Trace = &wire.DryRun{
		DryRun: true, Operation: x.Endpoint, ConfigVersion: uint64(x.Config.Version), Caller: callerOf(x.Caller), Limits: []wire.DryRunLimit{},
	}
	for _, s := range standings {
		x.Trace.Limits = append(x.Trace.Limits, wire.DryRunLimit{
			Name: s.Name, Max: s.Limit, WindowSeconds: seconds(s.Window), Remaining: s.Remaining, ResetSeconds: seconds(s.Reset),
		})
	}
	_, refused := op.handle(&x.Call)
	if errors.Is(refused, call.ErrNotAsked) {
		refused = nil
	}
	if limited == nil && refused == nil {
		limited = x.Caller.Cells.Foretell(standings, x.Need)
	}
	x.Trace.Would = wire.DryRunWould{Status: 200}
	if err := x.g.o.CanRecord(); err != nil {
		x.would(errNoMeter)
	} else if limited != nil {
		x.would(limited)
	} else if refused != nil {
		x.would(refused)
	}
	body, err := json.Marshal(x.Trace)
	if err != nil {
		x.fail(err)
		return
	}
	x.whole(&call.Answer{Body: body})
}

// would notes the refusal that the call would get.
func (x *exchange) would(refused error) {
	e := apierr.From(refused)
	w := &x.Trace.Would
	w.Status = form(x.ctx.Path()).Status(e)
	detail := e.Detail
	if len(e.Items) > 0 {
		detail = encode.Violations(e.Items)
	}
	w.Detail = &detail
	if after, ok := e.RetrySeconds(); ok {
		w.RetryAfterSeconds = &after
	}
}

func callerOf(c *call.Caller) wire.DryRunCaller {
	k := wire.DryRunCaller{KeyID: c.KeyID, Kind: string(c.Kind), Families: c.Scope.Families, Tasks: c.Scope.Tasks}
	if c.AppID != "" {
		k.AppID = &c.AppID
	}
	if k.Families == nil {
		k.Families = []string{}
	}
	if k.Tasks == nil {
		k.Tasks = []string{}
	}
	return k
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
