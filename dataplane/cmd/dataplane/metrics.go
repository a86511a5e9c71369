package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/snapshot"
	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/obs"
	"modelgate.internal/shared/plane"
)

type registerer = prometheus.Registerer

// registerState registers gauges that are read when somebody asks.
func registerState(reg registerer, source *snapshot.Source, usage *spool.Spool, watch *listener.Watch) {
	gauge(reg, "modelgate_config_version", "Version of the configuration in force.",
		func() float64 { return float64(source.Current().Version) })
	gauge(reg, "modelgate_config_connected", "1 while the control plane's change stream is followed.", func() float64 {
		if source.Freshness().Connected {
			return 1
		}
		return 0
	})
	gauge(reg, "modelgate_config_age_seconds", "Time since the node was last known to have the whole configuration.",
		func() float64 { return source.Freshness().Age.Seconds() })
	gauge(reg, "modelgate_keys", "Keys in the node's index.", func() float64 { return float64(source.Freshness().Keys) })
	gauge(reg, "modelgate_open_connections", "Open connections of clients.", func() float64 { return float64(watch.Open()) })
	gauge(reg, "modelgate_usage_unshipped_records", "Usage records that the control plane has not acknowledged.",
		func() float64 { return float64(usage.Stats().Unshipped) })
	gauge(reg, "modelgate_usage_disk_bytes", "Disk space of the usage log.", func() float64 { return float64(usage.Stats().DiskBytes) })
	registerDamage(reg, usage)
	gauge(reg, "modelgate_usage_lost_records", "Usage records lost to damage. Anything but 0 is a defect.",
		func() float64 { return float64(usage.Stats().Lost) })
}

// registerDamage registers what an operator has to know of the usage log.
func registerDamage(reg registerer, usage *spool.Spool) {
	gauge(reg, "modelgate_usage_damaged_files", "Files of the usage log that were set aside, or copied, because of damage; see data_dir/spool/damaged.",
		func() float64 { return float64(usage.Stats().Damaged) })
	gauge(reg, "modelgate_usage_cut_calls", "Calls cut by a crash of an earlier process that this one counted.",
		func() float64 { return float64(usage.Stats().Cut) })
}

func registerBudget(reg registerer, budget *listener.Budget) {
	gauge(reg, "modelgate_body_bytes", "Memory reserved for large request bodies.", func() float64 { return float64(budget.Used()) })
}

func registerCertificate(reg registerer, c *listener.Certificate) {
	gauge(reg, "modelgate_tls_certificate_expires_seconds", "When the certificate in use expires, in seconds since 1970.",
		func() float64 { return float64(c.Leaf().NotAfter.Unix()) })
}

func gauge(reg registerer, name, help string, value func() float64) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// observeUpstreams counts what is asked of upstreams. The label is the id of the published configuration.
func observeUpstreams(reg registerer) upstream.Observer {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "modelgate_upstream_requests_total", Help: "Calls to upstreams by how they ended.",
	}, []string{"upstream", "result"})
	inFlight := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "modelgate_upstream_in_flight", Help: "Calls that upstreams are working on.",
	}, []string{"upstream"})
	first := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "modelgate_upstream_first_event_seconds", Help: "Time to the first event of an upstream's stream.",
		Buckets: prometheus.ExponentialBuckets(.001, 2.5, 12),
	}, []string{"upstream"})
	reg.MustRegister(requests, inFlight, first)
	ended := obs.NewSeries(func(l [2]string) prometheus.Counter { return requests.WithLabelValues(l[0], l[1]) })
	asked := obs.NewSeries(func(id string) prometheus.Gauge { return inFlight.WithLabelValues(id) })
	begun := obs.NewSeries(func(id string) prometheus.Observer { return first.WithLabelValues(id) })
	return upstream.Observer{
		InFlight: func(id string, delta int) { asked.Of(id).Add(float64(delta)) },
		First:    func(id string, after time.Duration) { begun.Of(id).Observe(after.Seconds()) },
		Ended:    func(id, result string, _ time.Duration) { ended.Of([2]string{id, result}).Inc() },
	}
}

// observePools counts what pools do on the way to an answer. Labels are ids of the published configuration and closed words.
func observePools(reg registerer) pool.Observer {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	attempts := counter("modelgate_pool_attempts_total", "Attempts at upstreams by result.", "pool", "upstream", "result")
	broken := counter("modelgate_pool_broken_streams_total", "Streams that broke off after their first event.", "pool", "upstream")
	waits := counter("modelgate_pool_waits_total", "Waits for a member by how they ended.", "pool", "how")
	held := counter("modelgate_pool_held_retries_total", "Retries that were not made, by why.", "pool", "why")
	fallbacks := counter("modelgate_pool_fallbacks_total", "Calls that went on in another pool.", "pool", "to", "class")
	panics := counter("modelgate_pool_panics_total", "Calls to members whose health checks fail, because no better one was left.", "pool", "upstream")
	state := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "modelgate_upstream_state", Help: "1 for the state that the upstream is in.",
	}, []string{"upstream", "state"})
	reg.MustRegister(state)
	attempted := obs.NewSeries(func(l [3]string) prometheus.Counter { return attempts.WithLabelValues(l[0], l[1], l[2]) })
	states := []pool.State{pool.StateUp, pool.StateProbing, pool.StateResting, pool.StateDown, pool.StateOpen}
	return pool.Observer{
		Attempt: func(p, up, result string, _ time.Duration) { attempted.Of([3]string{p, up, result}).Inc() },
		Broken:  func(p, up string) { broken.WithLabelValues(p, up).Inc() },
		Waited:  func(p, how string, _ time.Duration) { waits.WithLabelValues(p, how).Inc() },
		Held:    func(p, why string) { held.WithLabelValues(p, why).Inc() },
		Fallback: func(p, to string, class plane.FailureClass) {
			fallbacks.WithLabelValues(p, to, string(class)).Inc()
		},
		Panic: func(p, up string) { panics.WithLabelValues(p, up).Inc() },
		State: func(up string, is pool.State) {
			for _, s := range states {
				state.WithLabelValues(up, string(s)).Set(map[bool]float64{true: 1}[s == is])
			}
		},
	}
}
