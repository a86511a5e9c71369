package client

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// stocked returns a core on the real clock with n cells that have plenty of tokens, and a function that keeps them so.
func stocked(b *testing.B, n int) (*Core, []*Cell) {
	b.Helper()
	begin := time.Now()
	core := NewCore(1, 1, ttl, func() int64 { return int64(time.Since(begin)) }, func() {})
	s := core.session.Load()
	s.deadline.Store(1 << 60)
	cells := make([]*Cell, n)
	for i := range cells {
		cells[i] = NewCell(ledger.ID{Kind: ledger.KeyMinute, Lo: uint64(i)}, 1, 1)
		cells[i].word.Store(s.epoch<<epochShift | countMask)
	}
	return core, cells
}

// cpu reports the CPU time per operation, which other processes on the machine disturb less than the time on the clock.
func cpu(b *testing.B) (report func()) {
	b.Helper()
	used := func() int64 {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return 0
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

func refill(core *Core, cells []*Cell) {
	for _, c := range cells {
		c.word.Store(core.session.Load().epoch<<epochShift | countMask)
	}
}

func BenchmarkAllow(b *testing.B) {
	core, cells := stocked(b, 1)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if core.Try(cells[0]) != Admitted {
			refill(core, cells)
		}
	}
}

func BenchmarkClock(b *testing.B) {
	core, _ := stocked(b, 1)
	defer cpu(b)()
	for b.Loop() {
		core.clock()
	}
}

func BenchmarkDeny(b *testing.B) {
	core, cells := stocked(b, 1)
	cells[0].word.Store(core.session.Load().epoch << epochShift)
	cells[0].denyUntil.Store(1 << 60)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if core.Try(cells[0]) != Denied {
			b.Fatal("not denied")
		}
	}
}

func BenchmarkThreeLimits(b *testing.B) {
	core, cells := stocked(b, 3)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if out, _ := core.TryAll(cells); out != Admitted {
			refill(core, cells)
		}
	}
}

func BenchmarkHoldAndSettle(b *testing.B) {
	core, cells := stocked(b, 1)
	cells[0].word.Store(core.session.Load().epoch<<epochShift | 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		h, out := core.Hold(cells[0], 1)
		if out != Admitted {
			b.Fatal(out)
		}
		core.Settle(h, 0)
	}
}

func BenchmarkTwoCoresOneCell(b *testing.B) {
	core, cells := stocked(b, 1)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if core.Try(cells[0]) != Admitted {
				refill(core, cells)
			}
		}
	})
}

func BenchmarkRandomOf100k(b *testing.B) {
	core, cells := stocked(b, 100_000)
	r := rand.New(rand.NewPCG(1, 1))
	order := r.Perm(len(cells))
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		core.Try(cells[order[i]])
		if i++; i == len(order) {
			i = 0
		}
	}
}
