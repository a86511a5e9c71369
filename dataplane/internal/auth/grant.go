package auth

import (
	"context"
	"sync/atomic"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/key"
)

// grant is what all calls of one key share. It is the context that ends when the key is revoked or expires, so whoever holds
// a caller or its Revoked holds the grant, and revocations find it.
type grant struct {
	context.Context
	cancel context.CancelCauseFunc
	digest key.Digest
	// caller is the key as it is now; nil when it must be looked up again.
	caller atomic.Pointer[call.Caller]
	expiry *time.Timer // nil without expiry; guarded by the stripe's lock
}

func newGrant(digest key.Digest) *grant {
	g := &grant{digest: digest}
	g.Context, g.cancel = context.WithCancelCause(context.Background())
	return g
}

// revoke ends the grant for good. The stripe must be locked.
func (g *grant) revoke() {
	g.caller.Store(nil)
	g.cancel(call.ErrRevoked)
	g.stopTimer()
}

func (g *grant) stopTimer() {
	if g.expiry != nil {
		g.expiry.Stop()
		g.expiry = nil
	}
}

func (g *grant) live() bool { return g.Err() == nil }
