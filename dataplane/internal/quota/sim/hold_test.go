package sim

import (
	"time"

	"modelgate.internal/dataplane/internal/quota/client"
)

// What calls hold: an amount of tokens, of which they use a part by their end, or a place among the calls at a time.

const (
	takeMost = 40              // tokens of a call
	runMost  = 6 * time.Second // of a call that holds something
)

// waiter is a call that waits for the ledger.
type waiter struct {
	until  int64 // when it gives up
	tokens int64 // that it wants to hold; 0 to spend one
}

// held is a hold of a running call.
type held struct {
	hold client.Hold
	took int64 // when
	used int64 // of its tokens by its end
	// place is the track of a call that holds a place.
	place *track
}

func (k *track) holds() bool { return k.id.Kind.Amounts() || k.id.Kind.InFlight() }

// arriveHold has calls that hold tokens arrive at several times what the limit allows.
func (w *world) arriveHold(i int, k *track) {
	gap := time.Duration(float64(time.Minute) / (w.load * float64(k.limit)) * takeMost / 2)
	if k.id.Kind.InFlight() {
		gap = time.Duration(float64(runMost) / 2 / (w.load * float64(k.limit)))
	}
	w.after(w.mean(gap), func() {
		tokens := int64(1)
		if k.id.Kind.Amounts() {
			tokens = 1 + w.r.Int64N(takeMost)
		}
		n := w.nodes[w.pick()]
		n.do(func() {
			if !n.tryHold(i, tokens) {
				n.waiters[i] = append(n.waiters[i], waiter{n.w.now + int64(client.MaxWait), tokens})
				n.core.Want(n.cells[i], tokens)
				n.step()
			}
		})
		w.arriveHold(i, k)
	})
}

// tryHold decides a call that holds tokens. It reports whether it is decided.
func (n *node) tryHold(i int, tokens int64) bool {
	n.deciding = true
	hold, out := n.core.Hold(n.cells[i], tokens)
	n.deciding = false
	if out != client.Admitted {
		return out == client.Denied
	}
	w, k := n.w, n.w.keys[i]
	h := &held{hold: hold, took: max(w.now, n.until)}
	if k.id.Kind.InFlight() {
		h.place = k
		k.running++
		k.most = max(k.most, k.running)
	} else {
		h.used = w.r.Int64N(tokens + 1)
	}
	n.holds[h] = true
	w.at(h.took+w.r.Int64N(int64(runMost)), func() { n.do(func() { n.end(i, h) }) })
	n.step()
	return true
}

// end is the end of a call. Its tokens count as used when they were settled or, if its session was lost, when they were taken: from then
// on the ledger cannot know.
func (n *node) end(i int, h *held) {
	if !n.holds[h] {
		return
	}
	delete(n.holds, h)
	k, at := n.w.keys[i], h.took
	if h.place != nil {
		k.running--
	}
	if n.core.Settle(h.hold, h.used) {
		at = n.w.now
	}
	for range h.used {
		k.admitted = append(k.admitted, at)
	}
	n.step()
}

// crash ends what runs in the process. Nobody learns what it used.
func (n *node) crash() {
	for h := range n.holds {
		if h.place != nil {
			h.place.running--
		}
	}
	n.holds = map[*held]bool{}
}
