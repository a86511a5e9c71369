package api

import (
	"context"
	"fmt"
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
	// AwaitNewest waits for them to serve by everything that was announced so far.
	AwaitNewest(ctx context.Context) (node.Receipt, error)
}

// waitQuery is the parameter of what changes the configuration of the nodes.
type waitQuery struct {
	Wait string `json:"wait" bind:"enum=none|nodes,default=nodes"`
}

// waitOf reports whether the answer to the request waits for the nodes.
func waitOf(r *http.Request) (bool, error) {
	var q waitQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return false, err
	}
	return q.Wait == "nodes", nil
}

// receipt waits for the nodes to serve by the version and says which do. The change is made and stays made: that a node lacks it, or
// that nothing is known of the nodes, is no error.
func (a *API) receipt(r *http.Request, wait bool, version plane.Version) *wire.Receipt {
	if !wait {
		return nil
	}
	return wireReceipt(a.Nodes.Await(r.Context(), version))
}

// newestReceipt is a receipt for what the request announced, if it did, and all that was announced before.
func (a *API) newestReceipt(r *http.Request, wait bool) *wire.Receipt {
	if !wait {
		return nil
	}
	return wireReceipt(a.Nodes.AwaitNewest(r.Context()))
}

func wireReceipt(got node.Receipt, err error) *wire.Receipt {
	answer := &wire.Receipt{Nodes: []wire.NodeApplied{}, Missing: []wire.NodeMissing{}}
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
	answer.Complete, answer.WaitedMS = len(got.Missing) == 0, got.Waited.Milliseconds()
	if !answer.Complete {
		answer.Detail = fmt.Sprintf("The change is made. After %d ms %d of %d nodes serve by it; it is on its way to the others.",
			answer.WaitedMS, len(got.Nodes), len(got.Nodes)+len(got.Missing))
	}
	return answer
}

// onceOf is the Idempotency-Key of a request for the operation, nil without one. The path's ids and the body are what tells
// requests apart.
func onceOf(r *http.Request, operation string, body []byte) (*app.Once, error) {
	return app.NewOnce(r.Header.Get("Idempotency-Key"), operation, r.PathValue("app_id"), r.PathValue("key_id"), string(body))
}
