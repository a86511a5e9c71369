package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/stripesim"
)

// TestNotificationsOfTheOtherMode are refused and noted in the audit log of the installation, whichever of the two is live.
func TestNotificationsOfTheOtherMode(t *testing.T) {
	s := newShop(t)
	live, err := billing.NewProcessor(billing.Settings{SecretKey: "sk_live_x", WebhookSecrets: []string{webhookSecret}, APIURL: billing.APIURL})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	for i, end := range []struct {
		at   *billing.Billing
		live bool // the key
	}{{s.api.Billing, false}, {s.billing(t, live, reg), true}} {
		s.api.Billing = end.at
		for _, of := range []bool{true, false} {
			id := fmt.Sprintf("evt_%d_%v", i, of)
			body := fmt.Appendf(nil, `{"id":%q,"object":"event","type":"invoice.paid","created":1,"livemode":%v,"data":{"object":{"id":"in_1"}}}`, id, of)
			w := s.webhook(t, body, stripesim.Sign(body, webhookSecret, time.Now()))
			want, noted := http.StatusOK, 0
			if of != end.live {
				want, noted = http.StatusBadRequest, 1
			}
			if w.Code != want {
				t.Errorf("live %v at a key that is live %v: %d %s", of, end.live, w.Code, w.Body)
			}
			found, err := s.store.AuditRecords(t.Context(), audit.Query{Chain: audit.Installation, Kind: audit.Payment, Target: id, Limit: 10})
			if err != nil || len(found) != noted || noted == 1 && !strings.Contains(*found[0].After, fmt.Sprintf(`"livemode":%v`, of)) {
				t.Errorf("live %v at a key that is live %v left the records %+v, %v", of, end.live, found, err)
			}
		}
	}
	if stored, err := s.store.Events(t.Context(), ""); err != nil || len(stored) != 2 {
		t.Errorf("%+v %v", stored, err)
	}
	if got := value(t, reg, "modelgate_billing_events_total", "other_mode"); got != 1 {
		t.Errorf("%v notifications of the other mode were counted", got)
	}
}

// value is what a metric shows, of the series with a label's value or of the only one.
func value(t *testing.T, reg *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("there is no metric %s %s", name, label)
	return 0
}

// TestBillingMetrics: what waits, what was given up, how old the oldest is, and what the hourly comparison has found.
func TestBillingMetrics(t *testing.T) {
	s, reg := newShop(t), prometheus.NewRegistry()
	s.api.Billing = s.billing(t, s.api.Billing.Stripe, reg)
	expect := func(when string, want map[string]float64) {
		t.Helper()
		if err := s.api.Billing.Count(t.Context()); err != nil {
			t.Fatal(err)
		}
		for series, v := range want {
			name, label, _ := strings.Cut(series, " ")
			if got := value(t, reg, "modelgate_billing_"+name, label); got < v || got > v+60 && name == "event_age_seconds" || got != v && name != "event_age_seconds" {
				t.Errorf("%s %s is %v, want %v", when, series, got, v)
			}
		}
	}
	expect("in the beginning", map[string]float64{
		"events_waiting": 0, "events_dead": 0, "event_age_seconds": 0, "compared_timestamp_seconds": 0, "events_total stored": 0, "events_total dead": 0,
		"comparisons_total done": 0, "differences_total plan": 0, "differences_total apps": 0,
	})
	b := s.crowded(t)
	s.deliver(t)
	applied := value(t, reg, "modelgate_billing_events_total", "applied")
	if applied == 0 {
		t.Error("nothing was applied")
	}
	b.portal(t, "cancel-now", "") // of which no notification comes
	lost := s.sim.Events()[s.sent]
	s.sim.Advance(billing.ReconcileEvery + time.Minute)
	plans := value(t, reg, "modelgate_billing_differences_total", "plan")
	s.work(t)
	b.wantPlan(t, plan.Free, "after the comparison")
	expect("after a comparison", map[string]float64{"differences_total plan": plans + 1, "differences_total apps": 0})
	if at := value(t, reg, "modelgate_billing_compared_timestamp_seconds", ""); at < float64(s.sim.Now().Add(-time.Minute).Unix()) {
		t.Errorf("compared at %v", at)
	}
	s.sim.Advance(billing.ChooseFor)
	s.work(t)
	expect("after the deadline", map[string]float64{"differences_total apps": 1})

	s.away.Store(true)
	s.notify(t, lost)
	s.notify(t, lost)
	s.sim.Advance(time.Hour)
	expect("while one waits", map[string]float64{"events_waiting": 1, "events_dead": 0, "event_age_seconds": 3600, "events_total known": 1})
	for range billing.AttemptsMax {
		_ = s.api.Billing.Work(t.Context())
		s.sim.Advance(billing.BackoffMax)
	}
	expect("after it was given up", map[string]float64{
		"events_waiting": 0, "events_dead": 1, "event_age_seconds": 0, "events_total dead": 1, "events_total postponed": billing.AttemptsMax - 1,
	})
	if got := value(t, reg, "modelgate_billing_comparisons_total", "failed"); got == 0 {
		t.Error("no comparison has failed")
	}
	if body := []byte(`{}`); s.webhook(t, body, "").Code != http.StatusBadRequest || value(t, reg, "modelgate_billing_events_total", "bad_signature") != 1 {
		t.Error("a bad signature is not counted")
	}
}
