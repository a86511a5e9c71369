package ledger

import (
	"bytes"
	"testing"
)

// A ledger that is told that it may lack calls grants nothing of a day before it has the control plane's count, and never less than
// that is counted afterwards.
func TestDaysWaitForTheCountOfTheControlPlane(t *testing.T) {
	w := newWorld(t, 100)
	w.at = start - start%dayMS + 1000
	today := uint32(w.at / dayMS)
	w.command(Command{Kind: SeedDays})
	id := ID{Kind: AccountDay, Lo: 1}
	if g := w.ask(1, Record{ID: id, Class: 1, Hold: 1}); g.Granted != 0 || !g.Wait || g.SeedDay != today || g.RetryMS != 0 {
		t.Fatalf("%+v", g)
	}
	if g := w.ask(1, Record{ID: key(1), Class: 1, Hold: 1}); g.Granted == 0 || g.SeedDay != 0 {
		t.Fatalf("a limit per minute waits: %+v", g)
	}
	g := w.ask(1, Record{ID: id, Class: 1, Hold: 1, Seed: 71})
	if g.Granted != 1 || g.Wait || g.Avail != 29 || g.SeedDay != today {
		t.Fatalf("%+v", g)
	}
	if g = w.ask(2, Record{ID: id, Class: 1, Seed: 41}); g.Avail != 29 {
		t.Fatalf("a lower count: %+v", g)
	}
	if g = w.ask(1, Record{ID: id, Class: 1, Used: 1, Seed: 81}); g.Avail != 20 {
		t.Fatalf("a higher count: %+v", g)
	}
	again := New(DefaultPolicy())
	if err := again.Restore(bytes.NewReader(snapshotOf(t, w.s))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotOf(t, again), snapshotOf(t, w.s)) {
		t.Error("the snapshot of a restored ledger differs")
	}
	w.s = again
	if g = w.ask(2, Record{ID: id, Class: 1, Hold: 1}); g.Wait || g.Avail != 19 {
		t.Fatalf("restored: %+v", g)
	}
	w.command(Command{Kind: SeedDays}) // recovered: the count is asked for anew, and what is known stays
	if g = w.ask(2, Record{ID: id, Class: 1, Hold: 2}); !g.Wait || g.Granted != 1 {
		t.Fatalf("%+v", g)
	}
	if g = w.ask(2, Record{ID: id, Class: 1, Used: 1, Hold: 1, Seed: 1}); g.Granted != 2 || g.Avail != 18 {
		t.Fatalf("%+v", g)
	}
	w.at += dayMS
	if g = w.ask(3, Record{ID: id, Class: 1, Hold: 1, Seed: 91}); g.Wait || g.SeedDay != 0 || g.Granted != 1 || g.Avail < 97 {
		t.Fatalf("the count of another day: %+v", g)
	}
}

// Ledgers that were never told to seed days are stored as builds store them that do not know of it.
func TestLedgersWithoutSeedsAreStoredAsBefore(t *testing.T) {
	w := newWorld(t, 100)
	w.ask(1, Record{ID: ID{Kind: AccountDay, Lo: 1}, Class: 1, Hold: 1})
	if v := snapshotOf(t, w.s)[len(snapshotMagic)]; v != 1 {
		t.Errorf("version %d", v)
	}
}
