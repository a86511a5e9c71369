package ledger

import "cmp"

// session is an incarnation of a node. Limits point to the sessions that hold their tokens and learn from them, when they are
// next looked at, that tokens are lost. So the end of a session costs nothing, however much it held.
type session struct {
	node, incarnation, seq uint64
	lastSeen               int64 // when its newest frame was applied
	left                   bool  // it said that it stops
	forgotten              bool  // an operator said that the node is gone; its incarnation stays refused
	refs                   int   // holders
}

type sessionKey struct{ node, incarnation uint64 }

func (k sessionKey) compare(o sessionKey) int {
	return cmp.Or(cmp.Compare(k.node, o.node), cmp.Compare(k.incarnation, o.incarnation))
}

func (s *session) key() sessionKey { return sessionKey{s.node, s.incarnation} }

// end is when the node stops using the session's tokens, unless a later frame puts it off. It is not earlier than any use: the
// deadline that the node keeps counts from the sending of a frame that is applied by then.
func (s *session) end(p *Policy) int64 {
	if s.left {
		return s.lastSeen
	}
	return s.lastSeen + p.TTLMS
}

// frame applies a frame of a node.
func (s *State) frame(f *Frame, reply *Reply, res *Result) {
	*reply = Reply{Node: f.Node, Incarnation: f.Incarnation, Seq: f.Seq, Status: Stale, Newest: f.Incarnation}
	cur := s.nodes[f.Node]
	if cur != nil {
		reply.Newest = max(cur.incarnation, f.Incarnation)
	}
	_, banned := s.banned[f.Node]
	switch {
	case banned, cur == nil && len(s.nodes) >= NodesMax:
		reply.Status = Refused
		return
	case cur == nil:
		cur = s.begin(f)
	case f.Incarnation < cur.incarnation:
		return
	case f.Incarnation == cur.incarnation:
		if f.Seq <= cur.seq || cur.left || cur.forgotten || s.now >= cur.end(&s.policy) {
			return
		}
	default:
		// The old process may still run, so its tokens are charged at its own deadline and not now.
		next := s.begin(f)
		s.supersede(cur, next)
		cur = next
	}
	reply.Status = Accepted
	previous := cur.lastSeen
	cur.seq, cur.lastSeen = f.Seq, s.now
	if len(f.Records) > 0 && res.leads {
		reply.Grants = make([]Grant, len(f.Records))
	}
	for i := range f.Records {
		g := s.record(cur, &f.Records[i], f.Leave, previous, res)
		if res.leads {
			reply.Grants[i] = g
		}
	}
	if f.Leave {
		cur.left = true
	}
}

func (s *State) begin(f *Frame) *session {
	cur := &session{node: f.Node, incarnation: f.Incarnation, lastSeen: s.now}
	s.nodes[f.Node] = cur
	return cur
}

func (s *State) supersede(old, next *session) {
	if s.mutant.HolderByNode {
		for _, a := range s.slab {
			for i := range a.holders {
				if a.holders[i].session == old {
					a.holders[i].session = next
					old.refs--
					next.refs++
				}
			}
		}
	}
	if old.refs > 0 {
		s.lost[old.key()] = old
	}
}

// unhold takes a holder's reference to its session.
func (s *State) unhold(x *session) {
	x.refs--
	s.release(x)
}

// release drops a session that nothing refers to any more.
func (s *State) release(x *session) {
	if x.refs > 0 {
		return
	}
	delete(s.lost, x.key())
	if x.forgotten && s.nodes[x.node] == x && s.now >= x.end(&s.policy) {
		delete(s.nodes, x.node)
	}
}
