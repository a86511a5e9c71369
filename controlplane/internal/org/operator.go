package org

import (
	"context"
	"fmt"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/id"
)

// ErrUnknown is an ID of no organization.
var ErrUnknown = apierr.New(apierr.NotFound, "There is no such organization.")

// Change is what an operator changes of an organization's limits. Nil stays as it is, 0 goes back to the plan's.
type Change struct {
	PerMinute *int64
	PerDay    *int64
	InFlight  *int64
	Tokens    *int64 // per minute
}

// Set changes the limits of an organization and announces them to the nodes. Its plan is its founder's, or what it pays for. Error: ErrUnknown.
func (s *Orgs) Set(ctx context.Context, orgID string, c Change) (Org, error) {
	for _, n := range []*int64{c.PerMinute, c.PerDay, c.InFlight, c.Tokens} {
		if n != nil && (*n < 0 || *n > account.OverrideMax) {
			return Org{}, fmt.Errorf("a limit of %d: want 1 to %d, or 0 to go back to the plan's", *n, account.OverrideMax)
		}
	}
	if !id.Valid(orgID) {
		return Org{}, ErrUnknown
	}
	return s.Store.ChangeOrg(ctx, orgID, c)
}

// Apply returns o changed as c says.
func (c Change) Apply(o Org) Org {
	for _, one := range []struct{ to, from **int64 }{
		{&o.PerMinute, &c.PerMinute}, {&o.PerDay, &c.PerDay}, {&o.InFlight, &c.InFlight}, {&o.Tokens, &c.Tokens},
	} {
		if *one.from == nil {
			continue
		}
		if *one.to = *one.from; **one.from == 0 {
			*one.to = nil
		}
	}
	return o
}
