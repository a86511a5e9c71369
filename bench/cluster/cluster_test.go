package cluster_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
)

const (
	window  = time.Minute
	limit   = 60 // calls per minute of the key; the demo app has 100
	callers = 2  // per node, each once per gap: ten times the limit in all
	gap     = time.Second
	calm    = 10 * time.Second // before the first fault
	faults  = 8 * time.Second  // between two
	lasts   = 5 * time.Second  // that a node is stopped or cut off: longer than its leases
)

// admission is a call that was admitted, some time between asking and the answer.
type admission struct{ asked, answered time.Time }

// runs is how long the load goes on: a window and a half, or what CLUSTER_DURATION says.
func runs(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("CLUSTER_DURATION")
	if text == "" {
		return window + window/2
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("CLUSTER_DURATION: %v", err)
	}
	return d
}

// Five nodes get ten times the limit while voters and clients, the leader among them, are killed, stopped for a while and cut off.
func TestNoWindowExceedsItsLimitUnderFaults(t *testing.T) {
	t.Parallel() // most of it is waiting
	o := stacktest.Options(t)
	network := &proxies{t: t}
	var behind []string // addresses of the nodes' ledgers, in the order of the nodes
	o.QuotaVia = func(address string) string {
		behind = append(behind, address)
		return network.via(address)
	}
	o.Nodes = 5
	var err error
	if o.PortBase, err = stack.FreePortBase(t.Context(), o.Nodes); err != nil {
		t.Fatal(err)
	}
	s := stacktest.Run(t, o)
	info := s.Info()
	out, err := exec.CommandContext(t.Context(), filepath.Join(o.Bin, "controlplane"), "-config", info.ControlplaneConfig,
		"account", "set", info.Demo.Email, "--per-minute", strconv.Itoa(limit), "--in-flight", "10000").CombinedOutput()
	if err != nil {
		t.Fatalf("set the limit: %v\n%s", err, out)
	}
	for _, node := range info.Nodes {
		awaitPolicy(t, node.Name, node.GatewayURL, info.Demo.Key, `"key_per_minute";q=60;`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runs(t))
	defer cancel()
	var mu sync.Mutex
	var admitted []admission
	other := map[int]int{}
	var done sync.WaitGroup
	for _, node := range info.Nodes {
		for range callers {
			done.Go(func() {
				for tick := time.NewTicker(gap); ctx.Err() == nil; <-tick.C {
					asked := time.Now()
					status := call(ctx, node.GatewayURL, info.Demo.Key)
					mu.Lock()
					if status == http.StatusOK {
						admitted = append(admitted, admission{asked, time.Now()})
					} else {
						other[status]++
					}
					mu.Unlock()
				}
			})
		}
	}
	time.Sleep(calm)
	for i := 0; ctx.Err() == nil; i++ {
		n := i % len(info.Nodes)
		switch pid := s.Pid(info.Nodes[n].Name); {
		case pid == 0: // on its way back
		case i%3 == 0:
			signal(t, pid, syscall.SIGKILL)
		case i%3 == 1:
			signal(t, pid, syscall.SIGSTOP)
			pause(ctx, lasts)
			signal(t, pid, syscall.SIGCONT)
		case i/3%2 == 0: // nobody reaches the node; it reaches others
			network.of(behind[n]).cut()
			pause(ctx, lasts)
			network.of(behind[n]).heal()
		default: // nobody reaches anybody
			for _, address := range behind {
				network.of(address).cut()
			}
			pause(ctx, lasts)
			for _, address := range behind {
				network.of(address).heal()
			}
		}
		pause(ctx, faults)
	}
	done.Wait()
	most := densest(admitted)
	t.Logf("%d admitted, at most %d of %d in one window; others by status: %v", len(admitted), most, limit, other)
	if most > limit {
		t.Errorf("%d calls were admitted in one window, the limit is %d", most, limit)
	}
	if len(admitted) < limit*3/4 || other[http.StatusTooManyRequests] == 0 {
		t.Errorf("%d calls admitted, %v: the load did not reach the limit", len(admitted), other)
	}
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Error(err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// densest is the greatest number of calls that were admitted in one window for certain: asked and answered within it.
func densest(admitted []admission) int {
	most := 0
	for _, first := range admitted {
		n := 0
		for _, a := range admitted {
			if !a.asked.Before(first.asked) && a.answered.Sub(first.asked) <= window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestDensest(t *testing.T) {
	at := func(asked, answered time.Duration) admission {
		return admission{time.Unix(0, 0).Add(asked), time.Unix(0, 0).Add(answered)}
	}
	calls := []admission{at(0, 1), at(window/2, window/2), at(window, window), at(window+1, window+1), at(window-1, window+1)}
	slices.Reverse(calls)
	if n := densest(calls); n != 4 {
		t.Errorf("%d", n)
	}
}

// awaitPolicy waits until a node tells the key of a limit.
func awaitPolicy(t *testing.T, name, url, key, policy string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		res, err := send(t.Context(), url, key, `{"prompt":""}`)
		if err == nil {
			_ = res.Body.Close()
			if strings.Contains(res.Header.Get("Ratelimit-Policy"), policy) {
				return
			}
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%s does not know the limit", name)
		}
	}
}

func call(ctx context.Context, url, key string) int {
	res, err := send(ctx, url, key, `{"prompt":"hello"}`)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

func send(ctx context.Context, url, key, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/agent", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}
