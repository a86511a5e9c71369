package server_test

import (
	"net/url"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/stripesim"
	"modelgate.internal/shared/wire"
)

// founder pays for Enterprise and has an organization, which is sponsored.
type founder struct {
	*buyer
	orgID string
}

func (s *shop) founder(t *testing.T) *founder {
	t.Helper()
	b := s.buyer(t)
	b.checkout(t, plan.Enterprise, stripesim.CardGood)
	s.deliver(t)
	email := must[wire.Developer](t, s.stack, "GET", "/dev/auth/me", b.token, nil).Email
	if _, err := s.store.ChangeDeveloper(t.Context(), email, account.Change{Verified: true}, time.Now()); err != nil {
		t.Fatal(err)
	}
	return &founder{b, must[wire.OrgDetail](t, s.stack, "POST", "/dev/org", b.token, wire.OrgRequest{Name: "Analytical Engines"}).OrgID}
}

// wantPlans checks what the organization and its founder have.
func (f *founder) wantPlans(t *testing.T, organization, personal, when string) {
	t.Helper()
	f.wantPlan(t, personal, when)
	st := must[wire.BillingState](t, f.s.stack, "GET", "/dev/billing/subscription?scope=organization", f.token, nil)
	if st.Plan != organization {
		t.Fatalf("%s the plan of the organization is %s, want %s", when, st.Plan, organization)
	}
}

// change moves the founder's own subscription.
func (f *founder) change(t *testing.T, planID string) {
	t.Helper()
	must[wire.BillingState](t, f.s.stack, "POST", "/dev/billing/subscription", f.token, wire.ChangePlanRequest{Plan: planID, Interval: "month"})
}

// TestAnOrganizationFollowsItsFounder until it buys a plan.
func TestAnOrganizationFollowsItsFounder(t *testing.T) {
	s := newShop(t)
	f := s.founder(t)
	f.wantPlans(t, plan.Enterprise, plan.Enterprise, "in the beginning")
	f.change(t, plan.Pro)
	f.wantPlans(t, plan.Pro, plan.Pro, "after the founder's change")
	f.portal(t, "cancel-now", "")
	s.deliver(t)
	f.wantPlans(t, plan.Free, plan.Free, "after the founder has stopped")
}

// TestAnOrganizationPaysForItself from its first purchase on: when it stops it is on Free, whatever its founder pays.
func TestAnOrganizationPaysForItself(t *testing.T) {
	s := newShop(t)
	f := s.founder(t)
	c := must[wire.CheckoutSession](t, s.stack, "POST", "/dev/billing/checkout?scope=organization", f.token, wire.CheckoutRequest{Plan: plan.Pro, Interval: "month"})
	s.browse(t, c.URL, url.Values{"card": {stripesim.CardGood}})
	s.deliver(t)
	f.wantPlans(t, plan.Pro, plan.Enterprise, "after the organization has bought")
	f.change(t, plan.Starter)
	f.change(t, plan.Enterprise)
	f.wantPlans(t, plan.Pro, plan.Enterprise, "after the founder's changes")
	p := must[wire.BillingPortal](t, s.stack, "POST", "/dev/billing/portal?scope=organization", f.token, nil)
	s.browse(t, p.URL, url.Values{"do": {"cancel-now"}})
	s.deliver(t)
	f.wantPlans(t, plan.Free, plan.Enterprise, "after the organization has stopped")
	f.change(t, plan.Starter)
	f.change(t, plan.Enterprise)
	f.wantPlans(t, plan.Free, plan.Enterprise, "after the founder has bought again")
}
