package cluster_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

// planPatience is for a busy machine. The log has how long it took.
const planPatience = 30 * time.Second

// A change of plan is in force on every node about a second after the command, and what was counted under the old one goes on counting.
func TestAPlanChangeKeepsTheCount(t *testing.T) {
	o := stacktest.Options(t)
	o.Nodes = 3
	var err error
	if o.PortBase, err = stack.FreePortBase(t.Context(), o.Nodes); err != nil {
		t.Fatal(err)
	}
	s := stacktest.Run(t, o)
	info := s.Info()
	set := func(planID string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), filepath.Join(o.Bin, "controlplane"), "-config", info.ControlplaneConfig,
			"account", "set", info.Demo.Email, "--plan", planID).CombinedOutput()
		if err != nil {
			t.Fatalf("set the plan: %v\n%s", err, out)
		}
	}
	until := func(most int64) {
		t.Helper()
		began := time.Now()
		for _, node := range info.Nodes {
			for perMinute(t, node.GatewayURL, info.Demo.Key).Max != most {
				if time.Since(began) > planPatience {
					t.Fatalf("%s does not follow to %d a minute", node.Name, most)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		t.Logf("every node has %d a minute after %s", most, time.Since(began).Round(time.Millisecond))
	}
	set("free")
	until(30)
	const calls = 21
	first := time.Now()
	for i := range calls {
		if status := call(t.Context(), info.Nodes[i%len(info.Nodes)].GatewayURL, info.Demo.Key); status != http.StatusOK {
			t.Fatalf("call %d: %d", i, status)
		}
	}
	set("starter")
	until(120)
	for _, node := range info.Nodes {
		left := perMinute(t, node.GatewayURL, info.Demo.Key).Remaining
		if time.Since(first) < 50*time.Second && left > 120-calls {
			t.Errorf("%s has %d calls left of 120 after %d", node.Name, left, calls)
		}
	}
	set("free")
	until(30)
	admitted := 0
	for i := range 30 {
		if call(t.Context(), info.Nodes[i%len(info.Nodes)].GatewayURL, info.Demo.Key) == http.StatusOK {
			admitted++
		}
	}
	if time.Since(first) < 55*time.Second && admitted != 30-calls {
		t.Errorf("%d calls were admitted after %d of 30", admitted, calls)
	}
	t.Logf("%d of 30 admitted after %d, %s after the first", admitted, calls, time.Since(first).Round(time.Second))
}

// perMinute is how the limit of a key stands, as a dry run tells.
func perMinute(t *testing.T, url, key string) wire.DryRunLimit {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/agent", strings.NewReader(`{"prompt":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Dry-Run", "1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var told wire.DryRun
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	for _, l := range told.Limits {
		if l.Name == "key_per_minute" {
			return l
		}
	}
	return wire.DryRunLimit{}
}
