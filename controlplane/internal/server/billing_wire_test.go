package server_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/plan"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/stripesim"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// buyers are the people of a transcript: a newcomer, somebody with the Starter plan and a card that can be declined, somebody before
// 3-D Secure, and a team whose organization has paid.
func (s *shop) buyers(t *testing.T, request string) names {
	t.Helper()
	n := names{"big": strings.Repeat("x", 300<<10)}
	if strings.Contains(request, "{owner_session}") || strings.Contains(request, "{admin_session}") {
		n = s.team(t)
	}
	put := func(prefix string, b *buyer) {
		n[prefix+"_session"], n[prefix+"_checkout"] = b.token, b.last
		n[prefix+"_app"] = must[wire.AppList](t, s.stack, "GET", "/dev/apps", b.token, nil).Apps[0].AppID
	}
	put("new", s.buyer(t))
	paying := s.customer(t, true)
	put("paying", paying)
	opened := s.buyer(t)
	c := must[wire.CheckoutSession](t, s.stack, "POST", "/dev/billing/checkout", opened.token, wire.CheckoutRequest{Plan: plan.Pro, Interval: "year"})
	opened.last = c.SessionID
	put("open", opened)
	secure := s.buyer(t)
	secure.checkout(t, plan.Pro, stripesim.CardSecure)
	put("secure", secure)
	if strings.Contains(request, "{failed_") {
		failed := s.buyer(t)
		s.browse(t, failed.checkout(t, plan.Pro, stripesim.CardSecure), url.Values{"do": {"fail"}})
		put("failed", failed)
	}
	if strings.Contains(request, "{over_") {
		over := s.crowded(t)
		over.portal(t, "cancel-now", "")
		put("over", over)
	}
	if strings.Contains(request, "{declined_") {
		declined := s.customer(t, true)
		declined.portal(t, "pay", stripesim.CardDeclined)
		put("declined", declined)
	}
	s.deliver(t)
	event := []byte(`{"id":"evt_transcript","object":"event","type":"price.updated","created":1,"data":{"object":{"id":"price_1"}}}`)
	n["event"] = string(event)
	n["signature"] = stripesim.Sign(event, webhookSecret, time.Now())
	n["old_signature"] = stripesim.Sign(event, webhookSecret, time.Now().Add(-6*time.Minute))
	live := []byte(strings.Replace(string(event), `"created"`, `"livemode":true,"created"`, 1))
	n["live_event"], n["live_signature"] = string(live), stripesim.Sign(live, webhookSecret, time.Now())
	n["other_signature"] = stripesim.Sign(event, "whsec_other", time.Now())
	return n
}

// crowded has the Pro plan and three apps.
func (s *shop) crowded(t *testing.T) *buyer {
	t.Helper()
	b := s.buyer(t)
	b.checkout(t, plan.Pro, stripesim.CardGood)
	s.deliver(t)
	for _, name := range []string{"Second", "Third"} {
		must[wire.App](t, s.stack, "POST", "/dev/apps", b.token, `{"name":"`+name+`"}`)
	}
	return b
}

// TestWireBilling holds the transcripts of billing. The clock stands still, so that amounts are the same each time.
func TestWireBilling(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Second)
	s := newShopAt(t, func() time.Time { return began })
	testkit.Transcripts(t, "testdata/billing", func(t *testing.T, request []byte) []byte {
		return s.exchange(t, request, s.buyers(t, string(request)))
	})
}

// TestWireWithoutBilling: every operation but the price list names the settings that are missing.
func TestWireWithoutBilling(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	testkit.Transcripts(t, "testdata/nobilling", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, s.people(t)) })
}

// TestWireWithoutStripe: Stripe answers nothing, or not what it should.
func TestWireWithoutStripe(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	testkit.Transcripts(t, "testdata/nostripe", func(t *testing.T, request []byte) []byte {
		s.away.Store(false)
		n := s.buyers(t, string(request))
		s.away.Store(true)
		return s.exchange(t, request, n)
	})
}

// TestWhoMayPay asks every operation of billing for an organization as every role, as somebody without one and as the owner of another
// one. An operation that is not in the table fails.
func TestWhoMayPay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	n := s.team(t)
	owner := &buyer{s: s, id: n["org"], token: n["owner_session"]}
	c := must[wire.CheckoutSession](t, s.stack, "POST", "/dev/billing/checkout?scope=organization", owner.token, wire.CheckoutRequest{Plan: plan.Starter, Interval: "month"})
	s.browse(t, c.URL, url.Values{"card": {stripesim.CardGood}})
	s.deliver(t)
	type row struct {
		path, body string
		ok, rival  int // what the owner of another organization gets
	}
	table := map[string]row{
		"billingState":      {"/dev/billing/subscription", "", 200, 200},
		"listInvoices":      {"/dev/billing/invoices", "", 200, 200},
		"previewPlan":       {"/dev/billing/preview?plan=pro", "", 200, 409},
		"billingPortal":     {"/dev/billing/portal", "", 200, 200}, // that of their own organization: the checkout came first
		"billingCheckout":   {"/dev/billing/checkout", `{"plan":"pro"}`, 409, 200},
		"changePlan":        {"/dev/billing/subscription", `{"plan":"starter","interval":"month"}`, 409, 409},
		"keepApps":          {"/dev/billing/apps", `{"app_ids":["` + n["app"] + `"]}`, 200, 404},
		"alertSettings":     {"/dev/billing/alerts", "", 200, 200},
		"setAlerts":         {"/dev/billing/alerts", `{"thresholds":[50],"mail":false}`, 200, 200}, // the rival's own
		"rotateAlertSecret": {"/dev/billing/alerts/secret", "", 409, 409},                          // nobody has a webhook
		"testAlert":         {"/dev/billing/alerts/test", "", 409, 409},
		"verifyCheckout":    {"/dev/billing/verify-session?session_id=" + c.SessionID, "", 200, 404},
	}
	ops, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if !strings.HasPrefix(op.Path, "/dev/billing/") || !slices.Contains(op.Security, "session") {
			continue
		}
		r, ok := table[op.ID]
		if !ok {
			t.Errorf("%s is not in the table", op.ID)
			continue
		}
		for _, who := range append(roles(), "loner", "rival") {
			want := 403
			switch {
			case who == "rival":
				want = r.rival
			case who == "loner", op.ID == "verifyCheckout" && who != "owner" && who != "billing":
				want = 404
			case who == "owner", who == "billing":
				want = r.ok
			}
			path, sep := r.path, "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			var body any
			if r.body != "" {
				body = r.body
			}
			w := s.do(t, op.Method, path+sep+"scope=organization", n[who+"_session"], body)
			documented(t, op.ID, w)
			if w.Code != want {
				t.Errorf("%s as %s: %d, want %d: %s", op.ID, who, w.Code, want, w.Body)
			}
		}
	}
}
