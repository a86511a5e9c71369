package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"weak"

	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// ModeLedger says that the limits were judged by the ledger, exactly over all nodes.
const ModeLedger = "ledger"

const (
	unavailableRetry = time.Second
	// settleTime is by how much a counted call outlasts its window at most: until the ledger learns of it, the ledger's guard, and the
	// rest of its slot.
	settleTime = 500 * time.Millisecond
)

// ErrUnavailable is a call whose limits nobody can judge at the moment.
var ErrUnavailable = apierr.New(apierr.Unavailable, "The limits of this key cannot be judged at the moment. Try again.").After(unavailableRetry)

// Limiter admits calls. See the package documentation for what it guarantees.
type Limiter struct {
	leases *client.Node

	mu sync.Mutex
	// counters lives as long as somebody points to them: callers, and the leases while the ledger may know this node by them. So there
	// are never two of one limit.
	counters map[ledger.ID]weak.Pointer[client.Cell]
}

// New returns a limiter that spends what the node leases.
func New(leases *client.Node) *Limiter {
	return &Limiter{leases: leases, counters: map[ledger.ID]weak.Pointer[client.Cell]{}}
}

// Verdict is how a call stands with the tightest of its limits: the one with the fewest calls left, or the one that refused.
type Verdict struct {
	Name      string        // one of the plane.Limit words; empty when the caller has no limits, or nobody could judge them
	Limit     int64         // calls or model tokens per window
	Remaining int64         // of them left now, as the ledger last said and this node has spent since
	Reset     time.Duration // until more calls are possible again
	Mode      string        // who judged: ModeLedger

	limiter *Limiter
	cells   *Cells
	counted []*client.Cell // to be refunded
	ticket  client.Ticket
	hold    client.Hold
}

// Refund gives the call back to all its limits, for failures that are ours, as far as the ledger does not know of it yet. Only
// the first refund of an admitted call does something, and is reported as true.
func (v *Verdict) Refund() bool {
	if v.counted == nil {
		return false
	}
	v.limiter.leases.Refund(v.ticket, v.counted)
	v.counted = nil
	return true
}

// RefundDay gives the call back to its limits per day only, under the same conditions: a call that is refused for what it asks costs
// nothing of the day, but counts per minute. There is no other refund after it.
func (v *Verdict) RefundDay() {
	for i := range v.counted {
		if v.cells.rules[i].daily {
			v.limiter.leases.Refund(v.ticket, v.counted[i:i+1])
		}
	}
	v.counted = nil
}

// Done ends the call: it is not in flight any more. It may be called more than once.
func (v *Verdict) Done() {
	if v.limiter != nil {
		v.limiter.leases.Settle(v.hold, 0)
		v.hold = client.Hold{}
	}
}

// Admit counts a call against all cells, which come from [Limiter.Cells], or against none, and waits for tokens if there are none here.
// A refusal is an *apierr.Error of the kind Limited whose RetryAfter is when a retry is admitted if nothing else came; the verdict then
// names the limit that refused. Without a ledger it is ErrUnavailable; if ctx ends first, its cause. An admitted call must be ended by
// [Verdict.Done].
func (l *Limiter) Admit(ctx context.Context, cells *Cells, now time.Time) (Verdict, error) {
	v := Verdict{Mode: ModeLedger}
	if cells == nil {
		return v, nil
	}
	v.limiter, v.cells = l, cells
	v.ticket = l.leases.Ticket()
	hold, err := l.leases.Take(ctx, cells.inFlight, cells.counted)
	if err != nil {
		return v, v.refuse(ctx, cells.ruleOf(err), now, err)
	}
	v.hold, v.counted = hold, cells.counted
	if len(cells.counted) == 0 {
		return v, nil
	}
	v.Remaining = math.MaxInt64
	for i, c := range cells.counted {
		r := &cells.rules[i]
		if left := min(c.Remaining(), max(r.max-1, 0)); left < v.Remaining {
			v.Name, v.Limit, v.Remaining = r.name, r.max, left
			v.Reset = r.renews(l.leases.Frees(c, now), now)
		}
	}
	return v, nil
}

// ruleOf returns the limit that refused, or nil.
func (c *Cells) ruleOf(err error) *rule {
	var limited *client.LimitedError
	if errors.As(err, &limited) {
		for i := range c.counted {
			if c.counted[i] == limited.Cell {
				return &c.rules[i]
			}
		}
		for i := range c.amounts {
			if c.amounts[i] == limited.Cell {
				return &c.budgets[i]
			}
		}
		return &c.atOnce
	}
	return nil
}

// refuse fills the verdict of a call that is not admitted, and returns its error.
func (v *Verdict) refuse(ctx context.Context, r *rule, now time.Time, err error) error {
	var limited *client.LimitedError
	switch {
	case errors.As(err, &limited):
		v.Name, v.Limit, v.Remaining, v.Reset = r.name, r.max, 0, limited.Retry
		if r.daily {
			v.Reset = dayLeft(now)
		}
		return r.refusal(v.Reset)
	case errors.Is(err, client.ErrUnavailable):
		return ErrUnavailable
	default:
		return context.Cause(ctx)
	}
}

// renews returns when the oldest counted call stops counting. The ledger does not say before it knows of one.
func (r *rule) renews(frees time.Duration, now time.Time) time.Duration {
	switch {
	case r.daily:
		return dayLeft(now)
	case frees == 0:
		return r.window + settleTime
	default:
		return frees
	}
}

func dayLeft(now time.Time) time.Duration {
	const day = 24 * time.Hour
	return now.UTC().Truncate(day).Add(day).Sub(now)
}

// refusal is the 429 of a limit.
func (r *rule) refusal(retry time.Duration) error {
	subject := r.subject()
	wait := int64((retry + time.Second - 1) / time.Second) // seconds, as Retry-After will say
	switch r.name {
	case plane.LimitKeyInFlight:
		return apierr.New(apierr.Limited, fmt.Sprintf(
			"Rate limit reached: this key may make %d calls at a time. Wait until one of them ends.", r.max)).After(retry)
	case plane.LimitKeyTokens:
		return apierr.New(apierr.Limited, fmt.Sprintf(
			"Rate limit reached: %s may use %d model tokens %s. Enough are free in %d s.", subject, r.max, r.per(), wait)).After(retry)
	}
	if r.daily {
		return apierr.New(apierr.Limited, fmt.Sprintf(
			"Rate limit reached: %s may make %d calls per UTC day. The count starts anew at 00:00 UTC, in %s.",
			subject, r.max, time.Duration(wait)*time.Second)).After(retry).Coded("insufficient_quota", "")
	}
	return apierr.New(apierr.Limited, fmt.Sprintf(
		"Rate limit reached: %s may make %d calls %s. The next call is possible in %d s.", subject, r.max, r.per(), wait)).After(retry)
}

func (r *rule) subject() string {
	switch r.name {
	case plane.LimitAppMinute:
		return "this app"
	case plane.LimitAccountDay:
		return "this account"
	}
	return "this key"
}

func (r *rule) per() string {
	if r.window != time.Minute {
		return "in any " + r.window.String()
	}
	return "per minute"
}
