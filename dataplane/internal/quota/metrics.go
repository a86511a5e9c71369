package quota

import (
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// metrics count what a node does. What can be read when somebody asks is a gauge function.
type metrics struct {
	grants  *prometheus.CounterVec
	latency prometheus.Histogram
	refused *prometheus.CounterVec

	answered atomic.Bool // the ledger has answered since the start

	mu  sync.Mutex
	seq uint64
	at  time.Time
}

func newMetrics(reg prometheus.Registerer, n *Node) *metrics {
	m := &metrics{
		grants: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_quota_answers_total", Help: "Answers of the ledger to this node, per limit asked about.",
		}, []string{"outcome"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "modelgate_quota_frame_seconds", Help: "Time from a frame to its reply.",
			Buckets: []float64{.0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 2},
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_quota_refused_total", Help: "Connections, frames and commands of other nodes that were refused.",
		}, []string{"reason"}),
	}
	reg.MustRegister(m.grants, m.latency, m.refused)
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	gauge("modelgate_quota_live", "1 while the node's leases are valid.", func() float64 { return flag(n.leases.Live()) })
	gauge("modelgate_quota_connected_nodes", "Nodes that send their frames here.", func() float64 { return float64(len(n.server.Connected())) })
	gauge("modelgate_quota_certificate_ends_seconds", "When this node's certificate ends, in seconds since 1970.", func() float64 {
		return float64(n.id.Expires().Unix())
	})
	if n.id.Role != "voter" {
		return m
	}
	gauge("modelgate_quota_leads", "1 while this node leads the ledger.", func() float64 { return flag(n.replica.Leading()) })
	gauge("modelgate_quota_votes", "1 while this node is a voter of the ledger.", func() float64 {
		s, known := n.find(raft.ServerID(n.id.Node))
		return flag(known && s.Suffrage == raft.Voter)
	})
	gauge("modelgate_quota_stalled", "1 while this voter takes no part because its disk keeps no votes.", func() float64 { return flag(n.stalled()) })
	gauge("modelgate_quota_term", "Term of raft.", func() float64 { return float64(n.replica.Raft().CurrentTerm()) })
	gauge("modelgate_quota_applied_index", "Newest entry that is applied.", func() float64 { return float64(n.replica.Raft().AppliedIndex()) })
	gauge("modelgate_quota_entries_total", "Entries that this node proposed.", func() float64 { return float64(n.replica.Entries()) })
	gauge("modelgate_quota_keys", "Limits that count something.", func() float64 { return float64(n.replica.Ledger().Size().Accounts) })
	gauge("modelgate_quota_sessions", "Sessions of nodes.", func() float64 {
		size := n.replica.Ledger().Size()
		return float64(size.Nodes + size.LostSessions)
	})
	gauge("modelgate_quota_disk_bytes", "Disk space of log and snapshots.", func() float64 { return float64(diskBytes(filepath.Join(n.o.Dir, logDir))) })
	return m
}

func (m *metrics) refusedConn(reason string) { m.refused.WithLabelValues(reason).Inc() }

func (m *metrics) sent(seq uint64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq, m.at = seq, at
}

func (m *metrics) received(r *ledger.Reply, now time.Time) {
	m.answered.Store(true)
	m.mu.Lock()
	if r.Seq == m.seq {
		m.latency.Observe(now.Sub(m.at).Seconds())
	}
	m.mu.Unlock()
	if r.Status != ledger.Accepted {
		m.grants.WithLabelValues("stale").Inc()
	}
	granted, refused := 0, 0
	for i := range r.Grants {
		if r.Grants[i].RetryMS > 0 {
			refused++
		} else {
			granted++
		}
	}
	m.grants.WithLabelValues("granted").Add(float64(granted))
	m.grants.WithLabelValues("refused").Add(float64(refused))
}

func diskBytes(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a file that went meanwhile
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
