package sim

import (
	"time"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// fail has the node meet a fault now and then.
func (n *node) fail() {
	w := n.w
	if w.fault == 0 {
		return
	}
	w.after(w.mean(w.fault), func() {
		n.fault()
		n.fail()
	})
}

func (n *node) fault() {
	w := n.w
	span := 200*ms + w.r.Int64N(6*second)
	switch w.r.IntN(7) {
	case 0: // crash and restart, with its tokens gone
		if !n.down {
			n.down = true
			w.after(span/4, func() { n.down, n.until = false, 0; n.boot() })
		}
	case 1: // stopped (SIGSTOP, a paused machine)
		n.until = max(n.until, w.now+span)
	case 2, 3: // stopped in the middle of its next decision
		n.pauseNow = span
	case 4: // all cut
		n.sends, n.hears = false, false
		w.after(span, func() { n.sends, n.hears = true, true })
	case 5: // it sends and hears nothing
		n.hears = false
		w.after(span, func() { n.hears = true })
	default:
		n.sends = false
		w.after(span, func() { n.sends = true })
	}
}

// delay is the time of a message on its way; some take long, and some arrive twice.
func (w *world) deliver(do func()) {
	if w.r.Float64() < w.loss {
		return
	}
	copies := 1
	if w.loss > 0 && w.r.Float64() < w.loss {
		copies = 2
	}
	for range copies {
		d := 100_000 + w.mean(300*time.Microsecond)
		if w.loss > 0 && w.r.IntN(50) == 0 {
			d += w.r.Int64N(900 * ms)
		}
		w.after(d, do)
	}
}

func (w *world) send(n *node, frame []byte) {
	if !n.sends {
		return
	}
	w.deliver(func() { w.group.receive(frame) })
}

func (w *world) reply(r ledger.Reply) {
	n := w.nodes[r.Node-1]
	w.deliver(func() {
		if n.hears {
			n.do(func() { n.receive(&r) })
		}
	})
}

func (w *world) recall(r ledger.Recall) {
	n := w.nodes[r.Node-1]
	w.deliver(func() {
		if n.hears {
			n.do(func() { n.core.Recall(n.clock(), r); n.step() })
		}
	})
}

// group is the replicated ledger: one state, since equal logs make equal states, and a clock per voter. A leader gathers frames for a
// tick, stamps them, and some time later they are committed or, if it is lost before, perhaps not.
type group struct {
	w       *world
	s       *ledger.State
	voters  [3]*voter
	leader  *voter // nil during an election
	term    int
	pending [][]byte
	ticking bool
	// midnight is the true time at which the ledger clock passed 00:00 UTC.
	midnight int64
}

type voter struct {
	clock  ledger.Clock
	offset int64 // of its wall clock: minutes, as of an unattended machine
	drift  float64
}

func (v *voter) mono(t int64) int64 { return t + int64(float64(t)*v.drift) }
func (v *voter) wall(t int64) int64 { return epoch + v.offset + v.mono(t) }

func newGroup(w *world) *group {
	g := &group{w: w, s: ledger.New(ledger.DefaultPolicy())}
	g.s.Mutate(w.mutant)
	for i := range g.voters {
		v := &voter{offset: (w.r.Int64N(180) - 90) * second, drift: (w.r.Float64()*2 - 1) * 200e-6}
		v.clock.Mutate(w.mutant)
		v.clock.Resume(0, epoch, 0)
		g.voters[i] = v
	}
	e := ledger.Entry{At: epoch / ms}
	limits := w.limits
	if w.dayLimit > 0 {
		limits = append(limits[:len(limits):len(limits)], w.dayLimit)
	}
	for _, more := range []int64{w.tokens, w.running} {
		if more > 0 {
			limits = append(limits[:len(limits):len(limits)], more)
		}
	}
	for i, l := range limits {
		e.Commands = append(e.Commands, ledger.Command{Kind: ledger.SetClass, Class: ledger.Class(i + 1), Version: 1, Max: l})
	}
	g.commit(e.At, 0, ledger.AppendEntry(nil, &e), g.term, nil)
	g.leader = g.voters[0]
	g.lose()
	return g
}

// receive takes a frame as the leader does.
func (g *group) receive(frame []byte) {
	if g.leader == nil {
		return
	}
	g.pending = append(g.pending, frame)
	if g.ticking {
		return
	}
	g.ticking = true
	term := g.term
	g.w.after(g.w.r.Int64N(2*ms), func() { g.propose(term) })
}

func (g *group) propose(term int) {
	if term != g.term {
		return
	}
	g.ticking = false
	w, v := g.w, g.leader
	e := ledger.Entry{At: v.clock.Stamp(v.wall(w.now), v.mono(w.now))}
	for _, b := range g.pending {
		f, err := ledger.DecodeFrame(b)
		if err != nil {
			w.t.Fatal(err)
		}
		e.Frames = append(e.Frames, f)
	}
	g.pending = nil
	stamped := w.now
	b := ledger.AppendEntry(nil, &e)
	w.after(300_000+w.mean(600*time.Microsecond), func() {
		if term == g.term || w.r.IntN(2) == 0 { // of a lost leader some entries survive, and nobody answers
			g.commit(e.At, stamped, b, term, v)
		}
	})
}

func (g *group) commit(at, stamped int64, b []byte, term int, by *voter) {
	const day = 24 * 60 * 60 * 1000
	if g.midnight == 0 && at/day != epoch/ms/day {
		g.midnight = stamped
	}
	res, err := g.s.Apply(b)
	if err != nil {
		g.w.t.Fatal(err)
	}
	for _, v := range g.voters {
		if v != by && v != g.leader { // a follower hears of it a little later
			v := v
			g.w.after(g.w.mean(time.Millisecond), func() {
				if v != g.leader {
					v.clock.Observe(at, v.mono(g.w.now))
				}
			})
		}
	}
	if term != g.term {
		return
	}
	for _, r := range res.Replies {
		g.w.reply(r)
	}
	for _, r := range res.Recalls {
		g.w.recall(r)
	}
}

// lose has the leader vanish now and then; another one takes over after an election.
func (g *group) lose() {
	w := g.w
	if w.leader == 0 {
		return
	}
	w.after(w.mean(w.leader), func() {
		g.term++
		g.leader, g.pending, g.ticking = nil, nil, false
		w.after(300*ms+w.r.Int64N(1200*ms), func() {
			g.leader = g.voters[w.r.IntN(len(g.voters))]
			g.leader.clock.Lead(g.leader.wall(w.now))
			g.lose()
		})
	})
}
