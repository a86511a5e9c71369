package billing

import (
	"time"

	"modelgate.internal/controlplane/internal/plan"
)

// Subscription is what matters of a subscription at Stripe.
type Subscription struct {
	ID                string
	Status            string // as Stripe names it, or Processing
	Plan              string // id of a plan; empty for a price that is not ours
	Interval          string
	PeriodEnd         time.Time
	CancelAtPeriodEnd bool
	UnpaidSince       *time.Time // when the invoice was made that is not paid; of past_due ones that were paid before
}

// States of a subscription.
const (
	Incomplete        = "incomplete"
	IncompleteExpired = "incomplete_expired"
	Trialing          = "trialing"
	Active            = "active"
	PastDue           = "past_due"
	Unpaid            = "unpaid"
	Canceled          = "canceled"
	Paused            = "paused"

	// Processing is ours: Stripe calls it active, but a bank has not yet said whether it pays the first invoice.
	Processing = "processing"
)

// InForce is the plan that follows from the subscriptions of an account at a time, and when that changes by itself; zero for
// never.
func InForce(subs []Subscription, now time.Time) (planID string, until time.Time) {
	planID = plan.Free
	for _, s := range subs {
		switch s.Status {
		case Trialing, Active:
		case PastDue:
			ends := s.graceEnds()
			if !now.Before(ends) {
				continue
			}
			until = earlier(until, ends)
		default: // also incomplete and processing: nothing is paid yet
			continue
		}
		if plan.Above(s.Plan, planID) {
			planID = s.Plan
		}
	}
	return planID, until
}

// Open returns the subscription that can still be charged, or nil: the one a plan change applies to.
func Open(subs []Subscription) *Subscription {
	var found *Subscription
	for i, s := range subs {
		switch s.Status {
		case Trialing, Active, Processing, PastDue, Unpaid, Paused:
			if found == nil || plan.Above(s.Plan, found.Plan) {
				found = &subs[i]
			}
		default:
		}
	}
	return found
}

// Renews reports whether a subscription is charged at the end of its period.
func (s Subscription) Renews() bool {
	switch s.Status {
	case Trialing, Active, Processing, PastDue:
		return !s.CancelAtPeriodEnd
	default:
		return false
	}
}

// graceEnds is when a past_due subscription no longer carries its plan: never has it carried one whose first invoice is not paid.
func (s Subscription) graceEnds() time.Time {
	if s.UnpaidSince == nil {
		return time.Time{}
	}
	return s.UnpaidSince.Add(GraceFor)
}

// earlier is the earlier of two times of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// AppState is an app as far as the number of apps is concerned.
type AppState struct {
	ID          string
	Name        string
	Kept        bool // the owner wants this one rather than the others
	SuspendedAt *time.Time
}

// Room says which apps a plan has room for: all of them, or the first of those that the owner keeps and then the oldest.
type Room struct {
	Over    bool
	Allowed int64
	Since   *time.Time // when there was first no room
	Ends    time.Time  // when the rest is suspended
	Suspend []string   // apps to be suspended now
	Resume  []string   // apps to be let go on now
}

// RoomFor judges the apps of an account, which come in the order kept first, then oldest. limit 0 is unlimited; since is
// when there was no room already.
func RoomFor(apps []AppState, limit int64, since *time.Time, now time.Time) Room {
	r := Room{Allowed: limit, Over: limit > 0 && int64(len(apps)) > limit}
	if r.Over {
		if r.Since = since; since == nil {
			r.Since = &now
		}
		r.Ends = r.Since.Add(ChooseFor)
	}
	for i, a := range apps {
		out := r.Over && int64(i) >= limit && !now.Before(r.Ends)
		switch {
		case out && a.SuspendedAt == nil:
			r.Suspend = append(r.Suspend, a.ID)
		case !out && a.SuspendedAt != nil:
			r.Resume = append(r.Resume, a.ID)
		}
	}
	return r
}

// NextCheck is when an account has to be looked at again.
func NextCheck(now, graceEnds time.Time, r Room) time.Time {
	next := earlier(now.Add(ReconcileEvery), graceEnds)
	if r.Over && now.Before(r.Ends) {
		next = earlier(next, r.Ends)
	}
	return next
}
