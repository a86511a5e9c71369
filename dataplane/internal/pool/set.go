package pool

import (
	"context"
	"hash/maphash"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
)

// Options configure a Set.
type Options struct {
	// Upstream returns the upstream of an ID as it is configured now. It is called for every attempt; an error, which is a
	// 503, is a failure of the member.
	Upstream func(id string) (upstream.Upstream, error)
	// Probe asks a server whether it is well; nil means that it is. See [HTTPProbe]. Without a Probe there are no health checks.
	Probe    func(ctx context.Context, spec plane.UpstreamSpec, path string) error
	Observer Observer
	Log      *slog.Logger
	Now      func() time.Time // nil means time.Now
	Rand     *rand.Rand       // for choices and pauses; nil means a random seed
}

// Set holds the pools of a node. See the package documentation.
type Set struct {
	upstream func(id string) (upstream.Upstream, error)
	probe    func(ctx context.Context, spec plane.UpstreamSpec, path string) error
	observer Observer
	log      *slog.Logger
	clock    func() time.Time // nil means time.Now
	start    time.Time
	pools    atomic.Pointer[map[string]*Pool]
	changed  chan struct{} // wakes Run

	mu      sync.Mutex
	members map[string]*member
	rand    *rand.Rand
	seed    maphash.Seed // of the hashes that tell requests apart
}

// NewSet returns a Set without pools.
func NewSet(o Options) *Set {
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // spreads load; nothing depends on it being secret
	}
	s := &Set{
		upstream: o.Upstream, probe: o.Probe, observer: o.Observer, log: o.Log, clock: o.Now, start: time.Now(),
		changed: make(chan struct{}, 1), members: map[string]*member{}, rand: o.Rand, seed: maphash.MakeSeed(),
	}
	if s.clock != nil {
		s.start = s.clock()
	}
	s.pools.Store(&map[string]*Pool{})
	return s
}

// now is the time since the Set was made.
func (s *Set) now() time.Duration {
	if s.clock == nil {
		return time.Since(s.start) // reads one clock where time.Now reads two
	}
	return s.clock().Sub(s.start)
}

// Get returns the pool that id names, which is that of a pool or of an upstream.
func (s *Set) Get(id string) (*Pool, bool) {
	p, ok := (*s.pools.Load())[id]
	return p, ok
}

// Update makes the pools those of a configuration. Servers that stay keep what is known of them and the calls they serve; a
// server whose address, model or credential changed is taken for a new one. Calls that wait are judged by the new
// configuration at once; those of a pool that is gone are refused. What the configuration's own check would refuse is left
// out and logged: members that are not configured, and simulators beside real servers.
func (s *Set) Update(current *plane.Current) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.updateMembers(current)
	old := *s.pools.Load()
	pools := make(map[string]*Pool, len(current.Upstreams)+len(current.Pools))
	specs := make(map[string]plane.PoolSpec, len(current.Upstreams)+len(current.Pools))
	for id := range current.Upstreams {
		specs[id] = plane.PoolSpec{ID: id, Members: []plane.Member{{Upstream: id}}}
	}
	maps.Copy(specs, current.Pools)
	for id := range specs {
		if pools[id] = old[id]; pools[id] == nil {
			pools[id] = &Pool{set: s, id: id}
		}
	}
	for id, spec := range specs {
		s.updatePool(current, pools, pools[id], spec)
	}
	s.pools.Store(&pools)
	for id, p := range old {
		if pools[id] == nil {
			p.seats = nil
			p.terms.Store(&terms{policy: roundRobin{}})
			p.serve(now)
		}
	}
	for _, p := range pools {
		p.serve(now)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *Set) updateMembers(current *plane.Current) {
	for id, spec := range current.Upstreams {
		m := s.members[id]
		if m == nil {
			m = &member{id: id, shown: StateUp, seed: s.seed, evidence: evidence{round: 1}}
			s.members[id] = m
		} else if m.spec.BaseURL != spec.BaseURL || m.spec.Model != spec.Model || m.spec.Credential != spec.Credential {
			m.forget()
		}
		m.spec, m.guard, m.pools, m.gone = spec, guardOf(spec), nil, false
		if m.scope != closed && m.guard.failures == 0 {
			m.reset()
		}
		if m.guard.path == "" {
			m.down, m.streak = false, 0
		}
	}
	for id, m := range s.members {
		if _, stays := current.Upstreams[id]; !stays {
			m.gone, m.pools = true, nil
			if m.inFlight == 0 {
				delete(s.members, id)
			}
		}
	}
}

func (s *Set) updatePool(current *plane.Current, pools map[string]*Pool, p *Pool, spec plane.PoolSpec) {
	first, _ := current.Target(p.id)
	before := p.seats
	p.seats = make([]*seat, 0, len(spec.Members))
	for _, want := range spec.Members {
		m := s.members[want.Upstream]
		taken := slices.ContainsFunc(p.seats, func(x *seat) bool { return x.m == m })
		if m == nil || m.gone || taken || m.spec.Simulator != first.Simulator {
			s.log.Warn("member left out of its pool", slog.String("pool", p.id), slog.String("upstream", want.Upstream))
			continue
		}
		place := &seat{m: m, weight: min(max(want.Weight, 1), plane.PoolWeightMax)}
		if i := slices.IndexFunc(before, func(x *seat) bool { return x.m == m && x.weight == place.weight }); i >= 0 {
			place.turn = before[i].turn
		}
		p.seats = append(p.seats, place)
		m.pools = append(m.pools, p)
	}
	for i := range p.usable {
		p.usable[i] = make([]*seat, 0, len(p.seats))
	}
	t := termsOf(spec)
	for _, f := range spec.Fallbacks {
		id, _ := current.FallbackTarget(f)
		target := pools[id]
		if stand, ok := current.Target(id); target == nil || target == p || !ok || stand.Simulator != first.Simulator {
			s.log.Warn("fallback left out of its pool",
				slog.String("pool", p.id), slog.String("upstream", f.Upstream), slog.String("model", f.Model))
			continue
		}
		t.fallbacks = append(t.fallbacks, fallback{f.On, target})
	}
	p.terms.Store(t)
}

// show tells the observer about a member whose state changed. The lock must be held.
func (s *Set) show(m *member, now time.Duration) {
	if st := m.state(now); st != m.shown {
		m.shown = st
		if s.observer.State != nil {
			s.observer.State(m.id, st)
		}
	}
}

// MemberStatus is how a server stands on this node, for one caller.
type MemberStatus struct {
	Upstream string
	State    State
	InFlight int           // calls and streams
	Back     time.Duration // until it is asked again, for StateOpen and StateResting
	// Fault is how the last call that said something about the server failed, "" if it did not.
	Fault plane.FailureClass
}

// Members returns how the servers of the pool or upstream id stand for a caller, in the order of the configuration. A breaker that is
// open only for others does not show.
func (s *Set) Members(id string, from From) []MemberStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.Get(id)
	if !ok {
		return nil
	}
	now := s.now()
	all := make([]MemberStatus, 0, len(p.seats))
	for _, x := range p.seats {
		one := MemberStatus{Upstream: x.m.id, State: x.m.stateFor(now, &from), InFlight: x.m.inFlight, Fault: x.m.fault}
		switch one.State {
		case StateOpen:
			one.Back = x.m.until - now
		case StateResting:
			one.Back = x.m.rest - now
		case StateUp, StateProbing, StateDown:
		}
		all = append(all, one)
	}
	return all
}
