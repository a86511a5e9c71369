package main

import (
	"context"
	"fmt"

	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/controlplane/internal/store"
)

// shownReceipt says how far a change has come when the command ends.
type shownReceipt struct {
	Complete bool     `json:"complete"` // no node is missing
	WaitedMS int64    `json:"waited_ms"`
	Nodes    []string `json:"nodes"`   // that serve by the change
	Missing  []string `json:"missing"` // that it is on its way to
}

// receipt waits for the nodes to serve by everything that was announced so far, for node.AwaitMax at most.
func (e *env) receipt(ctx context.Context, s *store.Store) (*shownReceipt, error) {
	registry, err := node.NewRegistry(s, "", e.log)
	if err != nil {
		return nil, err
	}
	got, err := registry.AwaitNewest(ctx)
	if err != nil {
		return nil, fmt.Errorf("the change is made, but it could not be seen which nodes serve by it: %w", err)
	}
	r := &shownReceipt{Complete: len(got.Missing) == 0, WaitedMS: got.Waited.Milliseconds(), Nodes: []string{}, Missing: []string{}}
	for _, n := range got.Nodes {
		r.Nodes = append(r.Nodes, n.Name)
	}
	for _, n := range got.Missing {
		r.Missing = append(r.Missing, n.Name)
	}
	return r, nil
}
