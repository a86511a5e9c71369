package limit

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Standing is how one limit of a caller stands.
type Standing struct {
	Name      string        // one of the plane.Limit words
	Limit     int64         // calls or model tokens per window
	Window    time.Duration // 0 for calls at a time
	Remaining int64         // of them left now
	Reset     time.Duration // until more are possible
}

// Peek asks the ledger how the limits of the cells stand and returns that in the order of their windows, with the refusal that a call would
// get from [Limiter.Admit] now. Nothing is counted. What another node has leased and not used does not remain here until it
// comes back, a quarter of a second later; a call would have it recalled. Without a ledger the error is ErrUnavailable.
func (l *Limiter) Peek(ctx context.Context, cells *Cells, now time.Time) ([]Standing, error) {
	counters, rules := slices.Concat(cells.counted, cells.amounts), slices.Concat(cells.rules, cells.budgets)
	if cells.inFlight != nil {
		counters, rules = append(counters, cells.inFlight), append(rules, cells.atOnce)
	}
	all := make([]Standing, 0, len(counters))
	var refused error
	longest := time.Duration(-1)
	for i, c := range counters {
		if err := l.leases.Look(ctx, c); err != nil {
			return nil, (&Verdict{}).refuse(ctx, nil, now, err)
		}
		r := &rules[i]
		s := Standing{Name: r.name, Limit: r.max, Window: r.window, Remaining: min(c.Remaining(), r.max)}
		switch {
		case r.window == 0: // a place is free when a call ends
			if s.Remaining == 0 {
				s.Reset = unavailableRetry
			}
		case r.max == 0 && !r.daily: // nothing is ever counted that could free something
			s.Reset = r.window
		case s.Remaining < r.max || r.daily:
			s.Reset = r.renews(l.leases.Frees(c, now), now)
		}
		if s.Remaining == 0 && s.Reset > longest {
			longest, refused = s.Reset, r.refusal(s.Reset)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b Standing) int { return cmp.Compare(a.Window, b.Window) })
	return all, refused
}
