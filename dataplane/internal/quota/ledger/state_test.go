package ledger

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestGrantsHalveDownToSingleTokens(t *testing.T) {
	w := newWorld(t, 100)
	var got []int64
	held := int64(0)
	for range 9 {
		g := w.ask(1, Record{ID: key(1), Class: 1, Hold: 1000})
		got = append(got, g.Granted-held)
		held = g.Granted
	}
	want := []int64{50, 25, 12, 6, 3, 2, 1, 1, 0}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("grants %v, want %v", got, want)
		}
	}
}

func TestTokensCountOneWindowFromTheirSettling(t *testing.T) {
	w := newWorld(t, 1)
	if g := w.ask(1, Record{ID: key(1), Class: 1, Hold: 1}); g.Granted != 1 {
		t.Fatal(g)
	}
	w.at += 700
	g := w.ask(1, Record{ID: key(1), Class: 1, Used: 1, Hold: 1})
	if g.Granted != 1 || g.Avail != 0 || g.Pend {
		t.Fatal(g)
	}
	settled := w.at
	retry := settled + g.RetryMS
	if least := settled + 60_000 + 100; retry < least || retry > least+250 {
		t.Fatalf("retry after %d ms", g.RetryMS)
	}
	for w.at+1000 < retry {
		w.at += 1000 // keeps the session alive
		if g := w.ask(1, Record{ID: key(1), Class: 1, Used: 1, Hold: 1}); g.Granted != 1 || w.at+g.RetryMS != retry {
			t.Fatal(w.at, g)
		}
	}
	w.at = retry - 1
	if g := w.ask(1, Record{ID: key(1), Class: 1, Used: 1, Hold: 1}); g.Granted != 1 {
		t.Fatal("granted early")
	}
	w.at = retry
	if g := w.ask(1, Record{ID: key(1), Class: 1, Used: 1, Hold: 1}); g.Granted != 2 {
		t.Fatal("the retry hint is late", g)
	}
}

func TestLostSessionsAreChargedAtTheirEnd(t *testing.T) {
	w := newWorld(t, 10)
	w.ask(1, Record{ID: key(1), Class: 1, Hold: 4})
	w.at += 1999
	if g := w.ask(2, Record{ID: key(1), Class: 1, Hold: 1}); !g.Pend && g.Granted != 1 {
		t.Fatal(g)
	}
	end := start + 2000
	for w.at+1000 < end+60_000 {
		w.at += 1000
		w.ask(2, Record{ID: key(1), Class: 1, Used: 1})
		if w.s.find(key(1)).counted() < 5 {
			t.Fatalf("lost tokens are free %d ms after the session's end", w.at-end)
		}
	}
	w.at = end + 60_000 + 100 + 250
	w.ask(2, Record{ID: key(1), Class: 1, Used: 1})
	if n := w.s.find(key(1)).counted(); n > 1 {
		t.Fatalf("%d counted", n)
	}
}

// A second process of a node takes nothing over, and the first is charged at its own deadline: it may still run.
func TestIncarnations(t *testing.T) {
	w := newWorld(t, 16)
	w.ask(1, Record{ID: key(1), Class: 1, Hold: 8})
	w.at += 500
	reply := w.frame(Frame{Node: 1, Incarnation: 2, Records: []Record{{ID: key(1), Class: 1, Hold: 2}}}).Replies[0]
	if reply.Status != Accepted || reply.Grants[0].Granted != 2 {
		t.Fatal(reply)
	}
	reply = w.frame(Frame{Node: 1, Incarnation: 1, Records: []Record{{ID: key(1), Class: 1, Used: 8}}}).Replies[0]
	if reply.Status != Stale || reply.Newest != 2 {
		t.Fatal(reply)
	}
	a := w.s.find(key(1))
	if a.outstanding != 10 || a.settled != 0 {
		t.Fatalf("%+v", a)
	}
	w.at += 1500 // the first one's deadline
	w.frame(Frame{Node: 1, Incarnation: 2, Records: []Record{{ID: key(1), Class: 1, Hold: 2}}})
	if a.outstanding != 2 || a.settled != 8 || a.slots[0].at != slotAt(start+2000) {
		t.Fatalf("%+v", a)
	}
	if len(w.s.lost) != 0 {
		t.Error("a lost session is kept though nothing refers to it")
	}
}

