package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

const (
	node        = "dataplane-1"
	writeTime   = 2 * time.Second  // of the node, for callers that stop reading
	knownWithin = 20 * time.Second // new keys and routes are in force
	settleTime  = 90 * time.Second // for what has to come to rest at the end
	askTime     = 30 * time.Second
)

// system is a running stack and the session of an account without limits that matter.
type system struct {
	s       *stack.Stack
	in      stack.Info
	dir     string // of the logs
	session string
	client  *http.Client // of the portal, metrics and the simulator
}

// start runs the stack with a second model server at the address shaky.
func start(t *testing.T, shaky string) *system {
	t.Helper()
	o := stacktest.Options(t, "-race")
	o.Env = append(o.Env, "MODELGATE_DATAPLANE_WRITE_TIME="+writeTime.String())
	sys := &system{s: stacktest.Run(t, o), dir: o.Dir, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10}}}
	t.Cleanup(sys.client.CloseIdleConnections)
	sys.in = sys.s.Info()
	demo := sys.in.Demo
	raise := exec.CommandContext(t.Context(), filepath.Join(o.Bin, "controlplane"), "-config", sys.in.ControlplaneConfig,
		"account", "set", demo.Email, "--plan", "enterprise", "--per-minute", "1000000", "--per-day", "100000000", "--in-flight", "1000000", "--verified")
	if out, err := raise.CombinedOutput(); err != nil {
		t.Fatalf("raise the limits: %v\n%s", err, out)
	}
	sys.route(t, shaky)
	var session wire.Session
	sys.must(t, "POST", "/dev/auth/login", wire.LoginRequest{Email: demo.Email, Password: demo.Password}, &session)
	sys.session = session.AccessToken
	return sys
}

// route adds the model Shaky, at the second model server alone, and Pooled, at both. The control plane reads its configuration
// when it starts.
func (sys *system) route(t *testing.T, shaky string) {
	t.Helper()
	text, err := os.ReadFile(sys.in.ControlplaneConfig)
	if err != nil {
		t.Fatal(err)
	}
	var cfg map[string]any
	if err := yaml.Unmarshal(text, &cfg); err != nil {
		t.Fatal(err)
	}
	model := func(id, upstream string) map[string]any {
		return map[string]any{"id": id, "family": "darwin", "tasks": []string{"conversation"}, "upstream": upstream, "setting": "MODELGATE_CHAT_URL"}
	}
	models, _ := cfg["models"].([]any)
	cfg["models"] = append(models, model("Shaky", "shaky"), model("Pooled", "both"))
	upstreams, _ := cfg["upstreams"].([]any)
	cfg["upstreams"] = append(upstreams, map[string]any{
		"id": "shaky", "dialect": "chat", "base_url": "http://" + shaky + "/v1", "model": "mock", "simulator": true,
	})
	pools, _ := cfg["pools"].([]any)
	cfg["pools"] = append(pools, map[string]any{"id": "both", "members": []any{map[string]any{"upstream": "chat"}, map[string]any{"upstream": "shaky"}}})
	if text, err = yaml.Marshal(cfg); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sys.in.ControlplaneConfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sys.s.Halt("controlplane"); err != nil {
		t.Fatal(err)
	}
	if err := sys.s.Resume(t.Context(), "controlplane"); err != nil {
		t.Fatal(err)
	}
	eventually(t, knownWithin, func() (bool, string) {
		text, err := sys.ask(t.Context(), "GET", sys.in.GatewayURL+"/api/v1/models", sys.in.Demo.Key, nil)
		return err == nil && strings.Contains(text, "Pooled"), fmt.Sprintf("%s, %v", text, err)
	})
}

// ask makes a call and returns the body of a 2xx.
func (sys *system) ask(ctx context.Context, method, url, bearer string, body []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := sys.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %d: %s", method, url, res.StatusCode, text)
	}
	return string(text), err
}

// portal calls the portal's interface.
func (sys *system) portal(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	got, err := sys.ask(ctx, method, sys.in.PortalURL+path, sys.session, text)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(got), answer)
}

// must is portal for calls that have to succeed.
func (sys *system) must(t *testing.T, method, path string, body, answer any) {
	t.Helper()
	if err := sys.portal(t.Context(), method, path, body, answer); err != nil {
		t.Fatal(err)
	}
}

// newApp makes an app and a key.
func (sys *system) newApp(t *testing.T, name string) (app, key string) {
	t.Helper()
	var a wire.App
	sys.must(t, "POST", "/dev/apps", wire.CreateAppRequest{
		Name: name, Environment: "test", Families: []string{"darwin"}, Tasks: []string{}, RateLimit: 1_000_000,
	}, &a)
	k, err := sys.newKey(t.Context(), a.AppID)
	if err != nil {
		t.Fatal(err)
	}
	return a.AppID, k.Key
}

// newKey makes a key and waits until the node knows it.
func (sys *system) newKey(ctx context.Context, app string) (wire.NewKey, error) {
	var k wire.NewKey
	err := sys.portal(ctx, "POST", "/dev/apps/"+app+"/keys", nil, &k)
	if err == nil {
		err = sys.known(ctx, k.Key)
	}
	return k, err
}

func (sys *system) known(ctx context.Context, key string) error {
	for until := time.Now().Add(knownWithin); ; time.Sleep(20 * time.Millisecond) {
		_, err := sys.ask(ctx, "GET", sys.in.GatewayURL+"/api/v1/models", key, nil)
		if err == nil || time.Now().After(until) {
			return err
		}
	}
}

// metrics are the node's present values by name and labels, as Prometheus reads them.
func (sys *system) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	text, err := sys.ask(t.Context(), "GET", sys.in.MetricsURLs[node]+"/metrics", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			values[name] = v
		}
	}
	return values
}

// eventually repeats a look until it is satisfied, and fails with its last words otherwise.
func eventually(t *testing.T, within time.Duration, look func() (ok bool, why string)) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		ok, why := look()
		if ok {
			return
		}
		if time.Since(begun) > within {
			t.Errorf("not within %s: %s", within, why)
			return
		}
	}
}
