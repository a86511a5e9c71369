package pool

import "time"

// budget is the credit for further attempts: a share of the calls, and a free rate. Amounts are integers so that a tenth
// ten times over is one.
type budget struct {
	credit int64 // hundredths of an attempt, paid in by calls
	free   int64 // billionths of an attempt, paid in by time
	filled time.Duration
	begun  bool
}

// call pays in for a first attempt.
func (b *budget) call(t *terms) {
	b.credit = min(b.credit+t.budgetPercent, 100*budgetCreditMax)
}

// take pays for one further attempt, if there is credit.
func (b *budget) take(now time.Duration, t *terms) bool {
	most := t.minPerSecond * int64(time.Second) // a second's worth
	if !b.begun {
		b.begun, b.free = true, most
	} else {
		elapsed := min(now-b.filled, time.Second)
		b.free = min(b.free+int64(elapsed)*t.minPerSecond, most)
	}
	b.filled = now
	switch {
	case b.credit >= 100:
		b.credit -= 100
	case b.free >= int64(time.Second):
		b.free -= int64(time.Second)
	default:
		return false
	}
	return true
}
