package publish

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Why a stream ended, apart from its node or its writes.
var (
	errStopped  = errors.New("publishing stops")
	errHistory  = errors.New("the history started over")
	errBehind   = errors.New("the log no longer has what the node needs")
	errReplaced = errors.New("the node opened another stream")
)

// Options configure a Publisher.
type Options struct {
	KeyPeppers [][]byte          // current first
	StreamKeys map[string][]byte // kid -> raw Ed25519 public key
	Log        *slog.Logger
	Now        func() time.Time
}

// Publisher is the source of all config streams of a process.
type Publisher struct {
	o    Options
	log  Log
	tail *tail
	poll time.Duration // PollEvery

	mu      sync.Mutex
	streams map[string]*stream // by node
	stopped bool
}

// New returns a publisher of what log holds. It serves streams while [Publisher.Run] runs.
func New(log Log, o Options) *Publisher {
	if o.StreamKeys == nil {
		o.StreamKeys = map[string][]byte{}
	}
	return &Publisher{o: o, log: log, tail: newTail(), poll: PollEvery, streams: make(map[string]*stream)}
}

// Run follows the log until ctx ends and then ends all streams. It returns ctx's error.
func (p *Publisher) Run(ctx context.Context) error {
	defer p.stop()
	pause, failures := p.poll, 0
	for {
		changed := p.log.Changed()
		err := p.tail.read(ctx, p.log, p.o.Now)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if failures++; failures == failuresQuiet {
				p.o.Log.ErrorContext(ctx, "config log cannot be read, streams fall silent", slog.Any("error", err))
			}
			changed, pause = nil, min(2*pause, PollRetryMax)
		default:
			if failures >= failuresQuiet {
				p.o.Log.InfoContext(ctx, "config log can be read again")
			}
			failures, pause = 0, p.poll
		}
		next := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-next.C:
		}
		next.Stop()
	}
}

// Streams returns how many nodes have a config stream from this process.
func (p *Publisher) Streams() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.streams)
}

func (p *Publisher) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, s := range p.streams {
		s.cancel(errStopped)
	}
}

// enter makes s the stream of its node, in the place of one that the node may have lost without our noticing.
func (p *Publisher) enter(s *stream) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.streams[s.node]
	switch {
	case p.stopped:
		return apierr.New(apierr.Unavailable, "This control plane is stopping. Ask another one, or this one again in a moment.").After(time.Second)
	case old != nil:
		old.cancel(errReplaced)
	case len(p.streams) >= StreamsMax:
		return apierr.New(apierr.Unavailable, "This control plane has as many config streams as it takes. Ask another one.").After(plane.StreamSilenceMax)
	}
	p.streams[s.node] = s
	return nil
}

func (p *Publisher) leave(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[s.node] == s {
		delete(p.streams, s.node)
	}
}
