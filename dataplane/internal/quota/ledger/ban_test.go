package ledger

import (
	"bytes"
	"testing"
)

// A banned node gets nothing in this incarnation or a later one, also of a ledger restored from a snapshot; what it held is charged as
// with any lost session, and nobody else is concerned.
func TestABannedNodeGetsNothing(t *testing.T) {
	w := newWorld(t, 100)
	w.ask(1, Record{ID: key(1), Class: 1, Hold: 10})
	w.ask(2, Record{ID: key(1), Class: 1, Hold: 1})
	w.command(Command{Kind: BanNode, Node: 1})
	refused := func() {
		t.Helper()
		for _, incarnation := range []uint64{1, 2} {
			f := Frame{Node: 1, Incarnation: incarnation, Records: []Record{{ID: key(1), Class: 1, Used: 3, Hold: 20}}}
			if r := w.frame(f).Replies[0]; r.Status != Refused || r.Grants != nil {
				t.Errorf("incarnation %d: %+v", incarnation, r)
			}
		}
	}
	refused()
	if a := w.s.find(key(1)); a.counted() != 11 {
		t.Errorf("%d counted", a.counted())
	}
	before := snapshotOf(t, w.s)
	again := New(DefaultPolicy())
	if err := again.Restore(bytes.NewReader(before)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotOf(t, again), before) {
		t.Error("the snapshot of a restored ledger differs")
	}
	w.s = again
	if !w.s.Banned(1) || w.s.Banned(2) {
		t.Error("the restored ledger does not know who is banned")
	}
	refused()
	if g := w.ask(2, Record{ID: key(1), Class: 1, Hold: 2}); g.Granted != 2 {
		t.Errorf("%+v", g)
	}
	w.at += 2000 + 60_000 + 100 + 500 // until one window after its session, which is gone by then, as node 2's is
	w.ask(3, Record{ID: key(1), Class: 1, Hold: 1})
	if a := w.s.find(key(1)); a.counted() != 1 {
		t.Errorf("%d counted", a.counted())
	}
}
