package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/research"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/dataplane/internal/scan"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
	"modelgate.internal/shared/wire"
)

// report is the stream of a deep search: the searches, then what a chat model writes about what they found, then the list of the
// sources. The searches run beside the stream, which has comments for the client meanwhile; the rest is on the stream's own
// goroutine.
type report struct {
	a            *API
	c            *call.Call
	search, chat route.Target
	req          *wire.DeepSearchRequest
	kind         research.Kind

	asked   time.Time // when the searches began
	stop    context.CancelFunc
	coming  chan found // of the searches
	ready   bool       // the sources are known, and the chat is asked if there are any
	sources []research.Source
	facts   pool.Facts // of the chat
	inner   call.Stream
}

// open begins the searches, and the report if they end before the client has to hear something. Its errors are answers.
func (r *report) open() error {
	searching, err := r.servers(r.search)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.c.Ctx)
	r.stop, r.coming, r.asked = stop, make(chan found, 1), r.a.o.Now()
	whose := from(r.c)
	list := research.Searches(r.req.Query, r.kind, r.req.Language)
	go func() { r.coming <- r.a.searches(ctx, searching, whose, list) }()
	select {
	case f := <-r.coming:
		return r.begin(f)
	case <-r.quiet():
		return nil
	}
}

// quiet returns a channel that tells when the client has heard nothing for the keep-alive interval from now on.
func (r *report) quiet() <-chan time.Time {
	if r.a.o.KeepAlive == 0 {
		return nil
	}
	return time.After(r.a.o.KeepAlive)
}

// servers returns the pool of a part. The report is a simulator's if one part is.
func (r *report) servers(target route.Target) (Pool, error) {
	servers, err := r.a.servers(r.c, target)
	if r.search.Upstream.Simulator || r.chat.Upstream.Simulator {
		r.c.Facts.Backend = route.BackendSimulator
	}
	return servers, err
}

// begin picks the sources out of what was found and puts them to the chat model. One search that succeeded is enough.
func (r *report) begin(f found) error {
	r.a.asked(r.c, &f.facts, r.asked)
	r.ready, r.sources = true, research.Sources(f.results)
	if len(r.sources) == 0 {
		return f.err
	}
	writing, err := r.servers(r.chat)
	if err != nil {
		return err
	}
	system, prompt := research.Prompt(r.req.Query, r.kind, r.req.Language, r.sources)
	chat := &upstream.Chat{System: scan.Literal(system), Prompt: scan.Literal(prompt), MaxTokens: r.req.MaxTokens}
	if err := reserve(r.c, chat, true); err != nil {
		return err
	}
	asked := r.a.o.Now()
	r.inner, err = writing.OpenWith(r.c.Ctx, from(r.c), chat, &r.facts)
	r.a.asked(r.c, &r.facts, asked)
	return err
}

// Relay implements [call.Stream].
func (r *report) Relay(w *sse.Writer) call.Outcome {
	w.Plain()
	none := call.Usage{Source: plane.SourceNone}
	err := r.await(w)
	switch {
	case errors.Is(err, call.ErrClientGone):
		return call.Outcome{End: plane.EndClientGone, Usage: none, Err: err}
	case err != nil:
		return call.Outcome{End: plane.EndFailed, Usage: none, Err: err}
	case r.inner == nil:
		w.Text(research.Nothing(r.kind))
		return call.Outcome{End: plane.EndDone, Usage: none, First: r.a.o.Now()}
	}
	out := r.inner.Relay(w)
	if out.End == plane.EndDone {
		w.Text(research.List(r.kind, r.sources))
	}
	return out
}

// await waits for the searches if they are not over, with comments for the client.
func (r *report) await(w *sse.Writer) error {
	for !r.ready {
		w.KeepAlive()
		if err := w.Flush(); err != nil {
			return fmt.Errorf("%w: %w", call.ErrClientGone, err)
		}
		select {
		case f := <-r.coming:
			if err := r.begin(f); err != nil {
				return err
			}
		case <-r.quiet():
		}
	}
	return nil
}

// Close implements [call.Stream].
func (r *report) Close() {
	if r.stop != nil {
		r.stop()
	}
	if r.inner != nil {
		r.inner.Close()
	}
}
