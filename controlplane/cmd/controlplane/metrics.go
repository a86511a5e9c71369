package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/controlplane/internal/store"
)

// httpMetrics counts the portal's answers. Its method is server.Options.Observe.
type httpMetrics struct {
	answers *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newHTTPMetrics(reg prometheus.Registerer) (*httpMetrics, error) {
	m := &httpMetrics{
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_portal_answers_total", Help: "Answers of the developer portal by operation and status.",
		}, []string{"operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "modelgate_portal_seconds", Help: "Time from the head of a request to the end of its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
	}
	for _, c := range []prometheus.Collector{m.answers, m.seconds} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *httpMetrics) observe(operation string, status int, took time.Duration) {
	m.answers.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(operation).Observe(took.Seconds())
}

// registerGauges shows what is in use now.
func registerGauges(reg prometheus.Registerer, s *store.Store, p *publish.Publisher) error {
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	for _, c := range []prometheus.Collector{
		gauge("modelgate_database_connections_used", "Connections to the database in use.", func() float64 {
			used, _, _ := s.Connections()
			return float64(used)
		}),
		gauge("modelgate_database_connections_idle", "Connections to the database not in use.", func() float64 {
			_, idle, _ := s.Connections()
			return float64(idle)
		}),
		gauge("modelgate_database_connections_max", "Connections to the database that there can be.", func() float64 {
			_, _, limit := s.Connections()
			return float64(limit)
		}),
		gauge("modelgate_config_streams", "Gateway nodes with a config stream from this process.", func() float64 {
			return float64(p.Streams())
		}),
	} {
		if err := reg.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}
