package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel"
	"modelgate.internal/shared/wire"
)

const (
	durationShort = 15 * time.Second
	warmTime      = 4 * time.Second

	steadyCallers  = 16
	revokedKeys    = 4 // at a time
	streamsPerKey  = 3
	shakyCallers   = 6
	samples        = 30 // of the memory, over the whole time
	goroutineSlack = 20
	rssSlack       = 96 << 20 // on top of half as much again; the race detector's own memory grows with what it sees
)

const long = "[[scenario:many-tokens n=500 delay=20ms]] go on"

// behaviours are the steady callers'.
func behaviours() []manner {
	return []manner{
		{name: "whole", prompt: "Hello"},
		{name: "stream", prompt: "Hello", stream: true},
		{name: "many tokens", prompt: "[[scenario:many-tokens n=300 delay=1ms]] go on", stream: true},
		{name: "slow reader", prompt: "Hello", stream: true, pause: 30 * time.Millisecond},
		{name: "leaves at once", prompt: long, stream: true, leave: 1},
		{name: "leaves later", prompt: long, stream: true, leave: 20},
		{name: "leaves in a silence", prompt: "[[scenario:stall-after n=4]] stop", stream: true, leave: 3, stop: 200 * time.Millisecond},
		{name: "stops reading", prompt: "[[scenario:many-tokens n=250000 delay=0s]] go on", stream: true, leave: 1, stop: 2 * writeTime},
	}
}

// TestSoak is described in the package's comment.
func TestSoak(t *testing.T) {
	duration := durationShort
	if text := os.Getenv("SOAK_DURATION"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := socket.Addr().String()
	_ = socket.Close()
	sys := start(t, address)
	churn := newChurn(t, sys, address)
	before := sys.metrics(t)

	churn.run(t, warmTime)
	churn.rest(t)
	warm := sys.metrics(t)["go_goroutines"]

	rss := sample(t, sys, duration, func() { churn.run(t, duration) })
	churn.rest(t)
	churn.judgeCounts(t, before)
	churn.judgeUsage(t)
	judgeMemory(t, rss)
	eventually(t, settleTime, func() (bool, string) {
		now := sys.metrics(t)["go_goroutines"]
		return now <= warm+goroutineSlack, fmt.Sprintf("%.0f goroutines, %.0f after the warm-up", now, warm)
	})
	t.Logf("goroutines: %.0f after the warm-up, %.0f at the end", warm, sys.metrics(t)["go_goroutines"])
	churn.revokeAtRest(t)
	judgeLogs(t, sys.dir)
}

// churn is everything that comes and goes.
type churn struct {
	sys                         *system
	address                     string // of the shaky model server
	steadyApp, steadyKey        string
	revokedApp                  string
	shakyApp, shakyKey          string
	steady, withdrawn, unsteady *tally
	mu                          sync.Mutex
	slowest                     time.Duration // from asking for a revocation to the last stream's end
	keys, stops, regenerated    int
}

func newChurn(t *testing.T, sys *system, address string) *churn {
	t.Helper()
	c := &churn{sys: sys, address: address, steady: newTally(), withdrawn: newTally(), unsteady: newTally()}
	c.steadyApp, c.steadyKey = sys.newApp(t, "Steady")
	c.revokedApp, _ = sys.newApp(t, "Revoked")
	c.shakyApp, c.shakyKey = sys.newApp(t, "Shaky")
	return c
}

// run keeps everything going for a time and returns when all calls have ended.
func (c *churn) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	narrow := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialNarrow}}
	var callers, server sync.WaitGroup
	again := func(f func()) {
		callers.Go(func() {
			for ctx.Err() == nil {
				f()
			}
		})
	}
	kinds := behaviours()
	for i := range steadyCallers {
		again(func() {
			m := kinds[(i+rand.IntN(2)*len(kinds)/2)%len(kinds)]
			with := client
			if m.stop > 0 {
				with = narrow
			}
			c.steady.add(call(with, c.sys.in.GatewayURL, c.steadyKey, "Darwin", m))
		})
	}
	for range revokedKeys {
		again(func() { c.revoke(t, client) })
	}
	for i := range shakyCallers {
		again(func() {
			m := manner{prompt: "[[scenario:many-tokens n=40 delay=10ms]] go on", stream: i%2 == 0}
			c.unsteady.add(call(client, c.sys.in.GatewayURL, c.shakyKey, []string{"Shaky", "Pooled"}[rand.IntN(2)], m))
			time.Sleep(20 * time.Millisecond)
		})
	}
	server.Go(func() { c.serveShakily(ctx, t) })
	callers.Wait()
	server.Wait()
}

