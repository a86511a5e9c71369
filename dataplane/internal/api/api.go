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
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// Options are what the handlers need of the node.
type Options struct {
	// Pool returns the pool that an id of the configuration in force names, an upstream being a pool of one.
	Pool func(id string) (Pool, bool)
	// Members tells how the servers of such a pool stand for a caller.
	Members func(id string, from pool.From) []pool.MemberStatus
	// Service returns the service of an upstream that is no chat server, as it is configured now, or a 503.
	Service func(id string) (*upstream.Service, error)
	// Scene returns what the record of a scene says, nil without one.
	Scene func(id string) (scene *plane.Scene, found bool, err error)
	// Fresh says how fresh the node's configuration is.
	Fresh    func() wire.ConfigHealth
	Draining func() bool
	// KeepAlive is the silence of a stream after which the client is sent a comment; 0 sends none.
	KeepAlive time.Duration
	Node      string // name of the node
	Version   string // of the build
	Now       func() time.Time
}

// Pool is what serves a model. It chooses among servers, tries again where that is right and says who answered.
type Pool interface {
	Do(ctx context.Context, from pool.From, f *pool.Facts, ask func(ctx context.Context, id string) error) error
	DoStream(
		ctx context.Context, from pool.From, f *pool.Facts, ask func(ctx context.Context, id string) (call.Stream, error),
	) (call.Stream, error)
	AskWith(ctx context.Context, from pool.From, c *upstream.Chat, f *pool.Facts) (upstream.Whole, error)
	OpenWith(ctx context.Context, from pool.From, c *upstream.Chat, f *pool.Facts) (call.Stream, error)
}

// API holds the handlers.
type API struct {
	o        Options
	requests sync.Pool // of *scan.Request
	spoken   spoken
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
	c.Facts.Prompt = chat.Estimate()
	servers, err := a.servers(c, target)
	if err != nil {
		return call.Answer{}, err
	}
	if err := reserve(c, chat, stream); err != nil {
		return call.Answer{}, err
	}
	if c.Trace != nil {
		return call.Answer{}, a.explain(c, target, stream)
	}
	var facts pool.Facts
	asked := a.o.Now()
	if stream {
		s, err := servers.OpenWith(c.Ctx, from(c), chat, &facts)
		a.asked(c, &facts, asked)
		return call.Answer{Stream: s}, err
	}
	whole, err := servers.AskWith(c.Ctx, from(c), chat, &facts)
	a.asked(c, &facts, asked)
	if err != nil {
		return call.Answer{}, err
	}
	if chat.Raw != nil {
		return call.Answer{Body: whole.Text, Use: whole.Use}, nil
	}
	return call.Answer{Body: textAnswer(c, &whole), Use: whole.Use}, nil
}

// askWhole sends a chat to the target on behalf of another task.
func (a *API) askWhole(c *call.Call, target route.Target, chat *upstream.Chat) (upstream.Whole, error) {
	servers, err := a.servers(c, target)
	if err != nil {
		return upstream.Whole{}, err
	}
	if err := reserve(c, chat, false); err != nil {
		return upstream.Whole{}, err
	}
	var facts pool.Facts
	asked := a.o.Now()
	whole, err := servers.AskWith(c.Ctx, from(c), chat, &facts)
	a.asked(c, &facts, asked)
	return whole, err
}

var errOldHTTP = apierr.New(apierr.BadRequest, "Streaming needs HTTP/1.1. In nginx set proxy_http_version 1.1.")

var errNoServers = apierr.New(apierr.Unavailable, "The upstream of this model was just removed. Try again.").After(time.Second)

// asked keeps who was asked and how long that took. Of several things that a call asks for, the attempts add up.
func (a *API) asked(c *call.Call, f *pool.Facts, began time.Time) {
	c.Facts.Waited += a.o.Now().Sub(began)
	c.Facts.Upstream = f.Upstream
	c.Facts.Attempts += f.Attempts
}

// from tells a pool whose failures are whose.
func from(c *call.Call) pool.From {
	f := pool.From{Body: c.Body}
	if c.Caller != nil {
		f.Account = c.Caller.Account()
	}
	return f
}

// note keeps what is known of a target, also of one that refuses.
func note(c *call.Call, target route.Target, task string) {
	c.Facts.Model, c.Facts.Task = target.Model.ID, task
	if c.Trace != nil && target.Model.ID != "" {
		trace(c, target.Model, task)
	}
}

func encode(v any) (call.Answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return call.Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	return call.Answer{Body: body}, nil
}
