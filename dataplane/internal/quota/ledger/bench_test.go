package ledger

import (
	"bytes"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// fill applies an entry per node and 4096 limits, so that each of n limits has three holders.
func fill(b *testing.B, n int) (*State, int64) {
	b.Helper()
	s := New(DefaultPolicy())
	at := start
	apply := func(e Entry) {
		e.At = at
		if _, err := s.Apply(AppendEntry(nil, &e)); err != nil {
			b.Fatal(err)
		}
	}
	apply(Entry{Commands: []Command{{Kind: SetClass, Class: 1, Version: 1, Max: 1000}}})
	seq := uint64(0)
	for i := 0; i < n; i += 4096 {
		for node := range uint64(3) {
			seq++
			apply(Entry{Frames: []Frame{frameOf(node+1, seq, i, min(4096, n-i), 0)}})
		}
	}
	return s, at
}

func frameOf(node, seq uint64, from, n int, used int64) Frame {
	f := Frame{Node: node, Incarnation: 1, Seq: seq, Records: make([]Record, n)}
	for j := range f.Records {
		f.Records[j] = Record{ID: ID{KeyMinute, 0x0123456789abcdef, uint64(from+j) * 0x9e3779b97f4a7c15}, Class: 1, Seen: 900, Used: used, Hold: 2}
	}
	return f
}

// BenchmarkApply measures one record of an entry of 4,096, decoding included.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{4096, 1 << 20} {
		b.Run(map[int]string{4096: "limits=4k", 1 << 20: "limits=1M"}[n], func(b *testing.B) {
			s, at := fill(b, n)
			var entries [][]byte
			size := 0
			for i := range 64 {
				e := Entry{At: at, Frames: []Frame{frameOf(1, 1<<40+uint64(i), i*4096%n, 4096, int64(i/(n/4096)+1))}}
				entries = append(entries, AppendEntry(nil, &e))
				size += len(entries[i])
			}
			b.ReportAllocs()
			b.ResetTimer()
			seq := 0
			for i := 0; i < b.N; i += 4096 {
				if seq == len(entries) {
					b.StopTimer()
					s, _ = fill(b, n)
					seq = 0
					b.StartTimer()
				}
				if _, err := s.Apply(entries[seq]); err != nil {
					b.Fatal(err)
				}
				seq++
			}
			b.ReportMetric(float64(size)/64/4096, "log-B/record")
		})
	}
}

// BenchmarkDue measures the entry that costs most of those at which a quarter of a million limits, all of one second, are looked at.
func BenchmarkDue(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const n = 1 << 18
	for b.Loop() {
		s, at := fill(b, n)
		worst := time.Duration(0)
		for range n/collectPerEntryMax + 1 {
			log := AppendEntry(nil, &Entry{At: at + 16_000})
			before := threadCPU(b)
			if _, err := s.Apply(log); err != nil {
				b.Fatal(err)
			}
			worst = max(worst, threadCPU(b)-before)
		}
		b.ReportMetric(float64(worst.Microseconds())/1000, "worst-apply-cpu-ms")
	}
}

// threadCPU is what this thread has used.
func threadCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSnapshot measures memory per limit with three holders, the longest apply beside a running snapshot, and a restore.
func BenchmarkSnapshot(b *testing.B) {
	const n = 1 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, at := fill(b, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		begin := time.Now()
		c, err := s.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		worst := time.Since(begin)
		var out bytes.Buffer
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := c.WriteTo(&out); err != nil {
				b.Error(err)
			}
		}()
		seq := uint64(1) << 41
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			seq++
			e := Entry{At: at, Frames: []Frame{frameOf(2, seq, int(seq)*64%n, 64, 1)}}
			log := AppendEntry(nil, &e)
			begin := time.Now()
			if _, err := s.Apply(log); err != nil {
				b.Fatal(err)
			}
			worst = max(worst, time.Since(begin))
			time.Sleep(time.Millisecond)
		}
		c.Release()
		b.ReportMetric(float64(worst.Microseconds())/1000, "worst-apply-ms")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/limit")
		b.ReportMetric(float64(out.Len())/n, "snapshot-B/limit")
		begin = time.Now()
		if err := New(DefaultPolicy()).Restore(io.Reader(&out)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(begin).Seconds(), "restore-s")
	}
}