// dialNarrow opens a connection whose receive buffer is small, so that not reading is soon felt at the other end.
func dialNarrow(ctx context.Context, network, address string) (net.Conn, error) {
	const bufferBytes = 16 << 10
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, bufferBytes)
		})
		return errors.Join(err, failed)
	}}
	return dialer.DialContext(ctx, network, address)
}

// revoke makes a key, has streams opened with it, and takes it away from them, or gives it another value.
func (c *churn) revoke(t *testing.T, client *http.Client) {
	key, err := c.sys.newKey(context.Background(), c.revokedApp)
	if err != nil {
		t.Errorf("make a key: %v", err)
		time.Sleep(time.Second)
		return
	}
	var streams sync.WaitGroup
	for range streamsPerKey {
		streams.Go(func() {
			c.withdrawn.add(call(client, c.sys.in.GatewayURL, key.Key, "Darwin", manner{name: "until revoked", prompt: long, stream: true}))
		})
	}
	time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
	asked, path := time.Now(), "/dev/apps/"+c.revokedApp+"/keys/"+key.KeyID
	regenerate := rand.IntN(3) == 0
	if regenerate {
		var fresh wire.NewKey
		err = c.sys.portal(context.Background(), "POST", path+"/regenerate", nil, &fresh)
	} else {
		err = c.sys.portal(context.Background(), "DELETE", path, nil, &wire.KeyRevoked{})
	}
	if err != nil {
		t.Errorf("revoke a key: %v", err)
	}
	streams.Wait()
	took := time.Since(asked)
	if regenerate { // the new value is not used
		if err := c.sys.portal(context.Background(), "DELETE", path, nil, &wire.KeyRevoked{}); err != nil {
			t.Errorf("revoke a regenerated key: %v", err)
		}
	}
	c.withdrawn.add(call(client, c.sys.in.GatewayURL, key.Key, "Darwin", manner{prompt: "Hello"}))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, took)
	c.keys++
	if regenerate {
		c.regenerated++
	}
}

// serveShakily runs the second model server, stopping it now and then.
func (c *churn) serveShakily(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		model, err := mockmodel.New(mockmodel.Config{})
		if err != nil {
			t.Error(err)
			return
		}
		socket, err := net.Listen("tcp", c.address)
		if err != nil {
			t.Error(err)
			return
		}
		up, cancel := context.WithTimeout(ctx, 2*time.Second+time.Duration(rand.IntN(2000))*time.Millisecond)
		if err := model.Serve(up, socket); err != nil {
			t.Error(err)
		}
		cancel()
		c.stops++
		time.Sleep(500*time.Millisecond + time.Duration(rand.IntN(500))*time.Millisecond)
	}
}

// rest waits until no call is left anywhere.
func (c *churn) rest(t *testing.T) {
	t.Helper()
	eventually(t, settleTime, func() (bool, string) {
		open := c.sys.metrics(t)["modelgate_open_streams"]
		text, err := c.sys.ask(t.Context(), "GET", c.sys.in.SimulatorURL+"/_mock/open", "", nil)
		return err == nil && open == 0 && strings.Trim(text, "\n {}\"open:") == "0", fmt.Sprintf("%.0f streams are open; at the simulator: %s, %v", open, text, err)
	})
}

