package snapshot

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is the wait between attempts: it doubles, and half of it is chance, so that nodes do not come back in step.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{retryFirst} }

func (b *backoff) reset() { b.next = retryFirst }

func (b *backoff) sleep(ctx context.Context) {
	d := b.next/2 + rand.N(b.next/2+1) //nolint:gosec // spreads load, guards nothing
	b.next = min(2*b.next, retryMax)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
