package gateway

import "modelgate.internal/dataplane/internal/api"

// Routes are the operations that are built. A new one is a line here, its mark in the contract removed, and a transcript per
// status.
func Routes(a *api.API) []Route {
	return []Route{
		{ID: "modelCatalog", Handle: a.Catalog},
		{ID: "listModels", Handle: a.Models},
		{ID: "agent", Handle: a.Agent, Counted: true, Darwin: true, Image: true},
		{ID: "generate", Handle: a.Generate, Counted: true, Image: true},
		{ID: "generateStream", Handle: a.GenerateStream, Counted: true, Image: true},
		{ID: "health", Handle: a.Health, Darwin: true},
	}
}
