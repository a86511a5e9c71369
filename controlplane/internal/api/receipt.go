package api

import (
	"context"
	"net/http"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Nodes is what the handlers ask about the gateway nodes.
type Nodes interface {
	// Await waits for the nodes to serve by a version, for a bounded time.
	Await(ctx context.Context, version plane.Version) (node.Receipt, error)
}

// waitQuery is the parameter of what changes the configuration of the nodes.
type waitQuery struct {
	Wait string `json:"wait" bind:"enum=none|nodes,default=none"`
}

// waitOf reports whether the request asks to wait for the nodes.
func waitOf(r *http.Request) (bool, error) {
	var q waitQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return false, err
	}
	return q.Wait == "nodes", nil
}

// receipt waits for the nodes to serve by the version and says which do. The change is made and stays made: if nothing is
// known of the nodes, the receipt says that.
func (a *API) receipt(r *http.Request, wait bool, version plane.Version) *wire.Receipt {
	if !wait {
		return nil
	}
	answer := &wire.Receipt{Nodes: []wire.NodeApplied{}, Missing: []wire.NodeMissing{}}
	got, err := a.Nodes.Await(r.Context(), version)
	if err != nil {
		answer.Detail = "The change is made, but it could not be seen which nodes serve by it."
		return answer
	}
	for _, n := range got.Nodes {
		answer.Nodes = append(answer.Nodes, wire.NodeApplied{Name: n.Name, Version: uint64(n.Version), MS: n.After.Milliseconds()})
	}
	for _, n := range got.Missing {
		answer.Missing = append(answer.Missing, wire.NodeMissing{Name: n.Name, Live: n.Live})
	}
	answer.Complete = len(got.Missing) == 0
	return answer
}

// onceOf is the Idempotency-Key of a request for the operation, nil without one. The path's ids and the body are what tells
// requests apart.
func onceOf(r *http.Request, operation string, body []byte) (*app.Once, error) {
	return app.NewOnce(r.Header.Get("Idempotency-Key"), operation, r.PathValue("app_id"), r.PathValue("key_id"), string(body))
}