func TestStaleFramesHaveNoEffect(t *testing.T) {
	w := newWorld(t, 100)
	w.ask(1, Record{ID: key(1), Class: 1, Hold: 10})
	f := Frame{Node: 1, Incarnation: 1, Seq: 1, Records: []Record{{ID: key(1), Class: 1, Hold: 90}}}
	if r := w.apply(Entry{Frames: []Frame{f}}).Replies[0]; r.Status != Stale || r.Grants != nil {
		t.Error("a replayed frame was taken", r)
	}
	w.at += 2000
	f.Seq = 7
	if r := w.apply(Entry{Frames: []Frame{f}}).Replies[0]; r.Status != Stale {
		t.Error("a frame revived a session that had ended", r)
	}
	f.Incarnation = 2
	if r := w.apply(Entry{Frames: []Frame{f}}).Replies[0]; r.Status != Accepted {
		t.Error(r)
	}
	w.command(Command{Kind: ForgetNode, Node: 1})
	f.Seq = 8
	if r := w.apply(Entry{Frames: []Frame{f}}).Replies[0]; r.Status != Stale {
		t.Error("a forgotten node got through", r)
	}
	w.at += 70_000
	w.ask(2, Record{ID: key(2), Class: 1, Hold: 1})
	for range 30 {
		w.at += 5000
		w.command()
	}
	if size := w.s.Size(); size.Accounts != 0 || size.LostSessions != 0 || size.Nodes != 1 {
		t.Errorf("%+v is kept", size)
	}
}

func TestLeave(t *testing.T) {
	w := newWorld(t, 100)
	w.ask(1, Record{ID: key(1), Class: 1, Hold: 10})
	w.frame(Frame{Node: 1, Incarnation: 1, Leave: true, Records: []Record{{ID: key(1), Class: 1, Used: 3, Void: 6, Hold: 50}}})
	w.at++
	w.ask(2, Record{ID: key(1), Class: 1})
	if a := w.s.find(key(1)); a.settled != 4 || a.outstanding != 0 {
		t.Fatalf("settled %d, outstanding %d", a.settled, a.outstanding)
	}
}

func TestDays(t *testing.T) {
	w := newWorld(t, 1000)
	w.at = start - start%dayMS + dayMS - 1500
	id := ID{Kind: AccountDay, Lo: 1}
	g := w.ask(1, Record{ID: id, Class: 1, Hold: 100})
	if g.Granted != 4 { // ceil(1000/256)
		t.Fatal(g)
	}
	w.at += 100
	if g = w.ask(1, Record{ID: id, Class: 1, Used: 3, Hold: 1}); g.Avail != 996 || g.FreesMS != 1400 {
		t.Fatal(g)
	}
	w.at += 1500 // the next day: what is unspent is charged to it
	if g = w.ask(1, Record{ID: id, Class: 1, Used: 3, Hold: 1}); g.Avail != 999 {
		t.Fatal(g)
	}
	if g = w.ask(1, Record{ID: id, Class: 1, Used: 4}); g.Avail != 999 {
		t.Fatal(g)
	}
	w.command(Command{Kind: SetClass, Class: 1, Version: 2, Max: 1})
	if g = w.ask(1, Record{ID: id, Class: 1, Used: 4, Hold: 1}); g.Granted != 4 || g.RetryMS != dayMS-100 {
		t.Fatal(g)
	}
}

