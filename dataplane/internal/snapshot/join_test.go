package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// wholeState is a state of n keys as the control plane sends it: in the order of their digests, each record as long as a real one.
func wholeState(t testing.TB, n int) []byte {
	t.Helper()
	var lines bytes.Buffer
	to := json.NewEncoder(&lines)
	for i := range n {
		var digest key.Digest // evenly spread and rising, as digests in order are
		binary.BigEndian.PutUint64(digest[:], uint64(i)*(^uint64(0)/uint64(n)))
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		m := change(1, plane.KindKey, hex.EncodeToString(digest[:]), plane.Principal{
			KeyID: id, AppID: id, DeveloperID: id, Kind: key.Live,
			Limits: []plane.Limit{
				{Name: plane.LimitKeyMinute, Bucket: "key/" + id + "/minute", Max: 600, Window: time.Minute},
				{Name: plane.LimitAppMinute, Bucket: "app/" + id + "/minute", Max: 600, Window: time.Minute},
				{Name: plane.LimitAccountDay, Bucket: "account/" + id + "/day", Max: 100_000, Window: 24 * time.Hour, Daily: true},
			},
		})
		if err := to.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	return lines.Bytes()
}

func BenchmarkJoin(b *testing.B) {
	const keys = 100_000
	state := wholeState(b, keys)
	runtime.GC()
	for b.Loop() {
		p := newPlane(b)
		n := startNode(b, b.TempDir(), p.server.URL, nil)
		s := p.stream()
		s.send(hello(7, true))
		s.raw(state)
		s.send(mark(7, 1))
		if ack := p.acked(7, 1); ack.KeysHeld != keys {
			b.Fatalf("%d keys held", ack.KeysHeld)
		}
		n.stop()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*keys), "µs/key")
}

// TestTimeOfAJoinGrowsWithTheKeysOnly compares the CPU time that a key costs in a large state with that in a small one, so that a
// batch, page or copy that grows with the state is noticed on a machine of any speed. It does not run beside other tests.
func TestTimeOfAJoinGrowsWithTheKeysOnly(t *testing.T) {
	small := costOfAKey(t, 5_000)
	large := costOfAKey(t, 50_000)
	t.Logf("a key of 5,000 costs %s, one of 50,000 %s", small, large)
	if large > 2*small {
		t.Errorf("a key costs %s in a state of 50,000 keys and %s in one of 5,000", large, small)
	}
}

// costOfAKey is the CPU time of this process for one of the keys of a reset, the lesser of three tries.
func costOfAKey(t *testing.T, keys int) time.Duration {
	t.Helper()
	state, least := wholeState(t, keys), time.Duration(0)
	for try := range 3 {
		p := newPlane(t)
		before := cpuTime(t)
		n := startNode(t, t.TempDir(), p.server.URL, nil)
		s := p.stream()
		s.send(hello(7, true))
		s.raw(state)
		s.send(mark(7, 1))
		p.acked(7, 1)
		n.stop()
		if cost := (cpuTime(t) - before) / time.Duration(keys); try == 0 || cost < least {
			least = cost
		}
	}
	return least
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
