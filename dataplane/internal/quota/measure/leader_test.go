package measure

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/identity"
)

// BenchmarkLeaderLoss kills leaders with SIGKILL, LEADER_KILLS of them, and measures the longest wait of a call without a lease on the two nodes
// that are left. A killed node is started again before the next kill.
func BenchmarkLeaderLoss(b *testing.B) {
	kills := 20
	if text := os.Getenv("LEADER_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil || kills < 1 {
			b.Fatalf("LEADER_KILLS: %q is no number of kills", text)
		}
	}
	o := order{System: "ledger", Cold: true, Limit: 100, Rate: 50, Duration: 5 * time.Second}
	for b.Loop() {
		all := cluster(b, o)
		var waits []time.Duration // the longest one of each kill
		refused, failed := int64(0), int64(0)
		for range kills {
			worst := time.Duration(0)
			for _, r := range loseLeader(b, all) {
				worst = max(worst, time.Duration(r.Worst)*time.Microsecond)
				refused, failed = refused+r.Refused, failed+r.Failed
			}
			waits = append(waits, worst)
		}
		slices.Sort(waits)
		b.ReportMetric(waits[kills/2].Seconds()*1000, "p50-ms")
		b.ReportMetric(waits[kills*99/100].Seconds()*1000, "p99-ms")
		b.ReportMetric(waits[kills-1].Seconds()*1000, "worst-ms")
		b.ReportMetric(float64(refused), "refused")
		b.ReportMetric(float64(failed), "unanswered")
		b.Logf("%d kills: %v; load average %s", kills, waits, loadAverage())
	}
}

// loseLeader kills the leader while the others have load, and starts it again. It returns the results of the others.
func loseLeader(b *testing.B, all []*process) []result {
	b.Helper()
	leader := leads(b, all)
	killed := all[leader]
	time.AfterFunc(killed.order.Duration/4, func() { _ = killed.cmd.Process.Kill() })
	if _, err := killed.in.Write([]byte("go\n")); err != nil {
		b.Fatal(err)
	}
	results := run(b, slices.Delete(slices.Clone(all), leader, leader+1))
	_ = killed.cmd.Wait()
	all[leader] = start(b, killed.order)
	return results
}

// leads waits until one of the nodes leads.
func leads(b *testing.B, all []*process) int {
	b.Helper()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(100 * time.Millisecond) {
		a, err := quota.Ask(b.Context(), all[0].order.Dir, quota.Command{Op: quota.OpPeers})
		if err != nil {
			continue
		}
		for i, p := range all {
			id, err := identity.Load(p.order.Dir)
			if err != nil {
				b.Fatal(err)
			}
			if slices.ContainsFunc(a.Members, func(m quota.Member) bool { return m.Leads && m.Node == id.Node }) {
				return i
			}
		}
	}
	b.Fatal("nobody leads")
	return -1
}
