package ledger

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestIdleLimitsGo(t *testing.T) {
	w := newWorld(t, 10)
	const n = 3 * collectPerEntryMax
	for i := 0; i < n; i += 1000 {
		f := Frame{Node: 1, Incarnation: 1}
		for j := i; j < min(i+1000, n); j++ {
			f.Records = append(f.Records, Record{ID: key(uint64(j)), Class: 1, Hold: 1})
		}
		w.frame(f)
	}
	w.at += 120_000
	for i := range 200 { // settle lost tokens, then let them run out
		if i%50 == 0 {
			w.at += 61_000
		}
		before := w.s.Size().Accounts
		w.command()
		if gone := before - w.s.Size().Accounts; gone > collectPerEntryMax {
			t.Fatalf("one entry dropped %d limits", gone)
		}
	}
	if size := w.s.Size(); size.Accounts != 0 || len(w.s.slab) != 0 || len(w.s.wheel.ticks) > 1 {
		t.Errorf("%+v, slab %d, ticks %d", size, len(w.s.slab), len(w.s.wheel.ticks))
	}
}

// What is due comes in the order of the IDs, however it was added.
func TestDueLimitsComeInOrder(t *testing.T) {
	const n = 5*runAccounts + runAccounts/2
	w := wheel{ticks: map[uint32]*due{}}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
		w.add(&account{id: key(uint64(i))}, 7)
	}
	d := w.ticks[7]
	for i := range uint64(n) {
		if d.empty() {
			t.Fatalf("%d of %d came", i, n)
		}
		if a := d.next(); a.id != key(i) || a.due != 7 {
			t.Fatalf("%s came as number %d", a.id, i)
		}
	}
	if !d.empty() {
		t.Error("there are more than were added")
	}
}

// A capture runs beside applies (under the race detector) and accounts that come, go and move do not disturb it.
func TestCaptureBesideApply(t *testing.T) {
	w := newWorld(t, 10)
	frame := func(from, n uint64) {
		f := Frame{Node: 1, Incarnation: uint64(w.at)}
		for j := range n {
			f.Records = append(f.Records, Record{ID: key(from + j), Class: 1, Hold: 1})
		}
		w.frame(f)
	}
	frame(0, 5000)
	twin := New(DefaultPolicy())
	if err := twin.Restore(bytes.NewReader(snapshotOf(t, w.s))); err != nil {
		t.Fatal(err)
	}
	want := snapshotOf(t, twin)
	c, err := w.s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := c.WriteTo(&got); err != nil {
			t.Error(err)
		}
	})
	for i := range uint64(20) {
		w.at += 31_000
		frame(4000+i*100, 500)
	}
	done.Wait()
	c.Release()
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("the capture is not the state at its beginning")
	}
}
