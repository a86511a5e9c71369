package pool

import (
	"hash/maphash"
	"time"
)

// From is whose a call is and what it asks. By it failures of different callers and requests are told apart.
type From struct {
	Account string // "" is a caller like any other
	Body    []byte // of the request, which stays as it is until the call ends or its stream began; nil where it is not at hand
}

// evidence is what calls have shown of late about a server.
type evidence struct {
	round    uint64 // a row of failures or of probes; the witnesses of an earlier one are heard anew
	failures int    // of the row that are believed
	certain  int    // of these, those that no request can bring about
	callers  int    // witnesses of this round
	since    time.Duration

	goods   uint64 // good answers, ever
	goodAt  time.Duration
	doubted bool          // somebody's call failed in doubt
	doubtAt time.Duration // the last time

	witnesses []witness // none until a call fails
}

// witness is a caller whose calls failed of late, or were answered while those of others failed.
type witness struct {
	account      string
	used         bool
	heard        time.Duration // the last time
	began        time.Duration // of the counts, which last for a window
	good, failed int

	hasFailed bool
	failedAt  time.Duration // the last time
	goods     uint64        // good answers to anything else until then
	own       uint64        // good answers to the very request that failed
	suspect   bool          // failed before a good answer to something else, and again behind it

	round   uint64 // in which it failed or was asked
	request uint64 // hash of what it asked then
	several bool   // it was not always the same
}

// know returns the witness of a caller, or nil.
func (e *evidence) know(account string) *witness {
	for i := range e.witnesses {
		if w := &e.witnesses[i]; w.used && w.account == account {
			return w
		}
	}
	return nil
}

// hear returns the witness of a caller. A new one takes the place of who was silent for longest.
func (e *evidence) hear(account string, now, window time.Duration) *witness {
	w := e.know(account)
	if w == nil {
		if e.witnesses == nil {
			e.witnesses = make([]witness, witnessesMax)
		}
		w = &e.witnesses[0]
		for i := range e.witnesses {
			if o := &e.witnesses[i]; !o.used || w.used && o.heard < w.heard {
				w = o
			}
		}
		*w = witness{account: account, used: true, began: now}
	}
	if w.heard = now; now-w.began > window {
		w.began, w.good, w.failed = now, 0, 0
	}
	return w
}

// fail takes down a failure that a request can bring about. It is believed to be the server's unless the caller failed before
// something else had a good answer, too: the server was well in between.
func (e *evidence) fail(w *witness, now, window time.Duration) (believed bool) {
	others := e.goods - w.own
	switch {
	case !w.hasFailed || now-w.failedAt > window:
		w.suspect = false
	case others > w.goods:
		w.suspect = true
	}
	w.failed++
	w.hasFailed, w.failedAt, w.goods = true, now, others
	e.doubted, e.doubtAt = true, now
	return !w.suspect || now-e.goodAt > window
}

// succeed takes down a good answer, and reports whether it matters whose it is, which it does while somebody fails.
func (e *evidence) succeed(now, window time.Duration) bool {
	e.goods++
	e.goodAt = now
	e.doubted = e.doubted && now-e.doubtAt <= window
	return e.doubted
}

// please takes down whose a good answer was.
func (e *evidence) please(w *witness, request uint64) {
	w.good++
	if w.hasFailed && !w.several && w.request == request {
		w.own++
	}
}

// renew begins another round.
func (e *evidence) renew() {
	e.round++
	e.failures, e.certain, e.callers = 0, 0, 0
}

// mark makes the caller a witness of this round.
func (e *evidence) mark(w *witness, request uint64) {
	switch {
	case w.round != e.round:
		w.round, w.request, w.several = e.round, request, false
		e.callers++
	case w.request != request:
		w.several = true
	}
}

// marked reports whether the caller is a witness of this round.
func (e *evidence) marked(account string) bool {
	w := e.know(account)
	return w != nil && w.round == e.round
}

// reach is whom the evidence of this round stands against: everybody if it is that of so many callers that it is not their doing.
// What needs no witness is worth one.
func (e *evidence) reach() scope {
	if e.callers+e.certain >= quorum {
		return forMost
	}
	return forSome
}

// rife reports whether nearly all calls fail: the share of each caller's, over the callers that were heard within the window. If so,
// these are the witnesses of a new round.
func (e *evidence) rife(now, window time.Duration) bool {
	heard, results, percent := 0, 0, 0
	for i := range e.witnesses {
		w := &e.witnesses[i]
		if n := w.good + w.failed; w.used && n > 0 && now-w.heard <= window {
			heard++
			results += n
			percent += 100 * w.failed / n
		}
	}
	if results < shareResultsMin || percent < heard*(100-sanePercent) {
		return false
	}
	e.renew()
	for i := range e.witnesses {
		if w := &e.witnesses[i]; w.used && w.failed > 0 && now-w.heard <= window {
			e.mark(w, 0)
			w.several = true // whatever they ask
		}
	}
	return true
}

// hash tells requests apart. Of a large one both ends are enough, since the lock is held meanwhile.
func (m *member) hash(f *From) uint64 {
	if len(f.Body) <= hashedBytesMax {
		return maphash.Bytes(m.seed, f.Body)
	}
	head, tail := f.Body[:hashedBytesMax/2], f.Body[len(f.Body)-hashedBytesMax/2:]
	return maphash.Bytes(m.seed, head) + 31*maphash.Bytes(m.seed, tail) + uint64(len(f.Body))
}
