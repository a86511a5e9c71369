package sim

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/internal/mutant"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
	epoch  = int64(1_790_035_140) * second // wall time of the beginning: one minute before midnight UTC
)

// setting is what a run is made of.
type setting struct {
	nodes    int
	limits   []int64 // of the sliding keys
	dayLimit int64   // of one more key that counts per day; 0 for none
	tokens   int64   // of one more key, of which calls take different amounts, use a part of them and return the rest; 0 for none
	running  int64   // of one more key that counts calls while they run; 0 for none
	load     float64 // times the sum of the limits
	clumps   bool    // calls come thirty at a time, and faults with them
	skewed   bool    // node i gets 1/(i+1) of what the first gets
	duration time.Duration
	fault    time.Duration // mean time between faults of a node; 0 for none
	leader   time.Duration // mean time between losses of the leader; 0 for none
	loss     float64       // of messages
	mutant   mutant.Set
}

// world is one run.
type world struct {
	setting
	t      *testing.T
	r      *rand.Rand
	now    int64 // true time in nanoseconds from the beginning
	seq    uint64
	events events
	keys   []*track
	nodes  []*node
	group  *group
}

// track is a limit and what was admitted of it, in true time.
type track struct {
	id       ledger.ID
	limit    int64
	admitted []int64
	arrivals []int64
	asked    int // calls that had to ask the ledger
	running  int64
	most     int64 // calls that ran at a time
}

type event struct {
	at  int64
	seq uint64
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || (e[i].at == e[j].at && e[i].seq < e[j].seq)
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}

func (w *world) at(t int64, do func()) {
	w.seq++
	heap.Push(&w.events, event{max(t, w.now), w.seq, do})
}

func (w *world) after(d int64, do func()) { w.at(w.now+d, do) }

// mean returns an exponentially distributed time.
func (w *world) mean(d time.Duration) int64 { return int64(w.r.ExpFloat64() * float64(d)) }

func run(t *testing.T, s setting, seed uint64) *world {
	t.Helper()
	w := &world{setting: s, t: t, r: rand.New(rand.NewPCG(seed, 0x51b))}
	w.group = newGroup(w)
	for i, l := range s.limits {
		w.keys = append(w.keys, &track{id: ledger.ID{Kind: ledger.KeyMinute, Lo: uint64(i + 1)}, limit: l})
	}
	if s.dayLimit > 0 {
		w.keys = append(w.keys, &track{id: ledger.ID{Kind: ledger.AccountDay, Lo: 99}, limit: s.dayLimit})
	}
	if s.tokens > 0 {
		w.keys = append(w.keys, &track{id: ledger.ID{Kind: ledger.KeyTokens, Lo: 100}, limit: s.tokens})
	}
	if s.running > 0 {
		w.keys = append(w.keys, &track{id: ledger.ID{Kind: ledger.KeyInFlight, Lo: 101}, limit: s.running})
	}
	for i := range s.nodes {
		w.nodes = append(w.nodes, newNode(w, uint64(i+1)))
	}
	for i, k := range w.keys {
		w.arrive(i, k)
	}
	for len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		if e.at > int64(s.duration) {
			break
		}
		w.now = e.at
		e.do()
	}
	return w
}

// arrive has a call of the key arrive now and then, at some node.
func (w *world) arrive(i int, k *track) {
	gap := time.Duration(float64(time.Minute) / (w.load * float64(k.limit)))
	if k.holds() {
		w.arriveHold(i, k)
		return
	}
	if w.clumps {
		w.clump(i, k, clumpCalls*gap)
		return
	}
	w.after(w.mean(gap), func() {
		k.arrivals = append(k.arrivals, w.now)
		n := w.nodes[w.pick()]
		n.do(func() { n.call(i) })
		w.arrive(i, k)
	})
}

const clumpCalls = 30

// clump has many calls of a key arrive at one node, at a rate that makes it lease ahead, often with a fault among them.
func (w *world) clump(i int, k *track, gap time.Duration) {
	w.after(w.mean(gap), func() {
		n := w.nodes[w.pick()]
		if w.r.IntN(3) == 0 {
			w.after(w.r.Int64N(600*ms), n.fault)
		}
		for j := range int64(clumpCalls) {
			w.after(j*25*ms, func() {
				k.arrivals = append(k.arrivals, w.now)
				n.do(func() { n.call(i) })
			})
		}
		w.clump(i, k, gap)
	})
}

