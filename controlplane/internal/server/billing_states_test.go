package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/stripesim"
	"modelgate.internal/shared/wire"
)

// TestSubscriptionStates are the states of a subscription that our checkout does not lead to: a seller, a bank or somebody in Stripe's
// dashboard does. Each has a developer of its own, in one shop.
func TestSubscriptionStates(t *testing.T) {
	s := newShop(t)
	for _, story := range []struct {
		name string
		tell func(t *testing.T, s *shop)
	}{
		{"trialing", trialing},
		{"paused", paused},
		{"a bank pays", aBankPays},
		{"a bank refuses", aBankRefuses},
		{"a foreign price", aForeignPrice},
		{"two subscriptions", twoSubscriptions},
		{"unpaid", unpaid}, // the last: it changes a setting of the seller
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(t, s) })
	}
}

// seller does something at Stripe as its dashboard would, and returns what was made or changed.
func (s *shop) seller(t *testing.T, path string, form url.Values) (id string, answer map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.door.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+stripesim.KeyPrefix+"seller")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v %v", path, res.StatusCode, answer, err)
	}
	id, _ = answer["id"].(string)
	return id, answer
}

// subscriptionID is the only subscription of a buyer.
func (b *buyer) subscriptionID(t *testing.T) string {
	t.Helper()
	subs, err := b.s.store.Subscriptions(t.Context(), b.id)
	if err != nil || len(subs) != 1 {
		t.Fatalf("%v %v", subs, err)
	}
	return subs[0].ID
}

// wantState checks what the developer sees: plan in force, state of the subscription and whether something is charged in the end.
func (b *buyer) wantState(t *testing.T, planID, status string, charged bool) wire.BillingState {
	t.Helper()
	st := b.state(t)
	if st.Plan != planID || st.Subscription == nil || st.Subscription.Status != status || (st.Subscription.NextAmount != nil) != charged {
		t.Fatalf("%+v of %+v, want the plan %s and a subscription that is %s, charged %v", st.Subscription, st, planID, status, charged)
	}
	return st
}

// trial gives a buyer's subscription a trial of ten days from now.
func (b *buyer) trial(t *testing.T) {
	t.Helper()
	b.s.seller(t, "/v1/subscriptions/"+b.subscriptionID(t), url.Values{
		"trial_end": {strconv.FormatInt(b.s.sim.Now().Add(10*24*time.Hour).Unix(), 10)}, "trial_settings[end_behavior][missing_payment_method]": {"pause"},
	})
	b.s.deliver(t)
}

// trialing: the plan holds during a trial and goes on with the first payment.
func trialing(t *testing.T, s *shop) {
	b := s.customer(t, true)
	b.trial(t)
	b.wantState(t, plan.Starter, billing.Trialing, true)
	w := s.do(t, "POST", "/dev/billing/checkout", b.token, wire.CheckoutRequest{Plan: plan.Pro, Interval: "month"})
	if w.Code != http.StatusConflict {
		t.Errorf("a second subscription during a trial: %d %s", w.Code, w.Body)
	}
	s.advance(t, 11*24*time.Hour)
	b.wantState(t, plan.Starter, billing.Active, true)
}

// paused: a trial that ends without a card carries no plan, until there is a card.
func paused(t *testing.T, s *shop) {
	b := s.customer(t, true)
	b.trial(t)
	b.portal(t, "forget", "")
	s.advance(t, 11*24*time.Hour)
	if st := b.wantState(t, plan.Free, billing.Paused, false); st.Subscription.PaymentMethod != nil {
		t.Errorf("%+v", st.Subscription)
	}
	b.portal(t, "pay", stripesim.CardGood)
	s.deliver(t)
	b.wantState(t, plan.Starter, billing.Active, true)
}

// aBankPays: while a bank has not answered nothing is paid, so the plan is not in force, though Stripe calls it active.
func aBankPays(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.BankGood)
	s.deliver(t)
	if v := b.verify(t); v.Status != "processing" || v.URL != nil {
		t.Errorf("%+v", v)
	}
	b.wantState(t, plan.Free, billing.Processing, true)
	w := s.do(t, "POST", "/dev/billing/checkout", b.token, wire.CheckoutRequest{Plan: plan.Pro, Interval: "month"})
	if w.Code != http.StatusConflict {
		t.Errorf("a second subscription while the bank is asked: %d %s", w.Code, w.Body)
	}
	s.advance(t, stripesim.BankFor+time.Hour)
	if v := b.verify(t); v.Status != "active" {
		t.Errorf("%+v", v)
	}
	b.wantState(t, plan.Pro, billing.Active, true)
	s.advance(t, 32*24*time.Hour)
	b.wantState(t, plan.Pro, billing.Active, true)
}

