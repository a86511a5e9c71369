package measure

import (
	"testing"
	"time"
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
