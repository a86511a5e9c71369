package gateway

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/obs"
	"modelgate.internal/shared/plane"
)

// Metrics count calls. Labels come from closed sets: operation ids of the contract, statuses and ends of ours, models of the
// configuration. Nothing that a client sends becomes a label.
type Metrics struct {
	requests   *obs.Series[answered, prometheus.Counter]
	seconds    *obs.Series[string, prometheus.Observer]
	own        prometheus.Histogram
	ttft       *obs.Series[string, prometheus.Observer]
	tokens     *obs.Series[counted, prometheus.Counter]
	ends       *obs.Series[string, prometheus.Counter]
	limits     *obs.Series[string, prometheus.Counter]
	kinds      *obs.Series[judgement, prometheus.Counter]
	once       *obs.Series[string, prometheus.Counter]
	streams    prometheus.Gauge
	unrecorded prometheus.Counter
}

// answered is the labels of a request, counted those of tokens.
type (
	answered struct {
		operation string
		status    int
	}
	counted struct{ model, direction string }
	// judgement is what a limit, by its name in the contract, said of a call.
	judgement struct{ limit, outcome string }
)

// Outcomes of one limit. A call that one of its limits refuses is refused by that one and judged by no other.
const (
	outcomeAdmitted = "admitted"
	outcomeRefused  = "refused"
	outcomeReached  = "reached" // it ended a stream
)

// NewMetrics makes and registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	answer := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "modelgate_requests_total", Help: "Requests by operation and status.",
	}, []string{"operation", "status"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "modelgate_request_seconds", Help: "Time to the end of the answer.", Buckets: answer,
	}, []string{"operation"})
	ttft := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "modelgate_first_event_seconds", Help: "Time to the first event of a stream.", Buckets: answer,
	}, []string{"model"})
	tokens := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "modelgate_tokens_total", Help: "Tokens by model and direction.",
	}, []string{"model", "direction"})
	ends := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "modelgate_calls_ended_total", Help: "Counted calls by how they ended.",
	}, []string{"end"})
	limits := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "modelgate_limit_total", Help: "Verdicts of the rate limits.",
	}, []string{"outcome"})
	kinds := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "modelgate_limit_kind_total", Help: "Calls by limit and what it said of them.",
	}, []string{"limit", "outcome"})
	once := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "modelgate_idempotent_total", Help: "Requests with an Idempotency-Key by what became of them.",
	}, []string{"outcome"})
	m := &Metrics{
		requests: obs.NewSeries(func(a answered) prometheus.Counter {
			return requests.WithLabelValues(a.operation, strconv.Itoa(a.status))
		}),
		seconds: obs.NewSeries(func(operation string) prometheus.Observer { return seconds.WithLabelValues(operation) }),
		own: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "modelgate_own_seconds", Help: "Time of whole answers without waiting for the upstream.",
			Buckets: []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .1},
		}),
		ttft:   obs.NewSeries(func(model string) prometheus.Observer { return ttft.WithLabelValues(model) }),
		tokens: obs.NewSeries(func(c counted) prometheus.Counter { return tokens.WithLabelValues(c.model, c.direction) }),
		ends:   obs.NewSeries(func(end string) prometheus.Counter { return ends.WithLabelValues(end) }),
		limits: obs.NewSeries(func(outcome string) prometheus.Counter { return limits.WithLabelValues(outcome) }),
		kinds: obs.NewSeries(func(j judgement) prometheus.Counter {
			return kinds.WithLabelValues(j.limit, j.outcome)
		}),
		once: obs.NewSeries(func(outcome string) prometheus.Counter { return once.WithLabelValues(outcome) }),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "modelgate_open_streams", Help: "Streams on their way.",
		}),
		unrecorded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "modelgate_unrecorded_calls_total", Help: "Calls whose usage record was lost. Anything but 0 is a defect.",
		}),
	}
	reg.MustRegister(requests, seconds, m.own, ttft, tokens, ends, limits, kinds, once, m.streams, m.unrecorded)
	return m
}

func (m *Metrics) observe(x *exchange, status int, out *call.Outcome, took time.Duration) {
	operation := x.operation()
	m.requests.Of(answered{operation, status}).Inc()
	m.seconds.Of(operation).Observe(took.Seconds())
	if x.op == nil || !x.op.counted || x.Caller == nil {
		return
	}
	m.ends.Of(out.End).Inc()
	switch {
	case !out.First.IsZero():
		m.ttft.Of(x.Facts.Model).Observe(out.First.Sub(x.Started).Seconds())
	case x.Facts.Waited > 0 && out.End == plane.EndDone:
		m.own.Observe((took - x.Facts.Waited).Seconds())
	}
	if out.Usage.TokensIn > 0 {
		m.tokens.Of(counted{x.Facts.Model, "in"}).Add(float64(out.Usage.TokensIn))
	}
	if out.Usage.TokensOut > 0 {
		m.tokens.Of(counted{x.Facts.Model, "out"}).Add(float64(out.Usage.TokensOut))
	}
}

func (m *Metrics) limited(err error) {
	switch {
	case err == nil:
		m.limits.Of("admitted").Inc()
	case apierr.From(err).Kind == apierr.Limited:
		m.limits.Of("refused").Inc()
	case apierr.From(err).Kind == apierr.Unavailable:
		m.limits.Of("unavailable").Inc()
	default: // it ended while it waited
		m.limits.Of("ended").Inc()
	}
}

// judged counts a call by the limits that judged it. What it has of model tokens is judged later, but told here unless it is refused.
func (m *Metrics) judged(v *limit.Verdict, c *call.Caller, err error) {
	switch {
	case err == nil:
		for i := range c.Limits {
			if name := c.Limits[i].Name; limit.Known(name) {
				m.kinds.Of(judgement{name, outcomeAdmitted}).Inc()
			}
		}
	case v.Name != "":
		m.kinds.Of(judgement{v.Name, outcomeRefused}).Inc()
	}
}

func (m *Metrics) refunded() { m.limits.Of("refunded").Inc() }
