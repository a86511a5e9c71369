package api

import (
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Catalog answers GET /api/v1: every model, whether or not the caller may ask it.
func (a *API) Catalog(c *call.Call) (call.Answer, error) {
	return encode(wire.ModelCatalog{Object: "list", Version: "v1", Models: models(c, func(plane.Model) bool { return true })})
}

// Models answers GET /api/v1/models: the models in the caller's scope.
func (a *API) Models(c *call.Call) (call.Answer, error) {
	return encode(wire.Models{Models: models(c, func(m plane.Model) bool { return route.Allows(c.Caller, m) })})
}

func models(c *call.Call, wanted func(plane.Model) bool) []wire.Model {
	list := []wire.Model{}
	for _, m := range route.Models(c.Config) {
		if !wanted(m) {
			continue
		}
		entry := wire.Model{
			ID: m.ID, Family: m.Family, Tasks: m.Tasks, Backend: route.Backend(c.Config, m), Available: true,
			Streaming: route.Streams(c.Config, m),
		}
		if entry.Tasks == nil {
			entry.Tasks = []string{}
		}
		if why := route.Unserved(c.Config, c.Caller, m); why != "" {
			entry.Available, entry.Detail = false, &why
		}
		list = append(list, entry)
	}
	return list
}
