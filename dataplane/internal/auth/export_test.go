package auth

import "modelgate.internal/shared/key"

// Grants is the number of keys that have a grant.
func (a *Auth) Grants() int {
	n := 0
	for i := range a.stripes {
		s := &a.stripes[i]
		s.mu.Lock()
		n += len(s.grants)
		s.mu.Unlock()
	}
	return n
}

// Cached reports whether a key is in the cache.
func (a *Auth) Cached(digest key.Digest) bool { return a.cached(digest) != nil }

// SettleTokens returns once what was verified is remembered.
func (a *Auth) SettleTokens() { a.tokens.Wait() }
