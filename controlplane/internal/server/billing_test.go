package server_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/stripesim"
	"modelgate.internal/shared/wire"
)

const webhookSecret = "whsec_first"

// shop is a control plane whose plans can be bought at the simulator of Stripe.
type shop struct {
	*stack
	sim  *stripesim.Sim
	door *httptest.Server // of the simulator
	sent int              // notifications of the simulator that were delivered
	away atomic.Bool      // the simulator answers nothing
}

// newShop returns a shop with its prices set up. Time is the simulator's; notifications wait for deliver.
func newShop(t *testing.T) *shop { return newShopAt(t, nil) }

// newShopAt returns one whose clock shows now, and what it was advanced by.
func newShopAt(t *testing.T, now func() time.Time) *shop {
	t.Helper()
	return openShop(t, now, func(sim http.Handler) http.Handler { return sim })
}

// openShop returns one whose requests to the simulator go through another handler.
func openShop(t *testing.T, now func() time.Time, through func(http.Handler) http.Handler) *shop {
	t.Helper()
	s := &shop{stack: newStack(t)}
	s.door = httptest.NewServer(through(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			w.Header().Set("Stripe-Should-Retry", "false")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.sim.ServeHTTP(w, r)
	})))
	t.Cleanup(s.door.Close)
	s.sim = stripesim.New(stripesim.Config{URL: s.door.URL, Secret: webhookSecret, Now: now})
	s.api.Billing = s.replica(t)
	if err := s.api.Billing.Setup(t.Context(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	return s
}

// replica is a billing of its own on the same database, as another process would have.
func (s *shop) replica(t *testing.T) *billing.Billing {
	t.Helper()
	p, err := billing.NewProcessor(billing.Settings{
		SecretKey: stripesim.KeyPrefix + "test", WebhookSecrets: []string{"whsec_second", webhookSecret}, APIURL: s.door.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.billing(t, p, prometheus.NewRegistry())
}

// billing is one with a processor of its own.
func (s *shop) billing(t *testing.T, p *billing.Processor, reg prometheus.Registerer) *billing.Billing {
	t.Helper()
	b, err := billing.New(s.store, p, "http://portal.example", slog.New(slog.NewJSONHandler(s.log, nil)), s.sim.Now, reg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// notify delivers one notification and expects it to be taken.
func (s *shop) notify(t *testing.T, e stripesim.Event) {
	t.Helper()
	w := s.webhook(t, e.Body, stripesim.Sign(e.Body, webhookSecret, time.Now()))
	if w.Code != http.StatusOK {
		t.Fatalf("notification %s: %d %s", e.Type, w.Code, w.Body)
	}
}

func (s *shop) webhook(t *testing.T, body []byte, signature string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/dev/billing/webhook", bytes.NewReader(body))
	r.Header.Set("Stripe-Signature", signature)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	documented(t, "billingWebhook", w)
	return w
}

// work has the worker do what is due.
func (s *shop) work(t *testing.T) {
	t.Helper()
	if err := s.api.Billing.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// deliver delivers what the simulator sent since, in its order, and has it applied.
func (s *shop) deliver(t *testing.T) {
	t.Helper()
	events := s.sim.Events()
	for _, e := range events[s.sent:] {
		s.notify(t, e)
	}
	s.sent = len(events)
	s.work(t)
}

// advance moves time and delivers what that brings.
func (s *shop) advance(t *testing.T, d time.Duration) {
	t.Helper()
	s.sim.Advance(d)
	s.deliver(t)
}

// browse fills in the form of a page of the simulator and returns where the browser goes next.
func (s *shop) browse(t *testing.T, page string, form url.Values) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(page, form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if !strings.Contains(res.Header.Get("X-Simulator")+string(text), "stripesim") {
		t.Errorf("%s does not say that it is a simulator", page)
	}
	to := res.Header.Get("Location")
	if strings.HasPrefix(to, "/") {
		to = s.door.URL + to
	}
	return to
}

// buyer is a developer with a session.
type buyer struct {
	s     *shop
	id    string
	token string
	last  string // checkout session
}

func (s *shop) buyer(t *testing.T) *buyer {
	t.Helper()
	session := must[wire.Session](t, s.stack, "POST", "/dev/auth/register", "", wire.RegisterRequest{
		Name: "Ada", Email: strings.ToLower(uuid.NewString()) + "@example.com", Password: "correct horse battery",
	})
	made := must[wire.App](t, s.stack, "POST", "/dev/apps", session.AccessToken, `{"name":"Bot"}`)
	must[wire.NewKey](t, s.stack, "POST", "/dev/apps/"+made.AppID+"/keys", session.AccessToken, nil)
	return &buyer{s: s, id: session.Developer.ID, token: session.AccessToken}
}

// customer is a buyer who has the Starter plan, if paid.
func (s *shop) customer(t *testing.T, paid bool) *buyer {
	t.Helper()
	b := s.buyer(t)
	if paid {
		b.checkout(t, plan.Starter, stripesim.CardGood)
		s.deliver(t)
	}
	return b
}

// checkout begins a checkout and pays with a card; it returns where the browser goes next.
func (b *buyer) checkout(t *testing.T, planID, card string) string {
	t.Helper()
	c := must[wire.CheckoutSession](t, b.s.stack, "POST", "/dev/billing/checkout", b.token, wire.CheckoutRequest{Plan: planID, Interval: "month"})
	b.last = c.SessionID
	return b.s.browse(t, c.URL, url.Values{"card": {card}, "do": {"pay"}})
}

func (b *buyer) verify(t *testing.T) wire.CheckoutState {
	t.Helper()
	return must[wire.CheckoutState](t, b.s.stack, "GET", "/dev/billing/verify-session?session_id="+b.last, b.token, nil)
}

func (b *buyer) state(t *testing.T) wire.BillingState {
	t.Helper()
	return must[wire.BillingState](t, b.s.stack, "GET", "/dev/billing/subscription", b.token, nil)
}

// portal does something in the billing portal.
func (b *buyer) portal(t *testing.T, do, card string) {
	t.Helper()
	p := must[wire.BillingPortal](t, b.s.stack, "POST", "/dev/billing/portal", b.token, nil)
	b.s.browse(t, p.URL, url.Values{"do": {do}, "card": {card}})
}

func (b *buyer) wantPlan(t *testing.T, want, when string) {
	t.Helper()
	if got := must[wire.Developer](t, b.s.stack, "GET", "/dev/auth/me", b.token, nil).Plan; got != want {
		t.Fatalf("%s the plan is %s, want %s", when, got, want)
	}
}

func (b *buyer) customerID(t *testing.T) string {
	t.Helper()
	a, err := b.s.store.BillingAccount(t.Context(), b.id)
	if err != nil || a.CustomerID == nil {
		t.Fatalf("%v %v", a, err)
	}
	return *a.CustomerID
}

// TestBilling: each story has a developer of its own, in one shop.
func TestBilling(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, story := range []struct {
		name string
		tell func(t *testing.T, s *shop)
	}{
		{"buying a plan", buyingAPlan},
		{"verifying is enough", verifyingIsEnough},
		{"three d secure", threeDSecure},
		{"failed payments", failedPayments},
		{"nobody pays twice", nobodyPaysTwice},
		{"an expired checkout", anExpiredCheckout},
		{"cancel and buy again", cancelAndBuyAgain},
		{"past due", pastDue},
		{"changing the plan", changingThePlan},
		{"too many apps", tooManyApps},
		{"a dispute", aDispute},
		{"a deleted customer", aDeletedCustomer},
		{"signatures", signatures},
		{"operators plan stays", operatorsPlanStays},
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(t, s) })
	}
}

func buyingAPlan(t *testing.T, s *shop) {
	b := s.buyer(t)
	next := b.checkout(t, plan.Pro, stripesim.CardGood)
	if next != "http://portal.example/dev/#/billing?session_id="+b.last {
		t.Errorf("after the payment the browser goes to %s", next)
	}
	b.wantPlan(t, plan.Free, "before anything was noticed")
	before, err := s.store.Cursor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.deliver(t)
	b.wantPlan(t, plan.Pro, "after the notifications")
	if after, err := s.store.Cursor(t.Context()); err != nil || after.Version <= before.Version {
		t.Errorf("the nodes were told nothing: %v %v %v", before, after, err)
	}
	s.notify(t, s.sim.Events()[s.sent-1])
	if c, err := s.store.CountEvents(t.Context()); err != nil || c.Waiting != 0 {
		t.Errorf("%+v, %v: a notification that was applied is to be applied again", c, err)
	}
	if v := b.verify(t); v.Status != "active" || v.Plan != plan.Pro || v.URL != nil {
		t.Errorf("%+v", v)
	}
	st := b.state(t)
	if sub := st.Subscription; sub == nil || sub.Status != "active" || *sub.PaymentMethod != "visa 4242" || *sub.NextAmount != 4900 || *sub.Currency != "usd" {
		t.Errorf("%+v", sub)
	}
	if list := must[wire.InvoiceList](t, s.stack, "GET", "/dev/billing/invoices", b.token, nil); len(list.Invoices) != 1 || list.Invoices[0].Status != "paid" {
		t.Errorf("%+v", list)
	}
	w := s.do(t, "POST", "/dev/billing/checkout", b.token, wire.CheckoutRequest{Plan: plan.Starter, Interval: "month"})
	documented(t, "billingCheckout", w)
	if w.Code != http.StatusConflict {
		t.Errorf("a second subscription: %d %s", w.Code, w.Body)
	}
}

// verifyingIsEnough: whoever comes back from the checkout has the plan, though no notification has come.
func verifyingIsEnough(t *testing.T, s *shop) {
	b := s.buyer(t)
	c := must[wire.CheckoutSession](t, s.stack, "POST", "/dev/billing/checkout", b.token, wire.CheckoutRequest{Plan: plan.Starter, Interval: "year"})
	b.last = c.SessionID
	if v := b.verify(t); v.Status != "open" || *v.URL != c.URL {
		t.Errorf("%+v", v)
	}
	other := s.buyer(t)
	if w := s.do(t, "GET", "/dev/billing/verify-session?session_id="+b.last, other.token, nil); w.Code != http.StatusNotFound {
		t.Errorf("another developer's session: %d", w.Code)
	}
	s.browse(t, c.URL, url.Values{"card": {stripesim.CardGood}})
	if v := b.verify(t); v.Status != "active" {
		t.Errorf("%+v", v)
	}
	b.wantPlan(t, plan.Starter, "after verifying")
}

func threeDSecure(t *testing.T, s *shop) {
	b := s.buyer(t)
	page := b.checkout(t, plan.Pro, stripesim.CardSecure)
	s.deliver(t)
	b.wantPlan(t, plan.Free, "before 3-D Secure")
	if v := b.verify(t); v.Status != "requires_action" || *v.URL != page {
		t.Errorf("%+v, the page is %s", v, page)
	}
	s.browse(t, page, url.Values{"do": {"authenticate"}})
	if v := b.verify(t); v.Status != "active" {
		t.Errorf("%+v", v)
	}
	b.wantPlan(t, plan.Pro, "after 3-D Secure")
	s.deliver(t)
	b.wantPlan(t, plan.Pro, "after the late notifications")
}

func failedPayments(t *testing.T, s *shop) {
	b := s.buyer(t)
	if next := b.checkout(t, plan.Pro, stripesim.CardDeclined); next != "" {
		t.Errorf("a declined card leads to %s", next)
	}
	if v := b.verify(t); v.Status != "open" {
		t.Errorf("after a declined card: %+v", v)
	}
	page := b.checkout(t, plan.Pro, stripesim.CardSecure) // ends the session before
	s.browse(t, page, url.Values{"do": {"fail"}})
	s.deliver(t)
	v := b.verify(t)
	if v.Status != "payment_failed" || v.URL == nil {
		t.Errorf("after 3-D Secure failed: %+v", v)
	}
	b.wantPlan(t, plan.Free, "after 3-D Secure failed")
	s.browse(t, *v.URL, url.Values{"do": {"pay"}, "card": {stripesim.CardGood}})
	if v := b.verify(t); v.Status != "active" {
		t.Errorf("after another card: %+v", v)
	}
	b.wantPlan(t, plan.Pro, "after another card")
}

// nobodyPaysTwice: what was begun before ends when a checkout begins.
func nobodyPaysTwice(t *testing.T, s *shop) {
	b := s.buyer(t)
	first := must[wire.CheckoutSession](t, s.stack, "POST", "/dev/billing/checkout", b.token, wire.CheckoutRequest{Plan: plan.Pro, Interval: "month"})
	page := b.checkout(t, plan.Pro, stripesim.CardSecure)
	if to := s.browse(t, first.URL, url.Values{"card": {stripesim.CardGood}}); to != "" {
		t.Errorf("the first session can still be paid: %s", to)
	}
	b.checkout(t, plan.Starter, stripesim.CardGood)
	s.browse(t, page, url.Values{"do": {"authenticate"}})
	s.deliver(t)
	b.wantPlan(t, plan.Starter, "after the last checkout")
	paid := 0
	for _, i := range must[wire.InvoiceList](t, s.stack, "GET", "/dev/billing/invoices", b.token, nil).Invoices {
		if i.Status == "paid" {
			paid++
		}
	}
	if paid != 1 {
		t.Errorf("%d invoices were paid", paid)
	}
}

func anExpiredCheckout(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardDeclined)
	s.advance(t, 25*time.Hour)
	if v := b.verify(t); v.Status != "expired" || v.URL != nil {
		t.Errorf("%+v", v)
	}
	b.checkout(t, plan.Pro, stripesim.CardSecure)
	s.advance(t, 24*time.Hour)
	if v := b.verify(t); v.Status != "expired" {
		t.Errorf("3-D Secure was never finished: %+v", v)
	}
	b.wantPlan(t, plan.Free, "after all")
}

func cancelAndBuyAgain(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.deliver(t)
	b.portal(t, "cancel", "")
	s.deliver(t)
	if st := b.state(t); !st.Subscription.CancelAtPeriodEnd || st.Subscription.NextAmount != nil {
		t.Errorf("%+v", st.Subscription)
	}
	b.wantPlan(t, plan.Pro, "until the end of the period")
	s.advance(t, 32*24*time.Hour)
	b.wantPlan(t, plan.Free, "after the end of the period")
	b.checkout(t, plan.Starter, stripesim.CardGood)
	s.deliver(t)
	b.wantPlan(t, plan.Starter, "after buying again")
	b.portal(t, "cancel-now", "")
	s.deliver(t)
	b.wantPlan(t, plan.Free, "after canceling at once")
}

// pastDue: the plan stays seven days, by the clock alone, and comes back with the payment.
func pastDue(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardFailsLater)
	s.deliver(t)
	ends := b.state(t).Subscription.PeriodEnd
	s.advance(t, ends.Sub(s.sim.Now())+time.Hour)
	b.wantPlan(t, plan.Pro, "when the payment has failed")
	if st := b.state(t); st.Subscription.Status != "past_due" || !st.Subscription.GraceEndsAt.Equal(ends.Add(billing.GraceFor)) {
		t.Errorf("%+v", st.Subscription)
	}
	s.advance(t, 6*24*time.Hour)
	b.wantPlan(t, plan.Pro, "on the seventh day")
	events := len(s.sim.Events())
	s.advance(t, 24*time.Hour)
	b.wantPlan(t, plan.Free, "after seven days")
	if len(s.sim.Events()) != events {
		t.Fatal("a notification came: the clock alone was to do it")
	}
	b.portal(t, "pay", stripesim.CardGood)
	s.deliver(t)
	b.wantPlan(t, plan.Pro, "after the card was changed")
	b.portal(t, "pay", stripesim.CardFailsLater)
	s.advance(t, 60*24*time.Hour)
	b.wantPlan(t, plan.Free, "after Stripe gave up")
	if b.state(t).Subscription != nil {
		t.Error("a subscription is left")
	}
}

func changingThePlan(t *testing.T, s *shop) {
	b := s.buyer(t)
	w := s.do(t, "POST", "/dev/billing/subscription", b.token, wire.ChangePlanRequest{Plan: plan.Pro, Interval: "month"})
	documented(t, "changePlan", w)
	if w.Code != http.StatusConflict {
		t.Errorf("without a subscription: %d %s", w.Code, w.Body)
	}
	b.checkout(t, plan.Starter, stripesim.CardGood)
	s.deliver(t)
	p := must[wire.BillingPreview](t, s.stack, "GET", "/dev/billing/preview?plan=pro", b.token, nil)
	if p.DueNow < 2900 || p.DueNow > 3000 || len(p.Lines) != 2 || !p.Lines[0].Proration {
		t.Errorf("%+v", p)
	}
	b.wantPlan(t, plan.Starter, "after a preview")
	st := must[wire.BillingState](t, s.stack, "POST", "/dev/billing/subscription", b.token, wire.ChangePlanRequest{Plan: plan.Pro, Interval: "month"})
	if st.Plan != plan.Pro || st.Subscription.Plan != plan.Pro {
		t.Errorf("%+v", st)
	}
	for _, operation := range []string{"billingCheckout", "changePlan"} {
		if found := s.audited(t, b.token, operation); len(found) != 1 || found[0].Actor == nil {
			t.Errorf("%s left the records %+v", operation, found)
		}
	}
	b.portal(t, "pay", stripesim.CardDeclined)
	w = s.do(t, "POST", "/dev/billing/subscription", b.token, wire.ChangePlanRequest{Plan: plan.Enterprise, Interval: "month"})
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "declined") {
		t.Errorf("with a declined card: %d %s", w.Code, w.Body)
	}
	b.wantPlan(t, plan.Pro, "after a declined change")
}

// tooManyApps: a smaller plan suspends what the owner does not keep, after seven days, and a larger one brings it back.
func tooManyApps(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.deliver(t)
	var ids []string
	for _, one := range must[wire.AppList](t, s.stack, "GET", "/dev/apps", b.token, nil).Apps {
		ids = append(ids, one.AppID)
	}
	for n := len(ids); n < 4; n++ {
		made := must[wire.App](t, s.stack, "POST", "/dev/apps", b.token, fmt.Sprintf(`{"name":"app %d"}`, n))
		ids = append(ids, made.AppID)
	}
	b.portal(t, "cancel-now", "")
	s.deliver(t)
	over := b.state(t).OverLimit
	if over == nil || over.Allowed != 2 || len(over.Apps) != 4 || !over.Apps[1].Stays || over.Apps[2].Stays || over.Apps[3].Suspended {
		t.Fatalf("%+v", over)
	}
	keep := []string{ids[2], ids[3]}
	if w := s.do(t, "PUT", "/dev/billing/apps", s.buyer(t).token, wire.KeepAppsRequest{AppIDs: keep}); w.Code != http.StatusNotFound {
		t.Errorf("another developer's apps: %d", w.Code)
	}
	must[wire.BillingState](t, s.stack, "PUT", "/dev/billing/apps", b.token, wire.KeepAppsRequest{AppIDs: keep})
	if found := s.audited(t, b.token, "keepApps"); len(found) != 1 {
		t.Errorf("keepApps left the records %+v", found)
	}
	s.advance(t, 6*24*time.Hour)
	suspended := func() (n int) {
		for _, one := range b.state(t).OverLimit.Apps {
			if one.Suspended {
				n++
			}
			if one.Suspended && one.Stays {
				t.Errorf("%s is suspended though it stays", one.Name)
			}
		}
		return n
	}
	if n := suspended(); n != 0 {
		t.Errorf("%d apps are suspended early", n)
	}
	s.advance(t, 25*time.Hour)
	if n := suspended(); n != 2 {
		t.Errorf("%d apps are suspended", n)
	}
	b.checkout(t, plan.Starter, stripesim.CardGood)
	s.deliver(t)
	states, err := s.store.AppStates(t.Context(), b.id)
	if err != nil || len(states) != 4 {
		t.Fatalf("%v %v", states, err)
	}
	for _, one := range states {
		if one.SuspendedAt != nil {
			t.Errorf("%s is still suspended", one.Name)
		}
	}
}

func aDispute(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.deliver(t)
	id := s.sim.Dispute(b.customerID(t))
	s.deliver(t)
	if b.state(t).DisputedAt == nil {
		t.Error("the dispute is not shown")
	}
	b.wantPlan(t, plan.Pro, "during a dispute")
	s.sim.SettleDispute(id)
	s.deliver(t)
	if b.state(t).DisputedAt != nil {
		t.Error("the dispute is still shown")
	}
}

func aDeletedCustomer(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.deliver(t)
	s.sim.DeleteCustomer(b.customerID(t))
	s.deliver(t)
	b.wantPlan(t, plan.Free, "after the customer was deleted at Stripe")
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.deliver(t)
	b.wantPlan(t, plan.Pro, "after buying again")
}

func signatures(t *testing.T, s *shop) {
	body := []byte(`{"id":"evt_forged","object":"event","type":"customer.subscription.updated","created":1,"data":{"object":{"id":"sub_1","customer":"cus_1"}}}`)
	now := time.Now()
	for name, signature := range map[string]string{
		"none": "", "garbage": "t=x,v1=y", "another secret": stripesim.Sign(body, "whsec_other", now),
		"old":        stripesim.Sign(body, webhookSecret, now.Add(-billing.SignatureTolerance-time.Minute)),
		"other body": stripesim.Sign(append(body, ' '), webhookSecret, now),
		"other time": strings.Replace(stripesim.Sign(body, webhookSecret, now.Add(-time.Hour)), fmt.Sprint("t=", now.Add(-time.Hour).Unix()), fmt.Sprint("t=", now.Unix()), 1),
	} {
		if w := s.webhook(t, body, signature); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if c, err := s.store.CountEvents(t.Context()); err != nil || c.Waiting != 0 {
		t.Errorf("%+v, %v: a notification was stored", c, err)
	}
	for _, secret := range []string{webhookSecret, "whsec_second", webhookSecret} { // the third one is a replay
		if w := s.webhook(t, body, stripesim.Sign(body, secret, now)); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", secret, w.Code, w.Body)
		}
	}
	if c, err := s.store.CountEvents(t.Context()); err != nil || c.Waiting != 1 {
		t.Errorf("%+v, %v: one notification is to wait", c, err)
	}
}

// operatorsPlanStays: a comparison with Stripe that brings no news does not undo what an operator set.
func operatorsPlanStays(t *testing.T, s *shop) {
	b := s.buyer(t)
	b.checkout(t, plan.Starter, stripesim.CardGood)
	s.deliver(t)
	email := must[wire.Developer](t, s.stack, "GET", "/dev/auth/me", b.token, nil).Email
	enterprise := plan.Enterprise
	if _, err := s.api.Accounts.Set(t.Context(), email, account.Change{Plan: &enterprise}); err != nil {
		t.Fatal(err)
	}
	s.advance(t, 3*time.Hour)
	b.wantPlan(t, plan.Enterprise, "after a comparison")
	b.portal(t, "cancel-now", "")
	s.deliver(t)
	b.wantPlan(t, plan.Free, "after the subscription ended")
}
