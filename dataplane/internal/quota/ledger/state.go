package ledger

import (
	"fmt"
	"sync"

	"modelgate.internal/dataplane/internal/quota/internal/mutant"
)

// State is the ledger. The zero value is not usable; New makes one.
type State struct {
	mutant mutant.Set // zero but in tests that prove that a defect is noticed

	mu        sync.Mutex // held by Apply per entry and by a capture per part
	policy    Policy
	now       int64 // of the newest entry
	nodes     map[uint64]*session
	lost      map[sessionKey]*session // superseded or forgotten, while limits still have their tokens
	classes   map[Class]terms
	overrides map[ID]terms
	banned    map[uint64]struct{} // nodes that are gone for good
	places    map[packedID]uint32 // of the accounts in the slab; without pointers, since there are many
	slab      []*account          // all accounts, in no order
	records   []Record            // of the newest entry, whose room is used again
	wheel     wheel
	seedDay   uint32 // UTC day of the newest SeedDays
	seeds     uint32 // how many there were
	capture   *Capture
	gen       uint32 // of the newest capture
}

// terms are a limit that the control plane set.
type terms struct {
	version uint64
	max     int64
	cleared bool // of an override: the class counts, but older commands still have no effect
}

// New returns an empty ledger with the policy, which must be the same on all replicas.
func New(p Policy) *State {
	return &State{
		policy: p, nodes: map[uint64]*session{}, lost: map[sessionKey]*session{}, classes: map[Class]terms{},
		overrides: map[ID]terms{}, banned: map[uint64]struct{}{}, places: map[packedID]uint32{}, wheel: wheel{ticks: map[uint32]*due{}},
	}
}

// Mutate breaks the ledger on purpose, before its first entry. The type of its argument keeps it to tests of package quota.
func (s *State) Mutate(m mutant.Set) { s.mutant = m }

// Now returns the ledger clock of the newest entry, in milliseconds since 1970.
func (s *State) Now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Size are the numbers of things in a ledger.
type Size struct{ Accounts, Nodes, LostSessions, Classes, Overrides, Banned int }

// Size returns how much the ledger holds.
func (s *State) Size() Size {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Size{len(s.slab), len(s.nodes), len(s.lost), len(s.classes), len(s.overrides), len(s.banned)}
}

// Banned reports whether the node with the number was banned.
func (s *State) Banned(node uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.banned[node]
	return is
}

// HaltError says that an entry of the replicated log is not for this build. A replica that gets it must stop.
type HaltError struct{ Reason error }

func (e *HaltError) Error() string { return "halt: " + e.Reason.Error() }

// Unwrap returns the reason.
func (e *HaltError) Unwrap() error { return e.Reason }

// Result is what an entry brought about, for the leader to send to the nodes.
type Result struct {
	At      int64
	Replies []Reply // one per frame, in their order
	Recalls []Recall

	leads bool // grants are wanted
}

// Status says what became of a frame.
type Status uint8

// The statuses of a reply.
const (
	Accepted Status = 1
	Stale    Status = 2 // an old incarnation or sequence number, or a session that ended: the node must register anew
	Refused  Status = 3 // the node is banned, or there are too many
)

// Reply answers a frame.
type Reply struct {
	Node, Incarnation, Seq uint64
	Status                 Status
	Newest                 uint64 // newest incarnation of the node, for a stale one to exceed
	Grants                 []Grant
}

// Grant answers a record.
type Grant struct {
	ID      ID
	Granted int64  // tokens ever granted to the holder, cumulative like the counters of the record
	Limit   int64  // what is enforced now
	Avail   int64  // tokens that are neither leased nor counted; may be negative after a limit was lowered
	RetryMS int64  // if nothing could be granted: when a retry succeeds if nothing else comes
	FreesMS int64  // when the oldest counted token stops counting; 0 if none is counted
	Pend    bool   // other nodes hold unspent tokens and were asked to return them: ask again shortly
	Unknown bool   // the class is not in the ledger, so the limit is 0
	SeedDay uint32 // the ledger may lack calls of this UTC day: tell it the control plane's count; 0 if it does not
	Wait    bool   // nothing is granted before that
}

// Recall asks a node to return what it holds unspent of a limit.
type Recall struct {
	Node, Incarnation uint64
	ID                ID
}

// Apply applies an encoded entry. On an error, which is a *HaltError, the state is unchanged.
func (s *State) Apply(b []byte) (Result, error) { return s.apply(b, true) }

// Follow is Apply for a replica that does not lead: nobody waits for its grants, so its replies have none.
func (s *State) Follow(b []byte) (Result, error) { return s.apply(b, false) }

func (s *State) apply(b []byte, leads bool) (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := reader{rest: b, records: s.records[:0]}
	e, err := r.entry()
	s.records = r.records
	if err != nil {
		return Result{}, &HaltError{err}
	}
	s.now = max(s.now, e.At)
	res := Result{At: s.now, leads: leads}
	for i := range e.Commands {
		s.command(&e.Commands[i], &res)
	}
	if len(e.Frames) > 0 {
		res.Replies = make([]Reply, len(e.Frames))
	}
	for i := range e.Frames {
		s.frame(&e.Frames[i], &res.Replies[i], &res)
	}
	s.collect()
	return res, nil
}

func (s *State) command(c *Command, res *Result) {
	switch c.Kind {
	case SetClass:
		if t, ok := s.classes[c.Class]; (ok && c.Version > t.version) || (!ok && len(s.classes) < ClassesMax) {
			s.classes[c.Class] = terms{version: c.Version, max: c.Max}
		}
	case SetOverride, ClearOverride:
		if t, ok := s.overrides[c.ID]; (ok && c.Version > t.version) || (!ok && len(s.overrides) < OverridesMax) {
			s.overrides[c.ID] = terms{version: c.Version, max: c.Max, cleared: c.Kind == ClearOverride}
		}
		if a := s.find(c.ID); a != nil {
			s.own(a)
			a.advance(s)
			if max, _ := s.limitOf(a); a.counted() > max {
				s.recall(a, nil, res)
			}
		}
	case ForgetNode, BanNode:
		if c.Kind == BanNode && len(s.banned) < BannedMax {
			s.banned[c.Node] = struct{}{}
		}
		if cur := s.nodes[c.Node]; cur != nil {
			cur.forgotten = true
			s.release(cur)
		}
	case SeedDays:
		s.seedDay = uint32(s.now / dayMS)
		s.seeds++
	default:
		panic(fmt.Sprintf("BUG: decoded command of kind %d", c.Kind))
	}
}

// limitOf returns what is enforced for an account, and whether anything is known about it.
func (s *State) limitOf(a *account) (limit int64, known bool) {
	if t, ok := s.overrides[a.id]; ok && !t.cleared {
		return t.max, true
	}
	return s.classLimit(a.class)
}

func (s *State) classLimit(c Class) (limit int64, known bool) {
	if c&literal != 0 {
		return int64(c & LimitMax), true
	}
	t, ok := s.classes[c]
	return t.max, ok
}
