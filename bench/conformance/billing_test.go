package conformance

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/stripesim"
)

// browse fills in a form of the simulator of Stripe, as the buyer's browser does.
func browse(t *testing.T, page string, form url.Values) {
	t.Helper()
	client := &http.Client{Timeout: callWait, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(page, form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 400 || res.Header.Get("X-Simulator") != "stripesim" {
		t.Fatalf("%s: %d", page, res.StatusCode)
	}
}

// limitedKey is a key whose only limit a minute is that of the plan.
func (k *caller) limitedKey(t *testing.T, session string) string {
	t.Helper()
	app := field(t, k.want(t, 200, "createApp", "", session, `{"name":"Paid"}`), "app_id")
	key := field(t, k.want(t, 200, "createKey", "/dev/apps/"+app+"/keys", session, ""), "key")
	k.awaitKey(t, key)
	return key
}

// awaitLimit calls the gateway until an answer shows that a key may make so many calls a minute, and returns how long that took.
func (k *caller) awaitLimit(t *testing.T, key, perMinute string) time.Duration {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		policy := k.want(t, 200, "agent", "", key, `{"prompt":"hello"}`).header.Get("RateLimit-Policy")
		if strings.Contains(policy, "q="+perMinute+";w=60") {
			return time.Since(began)
		}
		if time.Since(began) > callWait {
			t.Fatalf("the gateway does not learn that the key may make %s calls a minute: %s", perMinute, policy)
		}
	}
}

// notified sends a notification that Stripe has signed, of a kind that changes nothing.
func (k *caller) notified(t *testing.T) {
	t.Helper()
	config, err := os.ReadFile(k.in.ControlplaneConfig)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`stripe_webhook_secret: "?file:([^"\s]+)`).FindSubmatch(config)
	if found == nil {
		t.Fatal("the stack has no webhook secret")
	}
	secret, err := os.ReadFile(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"id":"evt_conformance","object":"event","type":"price.updated","created":1,"data":{"object":{"id":"price_1"}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.in.PortalURL+"/dev/billing/webhook", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Stripe-Signature", stripesim.Sign([]byte(body), strings.TrimSpace(string(secret)), time.Now()))
	res, err := (&http.Client{Timeout: callWait}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{res.StatusCode, res.Header, string(text)}
	if err := k.c.judge("billingWebhook", a); err != nil || a.status != 200 {
		t.Errorf("a signed notification: %d %s %v", a.status, a.body, err)
	}
	k.seen["billingWebhook"][a.status] = true
}

// billing buys a plan, changes it and leaves it, at the simulator of Stripe.
func (k *caller) billing(t *testing.T) {
	buyer, _ := k.member(t, "buyer", "free")
	other, _ := k.member(t, "thrifty", "free")
	k.want(t, 200, "billingConfig", "", "", "")
	k.want(t, 200, "billingState", "", buyer, "")
	k.want(t, 404, "billingState", "/dev/billing/subscription?scope=organization", buyer, "")
	k.want(t, 409, "billingPortal", "", buyer, "")
	k.want(t, 409, "changePlan", "", buyer, `{"plan":"pro"}`)
	k.want(t, 422, "billingCheckout", "", buyer, `{"plan":"gold"}`)
	c := k.want(t, 200, "billingCheckout", "", buyer, `{"plan":"starter"}`)
	session := "/dev/billing/verify-session?session_id=" + field(t, c, "session_id")
	if v := k.want(t, 200, "verifyCheckout", session, buyer, ""); field(t, v, "status") != "open" {
		t.Errorf("before the payment: %s", v.body)
	}
	k.want(t, 404, "verifyCheckout", session, other, "")
	k.want(t, 422, "verifyCheckout", "/dev/billing/verify-session", buyer, "")
	browse(t, field(t, c, "url"), url.Values{"card": {"4242424242424242"}, "do": {"pay"}})
	if v := k.want(t, 200, "verifyCheckout", session, buyer, ""); field(t, v, "status") != "active" {
		t.Errorf("after the payment: %s", v.body)
	}
	k.want(t, 409, "billingCheckout", "", buyer, `{"plan":"pro"}`)
	k.want(t, 200, "previewPlan", "/dev/billing/preview?plan=pro", buyer, "")
	k.want(t, 422, "previewPlan", "/dev/billing/preview", buyer, "")
	key := k.limitedKey(t, buyer)
	k.awaitLimit(t, key, "120")
	if s := k.want(t, 200, "changePlan", "", buyer, `{"plan":"pro","interval":"month"}`); field(t, s, "plan") != "pro" {
		t.Errorf("after the change: %s", s.body)
	}
	t.Logf("the gateway had the limits of the other plan %s after the change was answered", k.awaitLimit(t, key, "500"))
	k.want(t, 200, "listInvoices", "", buyer, "")
	k.want(t, 404, "keepApps", "", buyer, `{"app_ids":["00000000-0000-4000-8000-000000000000"]}`)
	k.want(t, 200, "keepApps", "", buyer, `{"app_ids":[]}`)
	k.want(t, 200, "alertSettings", "", buyer, "")
	k.want(t, 409, "rotateAlertSecret", "", buyer, "")
	k.want(t, 409, "testAlert", "", buyer, "")
	k.want(t, 422, "setAlerts", "", buyer, `{"thresholds":[50],"mail":false,"webhook_url":"http://example.com/"}`)
	k.want(t, 200, "setAlerts", "", buyer, `{"thresholds":[50],"mail":false,"webhook_url":"http://127.0.0.1:1/"}`)
	k.want(t, 200, "testAlert", "", buyer, "")
	k.want(t, 200, "setAlerts", "", buyer, `{"thresholds":[50,100],"mail":false,"webhook_url":"https://example.com/modelgate"}`)
	k.want(t, 200, "rotateAlertSecret", "", buyer, "")
	browse(t, field(t, k.want(t, 200, "billingPortal", "", buyer, ""), "url"), url.Values{"do": {"cancel-now"}})
	for deadline := time.Now().Add(callWait); field(t, k.want(t, 200, "billingState", "", buyer, ""), "plan") != "free"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the plan stays though its subscription has ended: the notification did not come")
		}
	}
	k.notified(t)
	k.want(t, 400, "billingWebhook", "", "", `{"id":"evt_1","type":"invoice.paid"}`)
	k.want(t, 413, "billingWebhook", "", "", `{"id":"`+strings.Repeat("x", 2<<20)+`"}`)
}