func TestInFlight(t *testing.T) {
	w := newWorld(t, 4)
	id := ID{Kind: KeyInFlight, Lo: 1}
	for range 3 {
		w.ask(1, Record{ID: id, Class: 1, Hold: 4})
	}
	for range 60 { // held for longer than any window
		w.at += 1900
		w.ask(1, Record{ID: id, Class: 1, Hold: 4})
	}
	if g := w.ask(2, Record{ID: id, Class: 1, Hold: 1}); g.Granted != 0 || !g.Pend {
		t.Fatal(g)
	}
	if g := w.ask(1, Record{ID: id, Class: 1, Void: 4}); g.Avail != 4 {
		t.Fatal(g)
	}
	w.ask(1, Record{ID: id, Class: 1, Void: 4, Hold: 1})
	w.at += 2000 // lost: its requests may run on for as long as requests may
	if g := w.ask(3, Record{ID: id, Class: 1, Hold: 1}); g.Avail != 2 {
		t.Fatal(g)
	}
	for end := w.at + w.s.policy.RequestMS + 4000; w.at < end; w.at += 1000 {
		w.ask(3, Record{ID: id, Class: 1, Hold: 1})
	}
	if g := w.ask(3, Record{ID: id, Class: 1, Hold: 1}); g.Avail != 3 {
		t.Fatal(g)
	}
}

func TestAmountsAreGrantedWhole(t *testing.T) {
	w := newWorld(t, 10_000)
	id := ID{Kind: KeyTokens, Lo: 1}
	if g := w.ask(1, Record{ID: id, Class: 1, Hold: 8000}); g.Granted != 8000 {
		t.Fatal(g)
	}
	if g := w.ask(1, Record{ID: id, Class: 1, Used: 6000, Void: 2000}); g.Avail != 4000 {
		t.Fatal(g)
	}
	w.at += 1000
	g := w.ask(1, Record{ID: id, Class: 1, Used: 6000, Void: 2000, Hold: 5000})
	if g.Granted != 12_000 || g.RetryMS < 59_000 || g.RetryMS > 59_600 {
		t.Fatal(g)
	}
}

func TestPendRecallsOtherHolders(t *testing.T) {
	w := newWorld(t, 4)
	for range 3 {
		w.ask(1, Record{ID: key(1), Class: 1, Hold: 4})
	}
	w.at += 20
	res := w.frame(Frame{Node: 2, Incarnation: 1, Records: []Record{{ID: key(1), Class: 1, Hold: 1}}})
	if g := res.Replies[0].Grants[0]; !g.Pend || g.Granted != 0 {
		t.Fatal(g)
	}
	if len(res.Recalls) != 1 || res.Recalls[0] != (Recall{1, 1, key(1)}) {
		t.Fatal(res.Recalls)
	}
	w.at++
	if res := w.frame(Frame{Node: 2, Incarnation: 1, Records: []Record{{ID: key(1), Class: 1, Hold: 1}}}); len(res.Recalls) != 0 {
		t.Fatal("recalled again at once")
	}
	w.ask(1, Record{ID: key(1), Class: 1, Used: 1, Void: 3})
	if g := w.ask(2, Record{ID: key(1), Class: 1, Hold: 1}); g.Granted != 1 {
		t.Fatal(g)
	}
}

