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
	members map[plane.UpstreamSpec]member
	newest  plane.Cursor // of the configurations seen
}

// member is an upstream of any dialect.
type member interface{ Close() }

// NewSet returns a Set whose upstreams all have the same options. credential returns the secret with the given name; it is
// not called for the empty name.
func NewSet(o Options, credential func(name string) (string, error)) *Set {
	return &Set{options: o, credential: credential, members: make(map[plane.UpstreamSpec]member)}
}

// Get returns the chat server that current has under id. The error is a 503 that says what to configure.
func (s *Set) Get(current *plane.Current, id string) (Upstream, error) {
	return as[*ChatServer](s, current, id, "answer chats")
}

// Service returns the service that current has under id. The error is a 503 that says what to configure.
func (s *Set) Service(current *plane.Current, id string) (*Service, error) {
	return as[*Service](s, current, id, "answer anything but chats")
}

func as[T member](s *Set, current *plane.Current, id, what string) (wanted T, err error) {
	m, err := s.member(current, id)
	if err != nil {
		return wanted, err
	}
	wanted, ok := m.(T)
	if !ok {
		return wanted, apierr.New(apierr.Unavailable, fmt.Sprintf(
			"Upstream %s is configured with the dialect %s, which cannot %s. This is for the gateway's operator to fix.",
			id, current.Upstreams[id].Dialect, what))
	}
	return wanted, nil
}

func (s *Set) member(current *plane.Current, id string) (member, error) {
	spec, ok := current.Upstreams[id]
	if !ok {
		return nil, apierr.New(apierr.Unavailable, fmt.Sprintf("Upstream %s is not configured.", id))
	}
	s.mu.RLock()
	m, known := s.members[spec], s.newest == current.Cursor || newer(s.newest, current.Cursor)
	s.mu.RUnlock()
	if m != nil && known {
		return m, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(current)
	if m = s.members[spec]; m != nil {
		return m, nil
	}
	m, err := s.build(spec)
	if err != nil {
		return nil, apierr.New(apierr.Unavailable,
			fmt.Sprintf("Upstream %s is misconfigured. This is for the gateway's operator to fix.", id)).Because(err)
	}
	s.members[spec] = m
	return m, nil
}

func (s *Set) build(spec plane.UpstreamSpec) (member, error) {
	secret := ""
	if spec.Credential != "" {
		var err error
		if secret, err = s.credential(spec.Credential); err != nil {
			return nil, fmt.Errorf("credential %q: %w", spec.Credential, err)
		}
	}
	if spec.Dialect == plane.DialectChat {
		return New(spec, secret, s.options)
	}
	return NewService(spec, secret, s.options)
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
