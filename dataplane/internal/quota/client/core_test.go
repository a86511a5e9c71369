package client

import (
	"testing"
	"time"
	"unsafe"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

const (
	ms    = int64(time.Millisecond)
	ttl   = 2 * time.Second
	start = int64(1_790_000_000_000)
)

// bench is a core and a ledger in one virtual time, with a perfect line between them.
type bench struct {
	t    *testing.T
	now  int64
	core *Core
	s    *ledger.State
}

func newBench(t *testing.T, limit int64) *bench {
	t.Helper()
	b := &bench{t: t, s: ledger.New(ledger.DefaultPolicy())}
	b.core = NewCore(1, 1, ttl, func() int64 { return b.now }, func() {})
	b.apply(ledger.Entry{Commands: []ledger.Command{{Kind: ledger.SetClass, Class: 1, Version: 1, Max: limit}}})
	return b
}

func (b *bench) apply(e ledger.Entry) ledger.Result {
	b.t.Helper()
	e.At = start + b.now/ms
	res, err := b.s.Apply(ledger.AppendEntry(nil, &e))
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

// run lets time pass, with frames answered after 1 ms.
func (b *bench) run(d time.Duration) {
	b.t.Helper()
	for end := b.now + int64(d); b.now < end; b.now += ms {
		b.trade()
	}
}

func (b *bench) trade() {
	b.t.Helper()
	if f, ok := b.core.Frame(b.now); ok {
		res := b.apply(ledger.Entry{Frames: []ledger.Frame{f}})
		b.now += ms
		b.core.Receive(b.now, &res.Replies[0])
		for _, r := range res.Recalls {
			b.core.Recall(b.now, r)
		}
	}
}

// other is what a second node asks.
func (b *bench) other(seq uint64, r ledger.Record) ledger.Grant {
	b.t.Helper()
	r.Class = 1
	res := b.apply(ledger.Entry{Frames: []ledger.Frame{{Node: 2, Incarnation: 1, Seq: seq, Records: []ledger.Record{r}}}})
	for _, r := range res.Recalls {
		b.core.Recall(b.now, r)
	}
	return res.Replies[0].Grants[0]
}

// get asks for a token like a caller that waits.
func (b *bench) get(c *Cell) Outcome {
	b.t.Helper()
	for range 100 {
		if out := b.core.Try(c); out != Ask {
			return out
		}
		b.core.Want(c, 1)
		b.run(2 * time.Millisecond)
		out := b.core.Try(c)
		b.core.Unwant(c, 1)
		if out != Ask {
			return out
		}
	}
	return Ask
}

func minuteCell(n uint64) *Cell { return NewCell(ledger.ID{Kind: ledger.KeyMinute, Lo: n}, 1, 1) }

func TestALimitIsSpentExactly(t *testing.T) {
	b := newBench(t, 100)
	c := minuteCell(1)
	for i := range 100 {
		if out := b.get(c); out != Admitted {
			t.Fatalf("call %d: %d", i, out)
		}
	}
	if out := b.get(c); out != Denied {
		t.Fatal(out)
	}
	retry := time.Duration(c.retryAt.Load() - b.now)
	if retry < 59*time.Second || retry > 61*time.Second {
		t.Fatal(retry)
	}
	b.run(retry)
	if out := b.get(c); out != Admitted {
		t.Fatal("the retry hint is late")
	}
}

// A call that gets its token costs one frame. Who waits for more than came is asked for again at once.
func TestACallIsAskedForOnce(t *testing.T) {
	b := newBench(t, 100)
	b.run(time.Second)
	one, many := minuteCell(1), NewCell(ledger.ID{Kind: ledger.KeyTokens, Lo: 1}, 1, 1)
	b.core.Want(one, 1)
	b.trade()
	if gap := b.core.Due(b.now) - b.core.sentAt; gap <= int64(urgentGap) {
		t.Errorf("the next frame is due after %d us, and nobody waits for it", gap/1000)
	}
	if out := b.core.Try(one); out != Admitted {
		t.Fatal(out)
	}
	b.core.Unwant(one, 1)
	b.run(time.Second)
	b.core.Want(many, 200)
	b.trade()
	if gap := b.core.Due(b.now) - b.core.sentAt; gap > int64(urgentGap) {
		t.Errorf("the next frame is due after %d us, and someone waits for it", gap/1000)
	}
}

func TestAHotKeySeldomWaits(t *testing.T) {
	b := newBench(t, 100_000)
	c := minuteCell(1)
	waited := 0
	for range 5000 { // 500 calls per second
		if b.core.Try(c) != Admitted {
			waited++
			b.get(c)
		}
		b.run(2 * time.Millisecond)
	}
	if waited > 50 {
		t.Errorf("%d of 5000 calls waited", waited)
	}
	if f := b.core.Stats().Frames; f > 1200 {
		t.Errorf("%d frames in 10 s", f)
	}
}

func TestIdleTokensGoBack(t *testing.T) {
	b := newBench(t, 3200)
	c := minuteCell(1)
	for range 200 {
		b.get(c)
		b.run(5 * time.Millisecond)
	}
	if left(c.word.Load()) == 0 {
		t.Fatal("nothing was leased ahead")
	}
	b.run(400 * time.Millisecond)
	if w := c.word.Load(); left(w) != 1 {
		t.Fatalf("%d tokens are kept, want one for the next call", left(w))
	}
	b.run(reserveFor)
	if w := c.word.Load(); left(w) != 0 {
		t.Fatalf("%d tokens are kept", left(w))
	}
	if g := b.other(1, ledger.Record{ID: c.id}); g.Avail != 3000 {
		t.Fatal(g)
	}
	if len(b.core.holding) != 0 || len(b.core.byID) != 0 {
		t.Error("an empty cell is kept track of")
	}
}

func TestRecalledTokensGoBackAtOnce(t *testing.T) {
	b := newBench(t, 320)
	c := minuteCell(1)
	for range 100 {
		b.get(c)
		b.run(5 * time.Millisecond)
	}
	for seq := uint64(1); ; seq++ { // the other node takes all the rest
		if g := b.other(seq, ledger.Record{ID: c.id, Hold: 1000}); g.Granted > 0 && g.Pend {
			break
		}
	}
	b.run(10 * time.Millisecond)
	var g ledger.Grant
	for seq := range uint64(20) {
		g = b.other(1000+seq, ledger.Record{ID: c.id, Hold: 1000})
	}
	if g.Granted != 220 {
		t.Fatalf("granted %d of 220", g.Granted)
	}
}

func TestRefunds(t *testing.T) {
	b := newBench(t, 10)
	c := minuteCell(1)
	avail := func() int64 { return b.other(uint64(b.now), ledger.Record{ID: c.id}).Avail }
	b.get(c)
	b.run(time.Second)
	before := avail()
	ticket := b.core.Ticket()
	b.core.Refund(ticket, []*Cell{c}) // its use was reported: too late
	b.run(time.Second)
	if got := avail(); got != before {
		t.Fatalf("a reported token came back: %d, %d", got, before)
	}
	b.core.Want(c, 1)
	b.run(3 * time.Millisecond)
	b.core.Unwant(c, 1)
	ticket = b.core.Ticket()
	if b.core.Try(c) != Admitted {
		t.Fatal("no token")
	}
	b.core.Refund(ticket, []*Cell{c})
	b.run(time.Second)
	if got := avail(); got != before {
		t.Fatalf("an unreported token did not come back: %d, %d", got, before)
	}
	b.now += int64(10 * time.Second)
	b.run(10 * time.Millisecond) // a new session
	b.core.Refund(ticket, []*Cell{c})
	if c.refunds.Load() != 0 {
		t.Fatal("a refund of another session was taken")
	}
}

func TestHolds(t *testing.T) {
	b := newBench(t, 1000)
	c := NewCell(ledger.ID{Kind: ledger.KeyTokens, Lo: 1}, 1, 1)
	hold := func(tokens int64) (Hold, Outcome) {
		if h, out := b.core.Hold(c, tokens); out != Ask {
			return h, out
		}
		b.core.Want(c, tokens)
		defer b.core.Unwant(c, tokens)
		b.run(5 * time.Millisecond)
		return b.core.Hold(c, tokens)
	}
	h, out := hold(800)
	if out != Admitted {
		t.Fatal(out)
	}
	b.run(70 * time.Second) // a long stream keeps its tokens
	if _, out := hold(300); out != Denied {
		t.Fatal(out)
	}
	b.core.Settle(h, 500)
	b.run(time.Second)
	if g := b.other(1, ledger.Record{ID: c.id}); g.Avail != 500 {
		t.Fatal(g)
	}
	h, _ = hold(400)
	b.core.Settle(h, 9999) // no more than it held
	b.run(time.Second)
	if g := b.other(2, ledger.Record{ID: c.id}); g.Avail != 100 {
		t.Fatal(g)
	}
	h, _ = hold(100)
	b.now += int64(5 * time.Second)
	b.run(10 * time.Millisecond)
	b.core.Settle(h, 0) // of a lost session: charged already
	if w := c.word.Load(); left(w) != 0 || held(w) != 0 {
		t.Fatal("tokens of a lost session came back")
	}
}

func TestTokensAreVoidAfterAPause(t *testing.T) {
	b := newBench(t, 1000)
	c := minuteCell(1)
	for range 50 {
		b.get(c)
		b.run(2 * time.Millisecond)
	}
	if left(c.word.Load()) < 2 {
		t.Fatal("nothing leased ahead")
	}
	first := b.core.session.Load()
	b.now = first.deadline.Load() - 1
	if b.core.Try(c) != Admitted {
		t.Fatal("void before its time")
	}
	b.now++
	if b.core.Try(c) != Ask {
		t.Fatal("a token was valid after the deadline")
	}
	b.run(10 * time.Millisecond)
	if s := b.core.session.Load(); s.incarnation != 2 || !b.core.Live(b.now) || left(c.word.Load()) > 1 {
		t.Fatalf("incarnation %d, %d left", s.incarnation, left(c.word.Load()))
	}
}

// A late acknowledgement does not revive a session.
func TestLateRepliesDoNotRevive(t *testing.T) {
	b := newBench(t, 1000)
	b.run(10 * time.Millisecond)
	b.now += int64(600 * time.Millisecond)
	f, ok := b.core.Frame(b.now)
	if !ok {
		t.Fatal("no keep-alive")
	}
	res := b.apply(ledger.Entry{Frames: []ledger.Frame{f}})
	b.now = b.core.session.Load().deadline.Load()
	b.core.Receive(b.now, &res.Replies[0])
	if b.core.session.Load().incarnation != 2 || b.core.Live(b.now) {
		t.Fatal("revived")
	}
}

func TestForeignRepliesAreIgnored(t *testing.T) {
	b := newBench(t, 1000)
	c := minuteCell(1)
	b.core.Want(c, 1)
	f, _ := b.core.Frame(b.now)
	good := b.apply(ledger.Entry{Frames: []ledger.Frame{f}}).Replies[0]
	for name, change := range map[string]func(r *ledger.Reply){
		"node":        func(r *ledger.Reply) { r.Node++ },
		"incarnation": func(r *ledger.Reply) { r.Incarnation++ },
		"sequence":    func(r *ledger.Reply) { r.Seq++ },
		"length":      func(r *ledger.Reply) { r.Grants = nil },
	} {
		bad := good
		change(&bad)
		b.core.Receive(b.now, &bad)
		if b.core.Live(b.now) || left(c.word.Load()) != 0 {
			t.Errorf("%s: taken", name)
		}
	}
	if woken := b.core.Receive(b.now, &good); len(woken) != 1 || woken[0] != c {
		t.Fatal(woken)
	}
	b.core.Receive(b.now, &good) // twice
	if left(c.word.Load()) != 1 {
		t.Fatal(left(c.word.Load()))
	}
}

func TestTryAllIsAllOrNothing(t *testing.T) {
	b := newBench(t, 10)
	full, empty := minuteCell(1), minuteCell(2)
	b.core.Want(full, 3)
	b.run(5 * time.Millisecond)
	before := full.word.Load()
	if out, i := b.core.TryAll([]*Cell{full, empty}); out != Ask || i != 1 || full.word.Load() != before {
		t.Fatal(out, i)
	}
	b.core.Want(empty, 1)
	b.run(5 * time.Millisecond)
	if out, _ := b.core.TryAll([]*Cell{full, empty}); out != Admitted {
		t.Fatal(out)
	}
}

func TestSizeOfACell(t *testing.T) {
	if size := unsafe.Sizeof(Cell{}); size > 208 {
		t.Errorf("a cell has %d bytes", size)
	}
}

// TestARefusalByOldTermsDoesNotOutliveThem: a reply that was on its way when the limit was raised says nothing about the new one.
func TestARefusalByOldTermsDoesNotOutliveThem(t *testing.T) {
	b := newBench(t, 100)
	c := NewCell(ledger.ID{Kind: ledger.AppMinute, Lo: 1}, ledger.Literal(1), 1)
	if out := b.get(c); out != Admitted {
		t.Fatal(out)
	}
	b.run(time.Second)
	b.core.Want(c, 1)
	f, ok := b.core.Frame(b.now)
	if !ok {
		t.Fatal("nobody asks the ledger")
	}
	res := b.apply(ledger.Entry{Frames: []ledger.Frame{f}})
	b.core.Set(c, ledger.Literal(100), 2)
	b.core.Receive(b.now, &res.Replies[0])
	b.core.Unwant(c, 1)
	if out := b.get(c); out != Admitted {
		t.Errorf("after the limit was raised: %d", out)
	}
}