func TestPlanChanges(t *testing.T) {
	w := newWorld(t, 100)
	w.command(Command{Kind: SetClass, Class: 2, Version: 1, Max: 1000})
	w.ask(1, Record{ID: key(1), Class: 1, Seen: 5, Hold: 40})
	// A node that read the new plan decides; one that did not cannot turn it back.
	if g := w.ask(2, Record{ID: key(1), Class: 2, Seen: 6}); g.Limit != 1000 || g.Avail != 960 {
		t.Fatal(g)
	}
	if g := w.ask(1, Record{ID: key(1), Class: 1, Seen: 5, Hold: 40}); g.Limit != 1000 {
		t.Fatal(g)
	}
	if g := w.ask(2, Record{ID: key(1), Class: 1, Seen: 6}); g.Limit != 100 { // at the same version the lower one
		t.Fatal(g)
	}
	if g := w.ask(2, Record{ID: key(1), Class: 2, Seen: 6}); g.Limit != 100 {
		t.Fatal(g)
	}
	res := w.command(Command{Kind: SetOverride, ID: key(1), Version: 3, Max: 0}) // revoked
	if len(res.Recalls) != 1 || res.Recalls[0].Node != 1 {
		t.Fatal(res.Recalls)
	}
	w.command(Command{Kind: ClearOverride, ID: key(1), Version: 2}) // older: no effect
	if g := w.ask(2, Record{ID: key(1), Class: 1, Seen: 6, Hold: 1}); g.Granted != 0 || g.Limit != 0 || g.Unknown || g.Avail != -40 {
		t.Fatal(g)
	}
	w.command(Command{Kind: ClearOverride, ID: key(1), Version: 4})
	if g := w.ask(2, Record{ID: key(1), Class: 1, Seen: 6, Hold: 1}); g.Granted != 1 || g.Avail != 59 {
		t.Fatal(g)
	}
	if g := w.ask(2, Record{ID: key(9), Class: 77, Hold: 1}); !g.Unknown || g.Granted != 0 {
		t.Fatal(g)
	}
}

// Whatever nodes send, the ledger never has more tokens out or counted than the limit, and its sums stay true.
func TestHostileNodesMintNothing(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := newWorld(t, 50)
		for i := range Class(4) {
			w.command(Command{Kind: SetClass, Class: i, Version: 2000, Max: 50})
		}
		for range 1500 {
			w.at += r.Int64N(400)
			e := randomEntry(r, w.at)
			e.Commands = nil
			w.apply(e)
			for _, a := range w.s.slab {
				if a.counted() > 50 {
					t.Fatalf("seed %d: limit %s has %d tokens of 50", seed, a.id, a.counted())
				}
			}
		}
	}
}

// The same log gives the same bytes to who leads and who follows, also over a snapshot in its midst that is written while entries are applied.
func TestSnapshotRestoreApplyIsApply(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		a, b := New(DefaultPolicy()), New(DefaultPolicy())
		at := start
		both := func() {
			at += r.Int64N(700)
			e := randomEntry(r, at)
			log := AppendEntry(nil, &e)
			if _, err := a.Apply(log); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Follow(log); err != nil {
				t.Fatal(err)
			}
		}
		for range 300 {
			both()
		}
		c, err := a.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Snapshot(); err == nil {
			t.Fatal("two captures at a time")
		}
		want := snapshotOf(t, b)
		for range r.IntN(200) {
			both()
		}
		var got bytes.Buffer
		if _, err := c.WriteTo(&got); err != nil {
			t.Fatal(err)
		}
		c.Release()
		if !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("seed %d: the capture is not the state at its beginning", seed)
		}
		if err := b.Restore(bytes.NewReader(snapshotOf(t, a))); err != nil {
			t.Fatal(err)
		}
		for range 400 {
			both()
		}
		if !bytes.Equal(snapshotOf(t, a), snapshotOf(t, b)) {
			t.Fatalf("seed %d: states differ", seed)
		}
	}
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	w := newWorld(t, 10)
	w.ask(1, Record{ID: key(1), Class: 1, Hold: 1})
	b := snapshotOf(t, w.s)
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 0x41
		if err := New(DefaultPolicy()).Restore(bytes.NewReader(bad)); err == nil {
			t.Fatalf("byte %d changed and not noticed", i)
		}
		if err := New(DefaultPolicy()).Restore(bytes.NewReader(b[:i])); err == nil {
			t.Fatalf("cut to %d bytes and not noticed", i)
		}
	}
	other := DefaultPolicy()
	other.WindowMS = 1
	if err := New(other).Restore(bytes.NewReader(b)); err == nil {
		t.Error("a snapshot of another policy was taken")
	}
}
