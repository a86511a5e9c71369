package limit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"strings"
	"time"
	"weak"

	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/shared/plane"
)

// Cells are the counters of a caller. They are immutable; what is in the counters is shared with every caller of the same limits.
type Cells struct {
	counted  []*client.Cell // one token of each per call
	rules    []rule         // of counted
	amounts  []*client.Cell // as many tokens of each as a call has of its model's
	budgets  []rule         // of amounts
	inFlight *client.Cell   // one token while a call runs; nil without such a limit
	atOnce   rule           // of inFlight
}

// Counters returns the counters that calls are counted by.
func (c *Cells) Counters() []*client.Cell { return c.counted }

// rule is a limit as callers are told.
type rule struct {
	name   string
	max    int64
	window time.Duration
	daily  bool
}

// Cells returns the cells of a principal's limits. Limits of the same bucket share a counter and its history, whoever asks; of several
// terms for it those of the newest record are in force.
func (l *Limiter) Cells(p *plane.Principal) *Cells {
	c := &Cells{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range p.Limits {
		terms := &p.Limits[i]
		kind, known := kindOf(terms.Name)
		if !known { // of a newer control plane: what this build cannot count it cannot judge
			continue
		}
		r := rule{name: terms.Name, max: max(terms.Max, 0), window: terms.Window, daily: kind.Daily()}
		counter := l.counter(ledger.ID{Kind: kind}, terms, uint64(p.Seen))
		switch {
		case kind.InFlight():
			c.inFlight, c.atOnce = counter, r
			continue
		case kind.Amounts():
			c.amounts, c.budgets = append(c.amounts, counter), append(c.budgets, r)
			continue
		}
		c.counted, c.rules = append(c.counted, counter), append(c.rules, r)
	}
	return c
}

// counter finds or makes the counter of a limit. The registry must be locked.
func (l *Limiter) counter(id ledger.ID, terms *plane.Limit, seen uint64) *client.Cell {
	id.Hi, id.Lo = subject(terms.Bucket)
	class := ledger.Literal(terms.Max)
	if c := l.counters[id].Value(); c != nil {
		l.leases.Set(c, class, seen)
		return c
	}
	c := client.NewCell(id, class, seen)
	w := weak.Make(c)
	l.counters[id] = w
	runtime.AddCleanup(c, func(id ledger.ID) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.counters[id] == w {
			delete(l.counters, id)
		}
	}, id)
	return c
}

// Known reports whether this build judges by limits of the name.
func Known(name string) bool {
	_, known := kindOf(name)
	return known
}

func kindOf(name string) (ledger.Kind, bool) {
	switch name {
	case plane.LimitKeyMinute:
		return ledger.KeyMinute, true
	case plane.LimitAppMinute:
		return ledger.AppMinute, true
	case plane.LimitAccountDay:
		return ledger.AccountDay, true
	case plane.LimitKeyInFlight:
		return ledger.KeyInFlight, true
	case plane.LimitKeyTokens:
		return ledger.KeyTokens, true
	}
	return 0, false
}

// subject is the name of a bucket in the ledger. In "key/ID/minute" an ID that is a UUID is its own name; anything else is known by 128
// bits of its SHA-256.
func subject(bucket string) (hi, lo uint64) {
	var raw [16]byte
	if parts := strings.Split(bucket, "/"); len(parts) == 3 {
		digits := strings.ReplaceAll(parts[1], "-", "")
		if n, err := hex.Decode(raw[:], []byte(digits[:min(len(digits), 2*len(raw))])); err == nil && n == len(raw) && len(parts[1]) == len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
			return binary.BigEndian.Uint64(raw[:]), binary.BigEndian.Uint64(raw[8:])
		}
	}
	sum := sha256.Sum256([]byte(bucket))
	return binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
}
