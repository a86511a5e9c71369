package billing

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcomes of a notification, as the metrics name them.
const (
	outcomeStored       = "stored"
	outcomeKnown        = "known"
	outcomeBadSignature = "bad_signature"
	outcomeOtherMode    = "other_mode"
	outcomeApplied      = "applied"
	outcomeIgnored      = "ignored"
	outcomePostponed    = "postponed"
	outcomeDead         = "dead"
)

// What a comparison that the clock brought has changed, as the metrics name it.
const (
	changedPlan = "plan"
	changedApps = "apps"
)

type metrics struct {
	events                 *prometheus.CounterVec
	waiting, dead, oldest  prometheus.Gauge
	compared               prometheus.Gauge
	comparisons, differing *prometheus.CounterVec
}

// newMetrics registers the metrics with reg. Every label value is there from the beginning, so that a first one is seen as a step.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_billing_events_total",
			Help: "Notifications of Stripe's by outcome: stored, known, bad_signature and other_mode when they arrive; applied, ignored, postponed and dead when they are worked on.",
		}, []string{"outcome"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_billing_events_waiting", Help: "Notifications of Stripe's in the database that wait to be applied.",
		}),
		dead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_billing_events_dead",
			Help: "Notifications of Stripe's in the database that were given up; controlplane stripe events lists them.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_billing_event_age_seconds", Help: "Time since the oldest notification that waits was received; 0 when none waits.",
		}),
		compared: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_billing_compared_timestamp_seconds",
			Help: "When this process last looked for accounts that are due to be compared with Stripe, and compared all of them; 0 for never.",
		}),
		comparisons: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_billing_comparisons_total", Help: "Comparisons of an account with Stripe that the clock brought, by outcome: done, failed.",
		}, []string{"outcome"}),
		differing: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_billing_differences_total",
			Help: "What comparisons that the clock brought have changed: plan, apps. A deadline, or a notification that never came.",
		}, []string{"changed"}),
	}
	for _, outcome := range []string{
		outcomeStored, outcomeKnown, outcomeBadSignature, outcomeOtherMode, outcomeApplied, outcomeIgnored, outcomePostponed, outcomeDead,
	} {
		m.events.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"done", "failed"} {
		m.comparisons.WithLabelValues(outcome)
	}
	for _, changed := range []string{changedPlan, changedApps} {
		m.differing.WithLabelValues(changed)
	}
	for _, c := range []prometheus.Collector{m.events, m.waiting, m.dead, m.oldest, m.compared, m.comparisons, m.differing} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) event(outcome string) { m.events.WithLabelValues(outcome).Inc() }

// comparison counts a comparison that the clock brought.
func (m *metrics) comparison(done Applied, err error) {
	if err != nil {
		m.comparisons.WithLabelValues("failed").Inc()
		return
	}
	m.comparisons.WithLabelValues("done").Inc()
	if done.Before != done.After {
		m.differing.WithLabelValues(changedPlan).Inc()
	}
	if done.Suspended+done.Resumed > 0 {
		m.differing.WithLabelValues(changedApps).Inc()
	}
}

// Count reads what waits, for the metrics.
func (b *Billing) Count(ctx context.Context) error {
	c, err := b.Store.CountEvents(ctx)
	if err != nil {
		return err
	}
	age := time.Duration(0)
	if c.Oldest != nil {
		age = max(b.now().Sub(*c.Oldest), 0)
	}
	b.metrics.waiting.Set(float64(c.Waiting))
	b.metrics.dead.Set(float64(c.Dead))
	b.metrics.oldest.Set(age.Seconds())
	return nil
}
