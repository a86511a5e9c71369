package pool

import (
	"context"
	"sync/atomic"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream"
)

// Pool is several servers that serve as one. It comes from [Set.Get] and follows the Set's configuration.
type Pool struct {
	set   *Set
	id    string
	terms atomic.Pointer[terms]

	// Guarded by the lock of the Set.
	seats    []*seat
	inFlight int // calls that were given a slot through this pool
	budget   budget
	queue    queue
	usable   [groups][]*seat // scratch of a survey
}

var _ upstream.Upstream = (*Pool)(nil)

// ID returns the ID of the pool, or of the upstream that is a pool of one.
func (p *Pool) ID() string { return p.id }

// Ask implements upstream.Upstream.
func (p *Pool) Ask(ctx context.Context, c *upstream.Chat) (upstream.Whole, error) {
	return p.AskWith(ctx, From{}, c, nil)
}

// Open implements upstream.Upstream. The stream must be closed: it holds its member's slot until then.
func (p *Pool) Open(ctx context.Context, c *upstream.Chat) (call.Stream, error) {
	return p.OpenWith(ctx, From{}, c, nil)
}

// AskWith is Ask that knows who asks and fills in the facts, unless they are nil, also when it fails.
func (p *Pool) AskWith(ctx context.Context, from From, c *upstream.Chat, f *Facts) (upstream.Whole, error) {
	var whole upstream.Whole
	err := p.Do(ctx, from, f, func(ctx context.Context, id string) error {
		up, err := p.set.upstream(id)
		if err != nil {
			return Unusable(err)
		}
		whole, err = up.Ask(ctx, c)
		return err
	})
	return whole, err
}

// Do makes a call that is not a chat: ask is given the ID of the upstream to ask, once for each attempt, and must not have
// passed on any part of an answer when it returns an error that [ClassOf] takes for one to be tried again. The error is the
// latest one of ask, or an *apierr.Error when no member could be asked.
func (p *Pool) Do(ctx context.Context, from From, f *Facts, ask func(ctx context.Context, id string) error) error {
	w := p.way(opAsk, from, f)
	g, err := w.first(ctx)
	for err == nil {
		failed := p.set.attempt(ctx, g, ask)
		if failed.err == nil {
			return nil
		}
		g, err = w.again(ctx, failed)
	}
	return err
}

// attempt asks one member for a whole answer.
func (s *Set) attempt(ctx context.Context, g grant, ask func(ctx context.Context, id string) error) failure {
	f := failure{context.Canceled, failEnded} // should ask panic: the slot is free again and nothing is learned
	defer func() { s.settle(g, opAsk, f, s.now(), true) }()
	f = failureOf(ctx, ask(ctx, g.m.id))
	return f
}
