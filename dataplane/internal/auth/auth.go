package auth

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/dgraph-io/ristretto/v2"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// The refusals. Which digest is unknown, revoked or never existed is not told apart.
var (
	ErrMissing = apierr.New(apierr.Unauthorized,
		"Missing API key. Send it as \"Authorization: Bearer <key>\" or in the X-API-Key header.")
	ErrMalformed = apierr.New(apierr.Unauthorized,
		"This is not a Modelgate key: check for cut or extra characters.")
	ErrUnknown = apierr.New(apierr.Unauthorized, "Unknown or revoked API key.")
	ErrExpired = apierr.New(apierr.Unauthorized, "This API key has expired.")
	// ErrNoKeys is a node that has never had a configuration, or whose index cannot be read.
	ErrNoKeys = apierr.New(apierr.Unavailable, "Keys cannot be checked at the moment.").After(time.Second)
)

// Index is the node's replica of the published keys.
type Index interface {
	// Checker recognizes the texts of keys, or is nil while the node has no configuration.
	Checker() *key.Checker
	// Lookup returns the principal of a key, and false if there is none. The principal is immutable.
	Lookup(digest key.Digest) (*plane.Principal, bool, error)
}

// Options configure an Auth.
type Options struct {
	Index Index
	// Cells makes the counters of a principal: limit.Limiter.Cells.
	Cells func(*plane.Principal) *limit.Cells
	Now   func() time.Time
	// StreamKeys returns what verifies stream tokens, or nil while the node has no configuration. Without it there are none.
	StreamKeys func() *key.StreamVerifier
	// CachedKeys is how many keys are kept in memory; 0 means the default.
	CachedKeys int64
}

// Auth authenticates callers.
type Auth struct {
	index   Index
	cells   func(*plane.Principal) *limit.Cells
	now     func() time.Time
	cache   *ristretto.Cache[uint64, *grant]
	streams func() *key.StreamVerifier // nil without stream tokens
	tokens  *ristretto.Cache[uint64, *token]
	stripes [stripes]stripe
}

// stripe orders look-ups and changes of the keys whose digest falls into it.
type stripe struct {
	mu     sync.Mutex
	grants map[key.Digest]weak.Pointer[grant]
	// unknown are digests that the index did not have, as a ring. A change of a key takes its digest out.
	unknown [unknownPerStripe]key.Digest
	next    int
}

// New returns an Auth. Whoever applies changes to the index must tell it by KeyChanged and AllChanged.
func New(o Options) (*Auth, error) {
	if o.CachedKeys <= 0 {
		o.CachedKeys = cachedKeysDefault
	}
	a := &Auth{index: o.Index, cells: o.Cells, now: o.Now, streams: o.StreamKeys}
	var err error
	if a.cache, err = newCache[*grant](o.CachedKeys); err != nil {
		return nil, fmt.Errorf("make key cache: %w", err)
	}
	if a.tokens, err = newCache[*token](cachedTokens); err != nil {
		return nil, fmt.Errorf("make token cache: %w", err)
	}
	for i := range a.stripes {
		a.stripes[i].grants = map[key.Digest]weak.Pointer[grant]{}
	}
	return a, nil
}

func newCache[V any](entries int64) (*ristretto.Cache[uint64, V], error) {
	return ristretto.NewCache(&ristretto.Config[uint64, V]{
		NumCounters: entries * countersPerKey, MaxCost: entries, BufferItems: 64, IgnoreInternalCost: true,
	})
}

// Close stops the caches. Nothing may be authenticated afterwards.
func (a *Auth) Close() {
	a.cache.Close()
	a.tokens.Close()
}

// Authenticate returns the caller of a key text, or of a stream token: that of the key it stands for. Errors are
// *apierr.Error: 401 for a text that is missing, malformed, unknown, revoked or expired, 503 when the index cannot be
// read. A caller stays as it is for the length of a call, except that its Revoked ends. The text is not kept.
func (a *Auth) Authenticate(_ context.Context, text []byte, now time.Time) (*call.Caller, error) {
	if len(text) == 0 {
		return nil, ErrMissing
	}
	checker := a.index.Checker()
	if checker == nil {
		return nil, ErrNoKeys
	}
	if isToken(text) {
		return a.bearer(text, now)
	}
	_, digest, err := checker.Check(text)
	if err != nil { // a wrong tag is a typing error or a guess: no key of ours ever had this text
		return nil, ErrMalformed
	}
	return a.caller(digest, now)
}

// caller returns the caller of a key.
func (a *Auth) caller(digest key.Digest, now time.Time) (*call.Caller, error) {
	caller := a.cached(digest)
	if caller == nil {
		var err error
		if caller, err = a.fill(digest); err != nil {
			return nil, err
		}
	}
	if !caller.NotAfter.IsZero() && !now.Before(caller.NotAfter) {
		return nil, ErrExpired
	}
	return caller, nil
}

// cached returns the caller if it is in memory and in force, else nil.
func (a *Auth) cached(digest key.Digest) *call.Caller {
	g, ok := a.cache.Get(cacheKey(digest))
	if !ok || g.digest != digest {
		return nil
	}
	return g.caller.Load()
}

