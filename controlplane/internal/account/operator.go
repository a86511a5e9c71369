package account

import (
	"context"
	"fmt"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/plan"
)

// Set applies what an operator changes of an account and announces it to the nodes.
func (a *Accounts) Set(ctx context.Context, email string, c Change) (Developer, error) {
	if c.Plan != nil {
		if _, ok := plan.ByID(*c.Plan); !ok {
			return Developer{}, fmt.Errorf("there is no plan %q; plans are %s", *c.Plan, strings.Join(planIDs(), ", "))
		}
	}
	for _, n := range []*int64{c.PerMinute, c.PerDay, c.InFlight, c.Tokens} {
		if n != nil && (*n < 0 || *n > OverrideMax) {
			return Developer{}, fmt.Errorf("a limit of %d: want 1 to %d, or 0 to go back to the plan's", *n, OverrideMax)
		}
	}
	email, err := NormalizeEmail(email)
	if err != nil {
		return Developer{}, ErrNoDeveloper.Because(err)
	}
	return a.Store.ChangeDeveloper(ctx, email, c, a.now())
}

// ByEmail returns the developer with the address.
func (a *Accounts) ByEmail(ctx context.Context, email string) (Developer, error) {
	email, err := NormalizeEmail(email)
	if err != nil {
		return Developer{}, ErrNoDeveloper.Because(err)
	}
	c, err := a.Store.CredentialsByEmail(ctx, email)
	return c.Developer, err
}

func planIDs() []string {
	var ids []string
	for _, p := range plan.All() {
		ids = append(ids, p.ID)
	}
	return ids
}

// Apply returns d changed as c says.
func (c Change) Apply(d Developer, now time.Time) Developer {
	if c.Plan != nil {
		d.Plan = *c.Plan
	}
	if c.PerMinute != nil {
		d.PerMinute = override(*c.PerMinute)
	}
	if c.PerDay != nil {
		d.PerDay = override(*c.PerDay)
	}
	if c.InFlight != nil {
		d.InFlight = override(*c.InFlight)
	}
	if c.Tokens != nil {
		d.Tokens = override(*c.Tokens)
	}
	if c.Verified && d.VerifiedAt == nil {
		d.VerifiedAt = &now
	}
	return d
}

func override(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
