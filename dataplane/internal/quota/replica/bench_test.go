package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

const (
	benchNodes = 8
	benchKeys  = 100_000
	benchFor   = 4 * time.Second
)

// threeOnDisk starts three replicas whose logs are on disk, connected in memory, and returns the one that leads.
func threeOnDisk(b *testing.B) *Replica {
	b.Helper()
	var voters []raft.Server
	var transports []*raft.InmemTransport
	for i := range 3 {
		addr, transport := raft.NewInmemTransport("")
		voters = append(voters, raft.Server{ID: raft.ServerID(fmt.Sprint("voter-", i)), Address: addr})
		transports = append(transports, transport)
	}
	var all []*Replica
	for i, t := range transports {
		for j, o := range transports {
			t.Connect(voters[j].Address, o)
		}
		dir := b.TempDir()
		if err := BeginStores(dir, voters[i].ID, nil); err != nil {
			b.Fatal(err)
		}
		s, err := OpenStores(dir, voters[i].ID, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		r, err := Open(Options{
			ID: s.ID, Policy: ledger.DefaultPolicy(), Logs: s.Log, Stable: s.Log, Snapshots: s.Snapshots, Transport: t, Voters: voters, Now: time.Now,
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		b.Cleanup(func() {
			cancel()
			if err := errors.Join(<-ended, s.Close()); err != nil {
				b.Error(err)
			}
		})
		all = append(all, r)
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		for _, r := range all {
			if r.Leading() {
				return r
			}
		}
	}
	b.Fatal("nobody leads")
	return nil
}

// offered is what became of reservations that were offered at a rate.
type offered struct {
	granted  int64 // per second
	entries  float64
	cpu      time.Duration // of the three replicas and the nodes, per reservation
	garbage  float64       // bytes allocated by all of them, per reservation
	p50, p99 time.Duration // of a frame, from when the first of its reservations was due
}

// offer has nodes reserve and spend single tokens of keys at a rate, in frames of which each node has one under way, as lease clients do.
func offer(r *Replica, run uint64, perSecond float64) offered {
	var granted atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	before, begin, cpu, memory := r.Entries(), time.Now(), cpuTime(), allocated()
	var done sync.WaitGroup
	for node := range uint64(benchNodes) {
		done.Go(func() {
			used := make([]int64, benchKeys)
			replies := make(chan ledger.Reply, 1)
			sent, next, due := 0, int(node)*benchKeys/benchNodes, begin
			for seq := uint64(1); time.Since(begin) < benchFor; {
				n := min(int(time.Since(begin).Seconds()*perSecond/benchNodes)-sent, ledger.EntryRecordsMax)
				if n <= 0 {
					time.Sleep(time.Millisecond)
					continue
				}
				f := ledger.Frame{Node: run*benchNodes + node + 1, Incarnation: 1, Seq: seq, Records: make([]ledger.Record, n)}
				for i := range f.Records {
					k := (next + i) % benchKeys
					f.Records[i] = ledger.Record{ID: ledger.ID{Kind: ledger.KeyMinute, Lo: uint64(k)}, Class: ledger.Literal(ledger.LimitMax), Used: used[k], Hold: 1}
				}
				seq++
				if r.Submit(f, func(x ledger.Reply) { replies <- x }) != nil {
					time.Sleep(2 * time.Millisecond)
					continue
				}
				x := <-replies
				for i, g := range x.Grants {
					used[(next+i)%benchKeys] = g.Granted
				}
				granted.Add(int64(len(x.Grants)))
				mu.Lock()
				took = append(took, time.Since(due))
				mu.Unlock()
				sent, next = sent+n, (next+n)%benchKeys
				due = begin.Add(time.Duration(float64(sent) * benchNodes / perSecond * float64(time.Second)))
			}
		})
	}
	done.Wait()
	seconds, n := time.Since(begin).Seconds(), max(1, granted.Load())
	slices.Sort(took)
	return offered{
		granted: int64(float64(n) / seconds), entries: float64(r.Entries()-before) / seconds, p50: took[len(took)/2], p99: took[len(took)*99/100],
		cpu: (cpuTime() - cpu) / time.Duration(n), garbage: float64(allocated()-memory) / float64(n),
	}
}

// BenchmarkReservations measures three replicas on disk: 200,000 reservations a second, as many as they take, and four times that.
func BenchmarkReservations(b *testing.B) {
	for b.Loop() {
		r := threeOnDisk(b)
		offer(r, 0, 50_000) // what is allocated for good
		steady := offer(r, 1, 200_000)
		peak := offer(r, 2, 1_000_000)
		over := offer(r, 3, 4*float64(peak.granted))
		b.ReportMetric(float64(steady.granted), "steady/s")
		b.ReportMetric(float64(steady.p50.Microseconds())/1000, "steady-p50-ms")
		b.ReportMetric(float64(steady.p99.Microseconds())/1000, "steady-p99-ms")
		b.ReportMetric(float64(steady.cpu.Nanoseconds()), "steady-cpu-ns/reservation")
		b.ReportMetric(steady.garbage, "steady-B/reservation")
		b.ReportMetric(steady.entries, "entries/s")
		b.ReportMetric(float64(peak.granted), "peak/s")
		b.ReportMetric(float64(peak.cpu.Nanoseconds()), "peak-cpu-ns/reservation")
		b.ReportMetric(float64(over.cpu.Nanoseconds()), "4x-cpu-ns/reservation")
		b.ReportMetric(100*float64(over.granted)/float64(peak.granted), "%peak-at-4x")
	}
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
