package pool_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
)

// instant is an upstream that costs nothing.
type instant struct{}

func (instant) Ask(context.Context, *upstream.Chat) (upstream.Whole, error) {
	return upstream.Whole{}, nil
}

func (instant) Open(context.Context, *upstream.Chat) (call.Stream, error) { return nil, nil }

func instants(policy string, members int) *pool.Pool {
	c := &plane.Current{Upstreams: map[string]plane.UpstreamSpec{}, Pools: map[string]plane.PoolSpec{}}
	spec := plane.PoolSpec{ID: "p", Policy: policy}
	for i := range members {
		id := fmt.Sprint("u", i)
		c.Upstreams[id] = plane.UpstreamSpec{ID: id}
		spec.Members = append(spec.Members, plane.Member{Upstream: id})
	}
	c.Pools["p"] = spec
	s := pool.NewSet(pool.Options{
		Upstream: func(string) (upstream.Upstream, error) { return instant{}, nil },
		Log:      slog.New(slog.DiscardHandler),
	})
	s.Update(c)
	p, _ := s.Get("p")
	return p
}

func TestAskDoesNotAllocate(t *testing.T) {
	for _, policy := range []string{plane.PolicyRoundRobin, plane.PolicyLeastInFlight, plane.PolicyP2CEWMA} {
		p := instants(policy, 4)
		var facts pool.Facts
		if n := testing.AllocsPerRun(1000, func() { _, _ = p.AskWith(t.Context(), pool.From{}, nil, &facts) }); n > 0 {
			t.Errorf("%s: %v allocations for each call", policy, n)
		}
	}
}

// onCPU reports the CPU time of an operation, which on a busy machine tells more than the time that passed. It counts the
// whole process, from its call until the returned function's.
func onCPU(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// The cost of everything but the call itself: choosing, counting, timing, learning.
func BenchmarkAsk(b *testing.B) {
	for _, policy := range []string{plane.PolicyRoundRobin, plane.PolicyLeastInFlight, plane.PolicyP2CEWMA} {
		for _, members := range []int{1, 3, 16} {
			b.Run(fmt.Sprintf("%s/%d", policy, members), func(b *testing.B) {
				p := instants(policy, members)
				var facts pool.Facts
				ctx := b.Context()
				b.ReportAllocs()
				done := onCPU(b)
				for b.Loop() {
					_, _ = p.AskWith(ctx, pool.From{}, nil, &facts)
				}
				done()
			})
		}
	}
}

// The floor: two readings of the clock, two turns of a lock.
func BenchmarkClockAndLock(b *testing.B) {
	var mu sync.Mutex
	start := time.Now()
	done := onCPU(b)
	for b.Loop() {
		for range 2 {
			mu.Lock()
			_ = time.Since(start)
			mu.Unlock()
		}
	}
	done()
}

func BenchmarkAskParallel(b *testing.B) {
	p := instants(plane.PolicyP2CEWMA, 3)
	b.ReportAllocs()
	defer onCPU(b)()
	b.RunParallel(func(pb *testing.PB) {
		var facts pool.Facts
		for pb.Next() {
			_, _ = p.AskWith(b.Context(), pool.From{}, nil, &facts)
		}
	})
}
