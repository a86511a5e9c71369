package gateway

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Metrics count calls. Labels come from closed sets: operation ids of the contract, statuses and ends of ours, models of the
// configuration. Nothing that a client sends becomes a label.
type Metrics struct {
	requests   *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	own        prometheus.Histogram
	ttft       *prometheus.HistogramVec
	tokens     *prometheus.CounterVec
	ends       *prometheus.CounterVec
	limits     *prometheus.CounterVec
	streams    prometheus.Gauge
	unrecorded prometheus.Counter
}

// NewMetrics makes and registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	answer := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_requests_total", Help: "Requests by operation and status.",
		}, []string{"operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "modelgate_request_seconds", Help: "Time to the end of the answer.", Buckets: answer,
		}, []string{"operation"}),
		own: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "modelgate_own_seconds", Help: "Time of whole answers without waiting for the upstream.",
			Buckets: []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .1},
		}),
		ttft: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "modelgate_first_event_seconds", Help: "Time to the first event of a stream.", Buckets: answer,
		}, []string{"model"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_tokens_total", Help: "Tokens by model and direction.",
		}, []string{"model", "direction"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_calls_ended_total", Help: "Counted calls by how they ended.",
		}, []string{"end"}),
		limits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_limit_total", Help: "Verdicts of the rate limits.",
		}, []string{"outcome"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_open_streams", Help: "Streams on their way.",
		}),
		unrecorded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "modelgate_unrecorded_calls_total", Help: "Calls whose usage record was lost. Anything but 0 is a defect.",
		}),
	}
	reg.MustRegister(m.requests, m.seconds, m.own, m.ttft, m.tokens, m.ends, m.limits, m.streams, m.unrecorded)
	return m
}

func (m *Metrics) observe(x *exchange, status int, out *call.Outcome, took time.Duration) {
	operation := x.operation()
	m.requests.WithLabelValues(operation, statusLabel(status)).Inc()
	m.seconds.WithLabelValues(operation).Observe(took.Seconds())
	if x.op == nil || !x.op.counted || x.Caller == nil {
		return
	}
	m.ends.WithLabelValues(out.End).Inc()
	switch {
	case !out.First.IsZero():
		m.ttft.WithLabelValues(x.Facts.Model).Observe(out.First.Sub(x.Started).Seconds())
	case x.Facts.Waited > 0 && out.End == plane.EndDone:
		m.own.Observe((took - x.Facts.Waited).Seconds())
	}
	if out.Usage.TokensIn > 0 {
		m.tokens.WithLabelValues(x.Facts.Model, "in").Add(float64(out.Usage.TokensIn))
	}
	if out.Usage.TokensOut > 0 {
		m.tokens.WithLabelValues(x.Facts.Model, "out").Add(float64(out.Usage.TokensOut))
	}
}

func (m *Metrics) limited(err error) {
	switch {
	case err == nil:
		m.limits.WithLabelValues("admitted").Inc()
	case apierr.From(err).Kind == apierr.Limited:
		m.limits.WithLabelValues("refused").Inc()
	default:
		m.limits.WithLabelValues("failed").Inc()
	}
}

func (m *Metrics) refunded() { m.limits.WithLabelValues("refunded").Inc() }

// statusLabel spares the common statuses an allocation.
func statusLabel(status int) string {
	switch status {
	case 200:
		return "200"
	case 401:
		return "401"
	case 429:
		return "429"
	}
	return strconv.Itoa(status)
}
