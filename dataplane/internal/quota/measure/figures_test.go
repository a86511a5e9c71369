package measure

import (
	"slices"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/identity"
)

// BenchmarkIdle measures what three voters that nobody asks cost: the CPU time of the costliest, the leader, and of all on average.
func BenchmarkIdle(b *testing.B) {
	o := order{System: "ledger", Limit: 100, Duration: 20 * time.Second}
	for b.Loop() {
		worst, sum := 0.0, 0.0
		for _, r := range run(b, cluster(b, o)) {
			part := 100 * r.CPU.Seconds() / o.Duration.Seconds()
			worst, sum = max(worst, part), sum+part
		}
		b.ReportMetric(worst, "%core-worst")
		b.ReportMetric(sum/nodes, "%core-mean")
		b.Logf("load average %s", loadAverage())
	}
}

// BenchmarkColdKey measures the first call of a key, on each of three nodes 100 times a second.
func BenchmarkColdKey(b *testing.B) {
	o := order{System: "ledger", Cold: true, Limit: 100, Rate: 100, Duration: 10 * time.Second}
	for b.Loop() {
		var p50, p99, decisions int64
		frames, entries := 0.0, 0.0
		for _, r := range run(b, cluster(b, o)) {
			if r.Failed > 0 || len(r.Admitted) < int(r.Decisions) {
				b.Errorf("%d of %d were admitted, %d failed", len(r.Admitted), r.Decisions, r.Failed)
			}
			p50, p99 = max(p50, r.P50), max(p99, r.P99)
			decisions, frames, entries = decisions+r.Decisions, frames+r.Frames, entries+r.Entries
		}
		b.ReportMetric(float64(p50)/1000, "p50-ms")
		b.ReportMetric(float64(p99)/1000, "p99-ms")
		b.ReportMetric(frames/float64(decisions), "frames/call")
		b.ReportMetric(entries/o.Duration.Seconds(), "entries/s")
		b.Logf("load average %s", loadAverage())
	}
}

// BenchmarkLeaderLoss kills the leader with SIGKILL and measures the longest wait of a call without a lease on the two nodes that are left.
func BenchmarkLeaderLoss(b *testing.B) {
	o := order{System: "ledger", Cold: true, Limit: 100, Rate: 50, Duration: 10 * time.Second}
	worst, failed := int64(0), int64(0) // of all runs
	for b.Loop() {
		all, dirs := clusterIn(b, o)
		a, err := quota.Ask(b.Context(), dirs[0], quota.Command{Op: quota.OpPeers})
		if err != nil {
			b.Fatal(err)
		}
		leader := 0
		for i, dir := range dirs {
			id, err := identity.Load(dir)
			if err != nil {
				b.Fatal(err)
			}
			if slices.ContainsFunc(a.Members, func(m quota.Member) bool { return m.Leads && m.Node == id.Node }) {
				leader = i
			}
		}
		time.AfterFunc(o.Duration/3, func() { _ = all[leader].cmd.Process.Kill() })
		left := slices.Delete(slices.Clone(all), leader, leader+1)
		if _, err := all[leader].in.Write([]byte("go\n")); err != nil {
			b.Fatal(err)
		}
		for _, r := range run(b, left) {
			worst, failed = max(worst, r.Worst), failed+r.Failed
		}
		b.ReportMetric(float64(worst)/1000, "worst-ms")
		b.ReportMetric(float64(failed), "unanswered")
		b.Logf("load average %s", loadAverage())
	}
}
