package ledger

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

const start = int64(1_790_000_000_000) // some Monday; slots are beyond 32 bits

// world applies frames to a ledger.
type world struct {
	t   *testing.T
	s   *State
	at  int64
	seq map[uint64]uint64
}

func newWorld(t *testing.T, limit int64) *world {
	t.Helper()
	w := &world{t: t, s: New(DefaultPolicy()), at: start, seq: map[uint64]uint64{}}
	w.command(Command{Kind: SetClass, Class: 1, Version: 1, Max: limit})
	return w
}

func (w *world) apply(e Entry) Result {
	w.t.Helper()
	e.At = w.at
	res, err := w.s.Apply(AppendEntry(nil, &e))
	if err != nil {
		w.t.Fatal(err)
	}
	w.check()
	return res
}

func (w *world) command(c ...Command) Result { w.t.Helper(); return w.apply(Entry{Commands: c}) }

// ask sends one frame with one record of incarnation 1.
func (w *world) ask(node uint64, r Record) Grant {
	w.t.Helper()
	reply := w.frame(Frame{Node: node, Incarnation: 1, Records: []Record{r}}).Replies[0]
	if reply.Status != Accepted {
		w.t.Fatalf("frame of node %d: status %d", node, reply.Status)
	}
	return reply.Grants[0]
}

func (w *world) frame(f Frame) Result {
	w.t.Helper()
	w.seq[f.Node]++
	f.Seq = w.seq[f.Node]
	return w.apply(Entry{Frames: []Frame{f}})
}

// check demands that the sums of every account are true.
func (w *world) check() {
	w.t.Helper()
	for place, a := range w.s.slab {
		id := a.id
		if w.s.find(id) != a || int(a.index) != place || len(w.s.places) != len(w.s.slab) {
			w.t.Fatalf("limit %s: at place %d of %d, known at %d of %d", id, place, len(w.s.slab), a.index, len(w.s.places))
		}
		var settled, outstanding int64
		for _, s := range a.slots {
			settled += int64(s.count)
		}
		for i := range a.holders {
			outstanding += int64(a.holders[i].outstanding)
		}
		if (!id.Kind.Daily() && settled != a.settled) || outstanding != a.outstanding || a.settled < 0 {
			w.t.Fatalf("limit %s: settled %d, slots %d; outstanding %d, holders %d", id, a.settled, settled, a.outstanding, outstanding)
		}
		if !slices.IsSortedFunc(a.slots, func(x, y slot) int { return int(int32(x.at - y.at)) }) {
			w.t.Fatalf("limit %s: slots %v", id, a.slots)
		}
	}
}

func key(n uint64) ID { return ID{Kind: KeyMinute, Lo: n} }

func snapshotOf(t *testing.T, s *State) []byte {
	t.Helper()
	c, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// randomEntry makes an entry of frames as honest, confused and hostile nodes send them.
func randomEntry(r *rand.Rand, at int64) Entry {
	e := Entry{At: at}
	kinds := []Kind{KeyMinute, AppMinute, AccountDay, KeyInFlight, KeyTokens}
	id := func() ID {
		id := ID{Kind: kinds[r.IntN(len(kinds))], Lo: uint64(r.IntN(40))}
		if id.Lo%3 == 0 {
			id.Hi = 1 << 60
		}
		return id
	}
	if r.IntN(10) == 0 {
		e.Commands = append(e.Commands, Command{
			Kind: CommandKind(1 + r.IntN(6)), Class: Class(r.IntN(4)), ID: id(), Node: uint64(4 + r.IntN(60)),
			Version: uint64(r.IntN(1000)), Max: int64(r.IntN(300)),
		})
	}
	for range r.IntN(6) {
		f := Frame{Node: uint64(1 + r.IntN(5)), Incarnation: uint64(1 + at/20_000%1000 + int64(r.IntN(2))), Seq: uint64(at), Leave: r.IntN(50) == 0}
		for range r.IntN(10) {
			rec := Record{ID: id(), Class: Class(r.IntN(4)), Seen: uint64(r.IntN(5)), Used: r.Int64N(1000), Void: r.Int64N(300), Hold: r.Int64N(100)}
			if r.IntN(20) == 0 {
				rec.Used, rec.Void, rec.Hold = r.Int64N(counterMax), r.Int64N(counterMax), r.Int64N(LimitMax)
			}
			if r.IntN(10) == 0 {
				rec.Seed = r.Int64N(200)
			}
			f.Records = append(f.Records, rec)
		}
		e.Frames = append(e.Frames, f)
	}
	return e
}

func slotAt(ms int64) uint32 { return uint32(ms / 250) }