// aBankRefuses: a plan that was never paid for has no days of grace.
func aBankRefuses(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.BankFails)
	s.advance(t, stripesim.BankFor+time.Hour)
	if v := b.verify(t); v.Status != "payment_failed" || v.URL == nil {
		t.Errorf("%+v", v)
	}
	if st := b.wantState(t, plan.Free, billing.PastDue, true); st.Subscription.GraceEndsAt != nil {
		t.Errorf("%+v", st.Subscription)
	}
	b.portal(t, "pay", stripesim.CardGood)
	s.deliver(t)
	b.wantState(t, plan.Pro, billing.Active, true)
}

// foreignPrice makes a price that is none of ours. Its lookup key reads like the name of a plan.
func (s *shop) foreignPrice(t *testing.T) string {
	t.Helper()
	product, _ := s.seller(t, "/v1/products", url.Values{"name": {"Consulting"}})
	id, _ := s.seller(t, "/v1/prices", url.Values{
		"product": {product}, "unit_amount": {"100"}, "currency": {"usd"}, "recurring[interval]": {"month"}, "lookup_key": {"enterprise_month"},
	})
	return id
}

// aForeignPrice carries no plan, and an operator is told.
func aForeignPrice(t *testing.T, s *shop) {
	b := s.customer(t, true)
	s.seller(t, "/v1/subscriptions/"+b.subscriptionID(t), url.Values{"items[0][price]": {s.foreignPrice(t)}})
	s.deliver(t)
	if st := b.wantState(t, plan.Free, billing.Active, true); st.Subscription.Plan != "" || *st.Subscription.NextAmount != 100 {
		t.Errorf("%+v", st.Subscription)
	}
	if !logged(s, "a subscription has a price that is none of ours", b.id) {
		t.Error("no operator was told")
	}
}

// twoSubscriptions: the larger plan is in force, and an operator is told.
func twoSubscriptions(t *testing.T, s *shop) {
	b := s.customer(t, true)
	product, _ := s.seller(t, "/v1/products", url.Values{"name": {"Special offer"}})
	price, _ := s.seller(t, "/v1/prices", url.Values{
		"product": {product}, "unit_amount": {"100"}, "currency": {"usd"}, "recurring[interval]": {"month"}, "metadata[modelgate_plan]": {plan.Pro},
	})
	_, session := s.seller(t, "/v1/checkout/sessions", url.Values{
		"mode": {"subscription"}, "customer": {b.customerID(t)}, "line_items[0][price]": {price}, "success_url": {"http://portal.example"},
	})
	page, _ := session["url"].(string)
	s.browse(t, page, url.Values{"card": {stripesim.CardGood}})
	s.deliver(t)
	if st := b.wantState(t, plan.Pro, billing.Active, true); st.Subscription.Plan != plan.Pro {
		t.Errorf("%+v", st.Subscription)
	}
	if !logged(s, "an account is charged for more than one subscription", b.id) {
		t.Error("no operator was told")
	}
	b.portal(t, "cancel-now", "") // the newest one, Pro
	s.deliver(t)
	b.wantState(t, plan.Starter, billing.Active, true)
}

// unpaid: what Stripe gave up to charge carries no plan, until it is paid.
func unpaid(t *testing.T, s *shop) {
	s.sim.LeaveUnpaid(true)
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardFailsLater)
	s.deliver(t)
	s.advance(t, 35*24*time.Hour)
	b.wantState(t, plan.Pro, billing.PastDue, true)
	s.advance(t, stripesim.UnpaidFor)
	b.wantState(t, plan.Free, billing.Unpaid, false)
	w := s.do(t, "POST", "/dev/billing/checkout", b.token, wire.CheckoutRequest{Plan: plan.Pro, Interval: "month"})
	if w.Code != http.StatusConflict {
		t.Errorf("a second subscription beside an unpaid one: %d %s", w.Code, w.Body)
	}
	b.portal(t, "pay", stripesim.CardGood)
	s.deliver(t)
	b.wantState(t, plan.Pro, billing.Active, true)
}

// logged reports whether a line of the log is about an account.
func logged(s *shop, message, accountID string) bool {
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, message) && strings.Contains(line, accountID) {
			return true
		}
	}
	return false
}
