package upstream

import (
	"fmt"
	"sync"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Set holds the upstreams of a node. It follows the configuration: an upstream is built when it is first asked for, lives
// as long as its spec does, and is closed when a newer configuration no longer has that spec; calls that run on it finish.
// It may be used by many goroutines.
type Set struct {
	options    Options
	credential func(name string) (string, error)

	mu      sync.RWMutex
	members map[plane.UpstreamSpec]*ChatServer
	newest  plane.Cursor // of the configurations seen
}

// NewSet returns a Set whose upstreams all have the same options. credential returns the secret with the given name; it is
// not called for the empty name.
func NewSet(o Options, credential func(name string) (string, error)) *Set {
	return &Set{options: o, credential: credential, members: make(map[plane.UpstreamSpec]*ChatServer)}
}

// Get returns the upstream that current has under id. The error is a 503 that says what to configure.
func (s *Set) Get(current *plane.Current, id string) (Upstream, error) {
	spec, ok := current.Upstreams[id]
	if !ok {
		return nil, apierr.New(apierr.Unavailable, fmt.Sprintf("Upstream %s is not configured.", id))
	}
	s.mu.RLock()
	member, known := s.members[spec], s.newest == current.Cursor || newer(s.newest, current.Cursor)
	s.mu.RUnlock()
	if member != nil && known {
		return member, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(current)
	if member = s.members[spec]; member != nil {
		return member, nil
	}
	member, err := s.build(spec)
	if err != nil {
		return nil, apierr.New(apierr.Unavailable,
			fmt.Sprintf("Upstream %s is misconfigured. This is for the gateway's operator to fix.", id)).Because(err)
	}
	s.members[spec] = member
	return member, nil
}

func (s *Set) build(spec plane.UpstreamSpec) (*ChatServer, error) {
	secret := ""
	if spec.Credential != "" {
		var err error
		if secret, err = s.credential(spec.Credential); err != nil {
			return nil, fmt.Errorf("credential %q: %w", spec.Credential, err)
		}
	}
	return New(spec, secret, s.options)
}

// newer reports whether a is a later configuration than b. Of different epochs, the one seen last is.
func newer(a, b plane.Cursor) bool { return a.Epoch == b.Epoch && a.Version > b.Version }

// follow closes what a newer configuration no longer has. The caller holds the lock.
func (s *Set) follow(current *plane.Current) {
	if s.newest == current.Cursor || newer(s.newest, current.Cursor) {
		return
	}
	s.newest = current.Cursor
	for spec, member := range s.members {
		if current.Upstreams[spec.ID] != spec {
			member.Close()
			delete(s.members, spec)
		}
	}
}

// Close closes all upstreams; calls that run finish.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for spec, member := range s.members {
		member.Close()
		delete(s.members, spec)
	}
}