func (w *world) pick() int {
	if !w.skewed {
		return w.r.IntN(len(w.nodes))
	}
	sum := 0.0
	for i := range w.nodes {
		sum += 1 / float64(i+1)
	}
	x := w.r.Float64() * sum
	for i := range w.nodes {
		if x -= 1 / float64(i+1); x <= 0 {
			return i
		}
	}
	return len(w.nodes) - 1
}

// node is a process with a real core.
type node struct {
	w           *world
	id          uint64
	core        *client.Core
	cells       []*client.Cell
	waiters     [][]waiter // per key
	holds       map[*held]bool
	incarnation uint64 // of the process, as from its disk
	drift       float64
	offset      int64
	down        bool
	until       int64 // stopped until then; its events wait
	pauseNow    int64 // how long the process stops in its next decision
	deciding    bool
	sends       bool // a direction of its line is cut
	hears       bool
	timer       uint64
}

func newNode(w *world, id uint64) *node {
	n := &node{
		w: w, id: id, sends: true, hears: true, drift: (w.r.Float64()*2 - 1) * 200e-6, offset: w.r.Int64N(1000 * second),
	}
	n.boot()
	n.fail()
	return n
}

func (n *node) boot() {
	n.incarnation += 1000
	n.core = client.NewCore(n.id, n.incarnation, 2*time.Second, n.clock, func() {})
	n.core.Mutate(n.w.mutant)
	n.cells, n.waiters = nil, make([][]waiter, len(n.w.keys))
	n.crash()
	for i, k := range n.w.keys {
		n.cells = append(n.cells, client.NewCell(k.id, ledger.Class(i+1), 1))
	}
	n.step()
}

// clock is the node's monotonic clock. A pending pause happens on one side of the reading or the other: between the two steps of
// a decision, whichever order they have.
func (n *node) clock() int64 {
	if n.pauseNow == 0 || !n.deciding {
		return n.local(max(n.w.now, n.until))
	}
	before := n.local(n.w.now)
	n.until = max(n.until, n.w.now+n.pauseNow)
	n.pauseNow = 0
	if n.w.mutant.ClockFirst {
		return before
	}
	return n.local(n.until)
}

func (n *node) local(t int64) int64 { return n.offset + t + int64(float64(t)*n.drift) }

// do runs something in the process, when it runs.
func (n *node) do(f func()) {
	core := n.core
	if n.until > n.w.now {
		n.w.at(n.until, func() { n.do(f) })
		return
	}
	if !n.down && n.core == core {
		f()
	}
}

func (n *node) call(i int) {
	if !n.try(i) {
		n.w.keys[i].asked++
		n.waiters[i] = append(n.waiters[i], waiter{until: n.w.now + int64(client.MaxWait)})
		n.core.Want(n.cells[i], 1)
		n.step()
	}
}

// try decides a call. It reports whether the call is over.
func (n *node) try(i int) bool {
	n.deciding = true
	out := n.core.Try(n.cells[i])
	n.deciding = false
	switch out {
	case client.Admitted:
		n.w.keys[i].admitted = append(n.w.keys[i].admitted, max(n.w.now, n.until))
		n.step()
		return true
	case client.Denied:
		return true
	default:
		return false
	}
}

// retry lets the waiting calls of a key look again.
func (n *node) retry(i int) {
	old := n.waiters[i]
	n.waiters[i] = old[:0:0]
	for _, one := range old {
		var over bool
		if one.tokens > 0 {
			over = n.tryHold(i, one.tokens)
		} else {
			over = n.try(i)
		}
		if over || n.w.now >= one.until {
			n.core.Unwant(n.cells[i], max(1, one.tokens))
			continue
		}
		n.waiters[i] = append(n.waiters[i], one)
	}
}

// step sends what is due and sets the timer.
func (n *node) step() {
	now := n.clock()
	if f, ok := n.core.Frame(now); ok {
		b := ledger.AppendFrame(nil, &f)
		n.w.at(n.until, func() { n.w.send(n, b) }) // if it was stopped while it looked at the clock, it sends afterwards
	}
	n.timer++
	mine := n.timer
	n.w.after(max(n.core.Due(now)-now, 10_000), func() {
		n.do(func() {
			if n.timer == mine {
				n.step()
			}
		})
	})
}

func (n *node) receive(r *ledger.Reply) {
	for _, c := range n.core.Receive(n.clock(), r) {
		for i := range n.cells {
			if n.cells[i] == c {
				n.retry(i)
			}
		}
	}
	n.step()
}
