package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Health answers GET /api/v1/health. A node that is not heard by its control plane, or drains, still answers 200: it serves.
func (a *API) Health(c *call.Call) (call.Answer, error) {
	h := wire.Health{Status: "ok", Node: a.o.Node, Version: a.o.Version, Config: a.o.Fresh(), Models: map[string]string{}}
	for id, m := range c.Config.Models {
		h.Models[id] = route.Backend(c.Config, m)
	}
	if a.o.Draining() || !h.Config.Connected || h.Config.AgeSeconds > plane.StreamSilenceMax.Seconds() {
		h.Status = "degraded"
	}
	return encode(h)
}
