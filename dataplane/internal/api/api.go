package api

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Options are what the handlers need of the node.
type Options struct {
	// Upstream returns the upstream that a configuration has under an id, or a 503.
	Upstream func(config *plane.Current, id string) (upstream.Upstream, error)
	// Fresh says how fresh the node's configuration is.
	Fresh    func() wire.ConfigHealth
	Draining func() bool
	Node     string // name of the node
	Version  string // of the build
	Now      func() time.Time
}

// API holds the handlers.
type API struct {
	o        Options
	requests sync.Pool // of *scan.Request
}

// New returns the handlers.
func New(o Options) *API {
	return &API{o: o, requests: sync.Pool{New: func() any { return new(scan.Request) }}}
}

// ask sends a chat to the target, streamed or not. The chat must stay as it is until the call ends.
func (a *API) ask(c *call.Call, target route.Target, chat *upstream.Chat, stream bool) (call.Answer, error) {
	c.Facts.Upstream = target.Upstream.ID
	c.Facts.Backend = route.Backend(c.Config, target.Model)
	up, err := a.o.Upstream(c.Config, target.Upstream.ID)
	if err != nil {
		return call.Answer{}, err
	}
	asked := a.o.Now()
	if stream {
		s, err := up.Open(c.Ctx, chat)
		c.Facts.Waited = a.o.Now().Sub(asked)
		return call.Answer{Stream: s}, err
	}
	whole, err := up.Ask(c.Ctx, chat)
	c.Facts.Waited = a.o.Now().Sub(asked)
	if err != nil {
		return call.Answer{}, err
	}
	return call.Answer{Body: textAnswer(c, &whole), Use: whole.Use}, nil
}

// note keeps what is known of a target, also of one that refuses.
func note(c *call.Call, target route.Target, task string) {
	c.Facts.Model, c.Facts.Task = target.Model.ID, task
}

func encode(v any) (call.Answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return call.Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	return call.Answer{Body: body}, nil
}