// judgeCounts compares what callers saw with what the node counted.
func (c *churn) judgeCounts(t *testing.T, before map[string]float64) {
	t.Helper()
	sum := func(k class) (n int) {
		for _, y := range []*tally{c.steady, c.withdrawn, c.unsteady} {
			n += y.of(k)
		}
		return n
	}
	now := c.sys.metrics(t)
	ended := func(ends ...string) (n int) {
		for _, e := range ends {
			name := `modelgate_calls_ended_total{end="` + e + `"}`
			n += int(now[name] - before[name])
		}
		return n
	}
	t.Logf("seen: done %d, left %d, revoked %d, failed %d, refused %d; %d keys of which %d were regenerated, streams ended at most %s after asking; %d stops of a model server",
		sum(done), sum(left), sum(revoked), sum(failed), sum(refused), c.keys, c.regenerated, c.slowest.Round(time.Millisecond), c.stops)
	for _, tt := range []struct {
		seen class
		ends []string
	}{
		{done, []string{"done"}},
		{left, []string{"client_gone"}},
		{revoked, []string{"revoked"}},
		{failed, []string{"failed", "refused", "upstream_cut", "deadline"}},
		{broken, []string{"drained"}},
	} {
		if seen, counted := sum(tt.seen), ended(tt.ends...); seen != counted {
			t.Errorf("%s: callers saw %d, the node counted %d as %s", tt.seen, seen, counted, tt.ends)
		}
	}
	for name, y := range map[string]*tally{"steady": c.steady, "revoked": c.withdrawn, "shaky": c.unsteady} {
		if y.of(broken) > 0 || (name != "shaky" && y.of(failed) > 0) {
			t.Errorf("%s: %d broke, %d failed: %s", name, y.of(broken), y.of(failed), strings.Join(y.words, "\n"))
		}
		if y.of(done)+y.of(revoked) == 0 {
			t.Errorf("%s: nothing went well", name)
		}
	}
	if c.steady.of(left) == 0 || c.withdrawn.of(revoked) == 0 || c.unsteady.of(failed) == 0 {
		t.Error("there was no churn")
	}
	if lost := now["modelgate_unrecorded_calls_total"] + now["modelgate_usage_lost_records"]; lost != 0 {
		t.Errorf("%.0f records are lost", lost)
	}
}

// judgeUsage compares with what the portal shows, once everything has been shipped.
func (c *churn) judgeUsage(t *testing.T) {
	t.Helper()
	for app, y := range map[string]*tally{c.steadyApp: c.steady, c.revokedApp: c.withdrawn, c.shakyApp: c.unsteady} {
		eventually(t, settleTime, func() (bool, string) {
			var usage wire.AppUsage
			err := c.sys.portal(t.Context(), "GET", "/dev/apps/"+app+"/usage", nil, &usage)
			return err == nil && usage.Totals.Calls == int64(y.counted()) && usage.Drift == 0,
				fmt.Sprintf("callers saw %d calls, the portal shows %d with a drift of %d; %v", y.counted(), usage.Totals.Calls, usage.Drift, err)
		})
	}
}

// revokeAtRest measures how soon open streams end when nothing else goes on: of a key that is revoked, and of an app that is
// deleted. The demand is 250 ms from the answer on, which is logged; the bound is for a hang, because the machine is shared.
func (c *churn) revokeAtRest(t *testing.T) {
	t.Helper()
	const bound = 30 * time.Second
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for what, path := range map[string]func(key string) string{
		"a key is revoked":  func(key string) string { return "/dev/apps/" + c.shakyApp + "/keys/" + key },
		"an app is deleted": func(string) string { return "/dev/apps/" + c.revokedApp },
	} {
		app := c.revokedApp
		if strings.Contains(path("k"), "/keys/") {
			app = c.shakyApp
		}
		key, err := c.sys.newKey(t.Context(), app)
		if err != nil {
			t.Fatal(err)
		}
		y := newTally()
		var streams sync.WaitGroup
		for range streamsPerKey {
			streams.Go(func() {
				y.add(call(client, c.sys.in.GatewayURL, key.Key, "Darwin", manner{prompt: long, stream: true}))
			})
		}
		eventually(t, settleTime, func() (bool, string) {
			return c.sys.metrics(t)["modelgate_open_streams"] == streamsPerKey, "the streams are not open"
		})
		asked := time.Now()
		c.sys.must(t, "DELETE", path(key.KeyID), nil, &struct{}{})
		answered := time.Since(asked)
		streams.Wait()
		ended := time.Since(asked)
		t.Logf("%s: answered after %s, streams had ended after %s", what, answered.Round(time.Millisecond), ended.Round(time.Millisecond))
		if y.of(revoked) != streamsPerKey || ended > bound {
			t.Errorf("%s: after %s: %v", what, ended, y.seen)
		}
		c.rest(t)
	}
}
