package api

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// Options are what the handlers need of the node.
type Options struct {
	// Pool returns the pool that an id of the configuration in force names, an upstream being a pool of one.
	Pool func(id string) (Pool, bool)
	// Fresh says how fresh the node's configuration is.
	Fresh    func() wire.ConfigHealth
	Draining func() bool
	Node     string // name of the node
	Version  string // of the build
	Now      func() time.Time
}

// Pool is what serves a model. It implements [upstream.Upstream] and says who answered.
type Pool interface {
	AskWith(ctx context.Context, c *upstream.Chat, f *pool.Facts) (upstream.Whole, error)
	OpenWith(ctx context.Context, c *upstream.Chat, f *pool.Facts) (call.Stream, error)
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
	if stream && c.Unstreamable {
		return call.Answer{}, errOldHTTP
	}
	c.Facts.Backend = route.Backend(c.Config, target.Model)
	servers, ok := a.o.Pool(target.Model.Upstream)
	if !ok { // the configuration changed since the call began
		return call.Answer{}, errNoServers
	}
	var facts pool.Facts
	asked := a.o.Now()
	if stream {
		s, err := servers.OpenWith(c.Ctx, chat, &facts)
		a.asked(c, &facts, asked)
		return call.Answer{Stream: s}, err
	}
	whole, err := servers.AskWith(c.Ctx, chat, &facts)
	a.asked(c, &facts, asked)
	if err != nil {
		return call.Answer{}, err
	}
	return call.Answer{Body: textAnswer(c, &whole), Use: whole.Use}, nil
}

var errOldHTTP = apierr.New(apierr.BadRequest, "Streaming needs HTTP/1.1. In nginx set proxy_http_version 1.1.")

var errNoServers = apierr.New(apierr.Unavailable, "The upstream of this model was just removed. Try again.").After(time.Second)

// asked keeps who was asked and how long that took.
func (a *API) asked(c *call.Call, f *pool.Facts, began time.Time) {
	c.Facts.Waited = a.o.Now().Sub(began)
	c.Facts.Upstream, c.Facts.Attempts = f.Upstream, f.Attempts
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
