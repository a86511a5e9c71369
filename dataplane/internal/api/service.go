package api

import (
	"cmp"
	"context"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
)

// serve lets ask put a call to a service of the target's pool, once for each attempt.
func (a *API) serve(c *call.Call, target route.Target, ask func(ctx context.Context, s *upstream.Service) error) error {
	servers, err := a.servers(c, target)
	if err != nil {
		return err
	}
	if c.Trace != nil {
		return cmp.Or(a.explain(c, target, false), call.ErrNotAsked)
	}
	var facts pool.Facts
	asked := a.o.Now()
	err = servers.Do(c.Ctx, from(c), &facts, func(ctx context.Context, id string) error {
		s, err := a.o.Service(id)
		if err != nil {
			return pool.Unusable(err)
		}
		return ask(ctx, s)
	})
	a.asked(c, &facts, asked)
	return err
}

// serveStream is serve for a stream.
func (a *API) serveStream(
	c *call.Call, target route.Target, ask func(ctx context.Context, s *upstream.Service) (call.Stream, error),
) (call.Answer, error) {
	if c.Unstreamable {
		return call.Answer{}, errOldHTTP
	}
	servers, err := a.servers(c, target)
	if err != nil {
		return call.Answer{}, err
	}
	if c.Trace != nil {
		return call.Answer{}, a.explain(c, target, true)
	}
	var facts pool.Facts
	asked := a.o.Now()
	s, err := servers.DoStream(c.Ctx, from(c), &facts, func(ctx context.Context, id string) (call.Stream, error) {
		s, err := a.o.Service(id)
		if err != nil {
			return nil, pool.Unusable(err)
		}
		return ask(ctx, s)
	})
	a.asked(c, &facts, asked)
	return call.Answer{Stream: s}, err
}

// servers returns the pool that serves a target, to be asked: the call is noted in the journal.
func (a *API) servers(c *call.Call, target route.Target) (Pool, error) {
	c.Facts.Backend = route.Backend(c.Config, target.Model)
	servers, ok := a.o.Pool(target.Model.Upstream)
	if !ok { // the configuration changed since the call began
		return nil, errNoServers
	}
	return servers, c.Begin()
}