// fill looks a key up. Callers that miss at the same time wait for each other and find what the first one found.
func (a *Auth) fill(digest key.Digest) (*call.Caller, error) {
	s := a.stripe(digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.grants[digest].Value()
	if g != nil && g.live() {
		if caller := g.caller.Load(); caller != nil {
			a.cache.Set(cacheKey(digest), g, 1)
			return caller, nil
		}
	}
	if s.isUnknown(digest) {
		return nil, ErrUnknown
	}
	p, found, err := a.index.Lookup(digest)
	if err != nil {
		return nil, ErrNoKeys.Because(err)
	}
	if !found {
		s.unknown[s.next] = digest
		s.next = (s.next + 1) % unknownPerStripe
		return nil, ErrUnknown
	}
	if g == nil || !g.live() {
		g = a.grant(s, digest)
	}
	caller := a.renew(s, g, p)
	a.cache.Set(cacheKey(digest), g, 1)
	return caller, nil
}

// grant makes the grant of a key. The stripe must be locked.
func (a *Auth) grant(s *stripe, digest key.Digest) *grant {
	g := newGrant(digest)
	w := weak.Make(g)
	s.grants[digest] = w
	runtime.AddCleanup(g, func(w weak.Pointer[grant]) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.grants[digest] == w {
			delete(s.grants, digest)
		}
	}, w)
	return g
}

// renew puts a principal in force for the calls to come. The stripe must be locked.
func (a *Auth) renew(s *stripe, g *grant, p *plane.Principal) *call.Caller {
	caller := &call.Caller{Principal: p, Revoked: g, Cells: a.cells(p)}
	g.caller.Store(caller)
	g.stopTimer()
	if !p.NotAfter.IsZero() {
		w := weak.Make(g)
		g.expiry = time.AfterFunc(p.NotAfter.Sub(a.now()), func() { a.expire(s, w) })
	}
	return caller
}

// expire tells the streams of a key that its time is over. The caller stays, so that later calls hear why they are refused.
func (a *Auth) expire(s *stripe, w weak.Pointer[grant]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := w.Value()
	if g == nil {
		return
	}
	caller := g.caller.Load()
	if caller == nil || caller.NotAfter.IsZero() {
		return
	}
	if left := caller.NotAfter.Sub(a.now()); left > 0 { // the wall clock was set back, or the expiry was moved
		g.stopTimer()
		g.expiry = time.AfterFunc(left, func() { a.expire(s, w) })
		return
	}
	g.cancel(call.ErrRevoked)
}

// KeyChanged puts the index's present state of a key in force. It is called after a change to the key is in the index, or gone
// from it; when it returns, calls and streams go by the new state.
func (a *Auth) KeyChanged(digest key.Digest, gone bool) {
	s := a.stripe(digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetUnknown(digest)
	g := s.grants[digest].Value()
	switch {
	case g == nil:
	case gone:
		a.revoke(s, g)
	default:
		a.refresh(s, g)
	}
}

// AllChanged does what KeyChanged does for all keys, after the index was replaced.
func (a *Auth) AllChanged() {
	for i := range a.stripes {
		s := &a.stripes[i]
		s.mu.Lock()
		s.unknown = [unknownPerStripe]key.Digest{}
		for _, w := range s.grants {
			if g := w.Value(); g != nil {
				a.refresh(s, g)
			}
		}
		s.mu.Unlock()
	}
}

// refresh brings a grant to the state of the index. The stripe must be locked.
func (a *Auth) refresh(s *stripe, g *grant) {
	p, found, err := a.index.Lookup(g.digest)
	switch {
	case err != nil: // look again at the next call; streams go on, as nothing says that the key is gone
		g.caller.Store(nil)
	case !found:
		a.revoke(s, g)
	case g.live():
		a.renew(s, g, p)
	default: // had expired: the next call makes a new grant
		g.caller.Store(nil)
		delete(s.grants, g.digest)
	}
}

// revoke ends a grant for good. A cached remnant of it has no caller. The stripe must be locked.
func (a *Auth) revoke(s *stripe, g *grant) {
	g.revoke()
	delete(s.grants, g.digest)
	a.cache.Del(cacheKey(g.digest))
}

func (a *Auth) stripe(digest key.Digest) *stripe { return &a.stripes[digest[len(digest)-1]] }

// isUnknown reports whether the digest was lately not found. The zero digest of an empty place is no key's.
func (s *stripe) isUnknown(digest key.Digest) bool {
	for i := range s.unknown {
		if s.unknown[i] == digest {
			return true
		}
	}
	return false
}

func (s *stripe) forgetUnknown(digest key.Digest) {
	for i := range s.unknown {
		if s.unknown[i] == digest {
			s.unknown[i] = key.Digest{}
		}
	}
}

// cacheKey is the cache's name of a key. Different keys may share it; the grant's digest tells.
func cacheKey(digest key.Digest) uint64 { return binary.BigEndian.Uint64(digest[:8]) }
