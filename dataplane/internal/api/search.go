package api

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/languages"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/research"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

const searchTask = "deep_search"

// DeepSearch answers POST /api/v1/deep-search. What is wrong before the report begins is a status, later an event.
func (a *API) DeepSearch(c *call.Call) (call.Answer, error) {
	var req wire.DeepSearchRequest
	if err := bind.JSON(c.Body, &req); err != nil {
		return call.Answer{}, err
	}
	if _, ok := languages.Name(req.Language); !ok {
		return call.Answer{}, violation("this is not the code of a language", req.Language, "language")
	}
	search, err := route.ToTask(c.Config, c.Caller, darwin, searchTask)
	note(c, search, searchTask)
	if err != nil {
		return call.Answer{}, err
	}
	chat, err := route.ToChat(c.Config, c.Caller)
	if err != nil {
		return call.Answer{}, err
	}
	if c.Unstreamable {
		return call.Answer{}, errOldHTTP
	}
	note(c, chat, searchTask) // whose tokens are counted
	r := &report{a: a, c: c, search: search, chat: chat, req: &req, kind: research.Classify(req.Query)}
	if err := r.open(); err != nil {
		r.Close()
		return call.Answer{}, err
	}
	return call.Answer{Stream: r}, nil
}

// found is what the searches of a question brought: the results of each, best first, and the first error.
type found struct {
	results [][]upstream.Found
	facts   pool.Facts
	err     error
}

// searches asks the search server everything that is to be asked about a question, at the same time.
func (a *API) searches(ctx context.Context, servers Pool, whose pool.From, list []upstream.Search) found {
	all := found{results: make([][]upstream.Found, len(list))}
	facts, errs := make([]pool.Facts, len(list)), make([]error, len(list))
	var wait sync.WaitGroup
	for i := range list {
		wait.Go(func() {
			errs[i] = recovered(func() error {
				return servers.Do(ctx, whose, &facts[i], func(ctx context.Context, id string) error {
					s, err := a.o.Service(id)
					if err != nil {
						return pool.Unusable(err)
					}
					all.results[i], err = s.Search(ctx, list[i])
					return err
				})
			})
		})
	}
	wait.Wait()
	for i := range list {
		all.facts.Upstream = cmp.Or(facts[i].Upstream, all.facts.Upstream)
		all.facts.Attempts += facts[i].Attempts
		all.err = cmp.Or(all.err, errs[i])
	}
	return all
}

// recovered makes an error of a panic, which on a goroutine of its own would end the process.
func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
