package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

// order is what a node's process gets as its argument in MEASURE_NODE.
type order struct {
	System   string // "ledger", "redis" or "nobody"
	Cold     bool   // every call is the first one of its key
	Dir      string // of the ledger's node
	Address  string // to listen at, or of redis-server
	Limit    int64  // calls per minute of the key, over all nodes
	Rate     float64
	Duration time.Duration
}

// call is one that was admitted, in microseconds since 1970.
type call struct{ Asked, Answered int64 }

// result is what a node's process answers.
type result struct {
	Admitted  []call
	Decisions int64
	Refused   int64 // by the limit
	Failed    int64
	P50, P99  int64 // microseconds from asking to the answer
	Worst     int64
	CPU       time.Duration // of this process, while there was load
	Frames    float64       // answered by the ledger, from the start on
	Entries   float64       // proposed by this node, from the start on
}

func TestMain(m *testing.M) {
	text := os.Getenv("MEASURE_NODE")
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run says when the node is ready, makes the load whenever it is told to, and writes the result.
func (o *order) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	registry := prometheus.NewRegistry()
	admit, err := o.limiter(ctx, registry)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return nil // who gives the orders has left
		}
		r := o.load(ctx, admit)
		if r.Frames, r.Entries, err = counts(registry); err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	}
}

// limiter returns what judges a call.
func (o *order) limiter(ctx context.Context, registry *prometheus.Registry) (func(context.Context) (bool, error), error) {
	switch o.System {
	case "ledger":
		socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
		if err != nil {
			return nil, err
		}
		node, err := quota.Open(ctx, quota.Options{
			Dir: o.Dir, Socket: socket, Address: o.Address, Metrics: registry, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			return nil, err
		}
		go func() {
			if err := node.Run(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}()
		for !node.Leases().Live() {
			time.Sleep(10 * time.Millisecond)
		}
		one := []*client.Cell{client.NewCell(ledger.ID{Kind: ledger.KeyMinute, Lo: 1}, ledger.Literal(o.Limit), 1)}
		var fresh atomic.Uint64
		return func(ctx context.Context) (bool, error) {
			cells := one
			if o.Cold {
				id := ledger.ID{Kind: ledger.KeyMinute, Hi: node.Identity().Number(), Lo: fresh.Add(1)}
				cells = []*client.Cell{client.NewCell(id, ledger.Literal(o.Limit), 1)}
			}
			err := node.Leases().Admit(ctx, cells)
			var limited *client.LimitedError
			if errors.As(err, &limited) {
				return false, nil
			}
			return err == nil, err
		}, nil
	case "redis":
		r, err := dialRedis(ctx, o.Address)
		return func(context.Context) (bool, error) { return r.admit("hot", o.Limit, time.Now()) }, err
	default:
		return func(context.Context) (bool, error) { return false, nil }, nil
	}
}

// counts reads how many frames of the node were answered, and how many entries it proposed.
func counts(registry *prometheus.Registry) (frames, entries float64, err error) {
	families, err := registry.Gather()
	for _, f := range families {
		switch f.GetName() {
		case "modelgate_quota_frame_seconds":
			frames = float64(f.GetMetric()[0].GetHistogram().GetSampleCount())
		case "modelgate_quota_entries_total":
			entries = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return frames, entries, err
}

// load makes calls at the rate, each in a goroutine of its own, whatever becomes of the earlier ones.
func (o *order) load(ctx context.Context, admit func(context.Context) (bool, error)) result {
	var mu sync.Mutex
	var r result
	var took []int64
	var done sync.WaitGroup
	cpu := cpuTime()
	if o.Rate == 0 { // not even woken
		time.Sleep(o.Duration)
		return result{CPU: cpuTime() - cpu}
	}
	begin := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for elapsed := time.Duration(0); elapsed < o.Duration; elapsed = time.Since(begin) {
		for due := int64(elapsed.Seconds() * o.Rate); r.Decisions < due; r.Decisions++ {
			done.Go(func() {
				asked := time.Now()
				ok, err := admit(ctx)
				answered := time.Now()
				mu.Lock()
				defer mu.Unlock()
				if ok {
					r.Admitted = append(r.Admitted, call{asked.UnixMicro(), answered.UnixMicro()})
				}
				switch {
				case err != nil:
					r.Failed++
				case !ok:
					r.Refused++
				}
				took = append(took, answered.Sub(asked).Microseconds())
			})
		}
		<-tick.C
	}
	done.Wait()
	r.CPU = cpuTime() - cpu
	slices.Sort(took)
	if len(took) > 0 {
		r.P50, r.P99, r.Worst = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	}
	return r
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
