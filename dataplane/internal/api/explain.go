package api

import (
	"cmp"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// explain completes the route of a dry run by the servers that would be asked. The error is why none would.
func (a *API) explain(c *call.Call, target route.Target, stream bool) error {
	r := c.Trace.Route
	r.Target, r.Stream = &target.Model.Upstream, stream
	if spec, ok := c.Config.Pools[target.Model.Upstream]; ok {
		policy := cmp.Or(spec.Policy, plane.PolicyP2CEWMA)
		r.Policy = &policy
	}
	members := a.o.Members(target.Model.Upstream, from(c))
	open, soonest := 0, time.Duration(0)
	for _, m := range members {
		r.Members = append(r.Members, wire.DryRunMember{
			Upstream: m.Upstream, State: string(m.State), InFlight: int64(m.InFlight), BackSeconds: int64(m.Back.Round(time.Second) / time.Second),
		})
		if m.State == pool.StateOpen {
			open++
			if soonest == 0 || m.Back < soonest {
				soonest = m.Back
			}
		}
	}
	switch {
	case len(members) == 0:
		return pool.ErrEmpty
	case open == len(members):
		return pool.ErrBroken.After(soonest)
	}
	return nil
}

// trace keeps the model of a dry run.
func trace(c *call.Call, model plane.Model, task string) {
	c.Trace.Route = &wire.DryRunRoute{
		Model: model.ID, Family: model.Family, Task: task, Backend: route.Backend(c.Config, model), Members: []wire.DryRunMember{},
	}
}
