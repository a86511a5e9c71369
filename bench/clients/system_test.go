package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

// Bounds on the system. They are wide, because the machine is shared.
const (
	callWait   = 60 * time.Second // the longest time of a call
	knowsAfter = 30 * time.Second // a node serves by a change
	pollEvery  = 20 * time.Millisecond
)

// system is a running stack and two developers, whose plans have no limits that matter. Keys of the second make one call at a time.
type system struct {
	s             *stack.Stack
	in            stack.Info
	bin           string
	root          string
	many, oneCall string // sessions
}

func start(t *testing.T) *system {
	t.Helper()
	o := stacktest.Options(t)
	o.Env = append(o.Env, "MODELGATE_CONTROLPLANE_METRICS_ADMIN=true") // else two operations only ever answer 403
	sys := &system{s: stacktest.Run(t, o), bin: o.Bin, root: stacktest.Root(t)}
	sys.in = sys.s.Info()
	demo := sys.in.Demo
	sys.raise(t, demo.Email, 100_000)
	var session wire.Session
	sys.portal(t, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: demo.Email, Password: demo.Password}, &session)
	sys.many = session.AccessToken
	sys.oneCall = sys.developer(t, "one-call@example.com", 1)
	return sys
}

// developer registers somebody whose keys may make so many calls at a time, and returns the session.
func (sys *system) developer(t *testing.T, email string, atOnce int) string {
	t.Helper()
	var session wire.Session
	sys.portal(t, "POST", "/dev/auth/register", "", wire.RegisterRequest{Name: "Developer", Email: email, Password: "a long enough password"}, &session)
	sys.raise(t, email, atOnce)
	return session.AccessToken
}

// raise lifts the limits of an account's calls but for how many a key may make at a time.
func (sys *system) raise(t *testing.T, email string, atOnce int) {
	t.Helper()
	raise := exec.CommandContext(t.Context(), filepath.Join(sys.bin, "controlplane"), "-config", sys.in.ControlplaneConfig,
		"account", "set", email, "--plan", "enterprise", "--per-minute", "100000", "--per-day", "1000000",
		"--in-flight", fmt.Sprint(atOnce), "--verified")
	if out, err := raise.CombinedOutput(); err != nil {
		t.Fatalf("raise the limits: %v\n%s", err, out)
	}
}

// key makes an app with one key that every node knows. Families may be none, which is all.
func (sys *system) key(t *testing.T, session string, perMinute int64, families ...string) (app, key string) {
	t.Helper()
	var made wire.App
	sys.portal(t, "POST", "/dev/apps", session, wire.CreateAppRequest{
		Name: "Client", Environment: "test", Families: append([]string{}, families...), Tasks: []string{}, RateLimit: perMinute,
	}, &made)
	var minted wire.NewKey
	sys.portal(t, "POST", "/dev/apps/"+made.AppID+"/keys?wait=nodes", session, nil, &minted)
	return made.AppID, minted.Key
}

// portal makes a call that has to succeed.
func (sys *system) portal(t *testing.T, method, path, session string, body, answer any) {
	t.Helper()
	if err := ask(t.Context(), method, sys.in.PortalURL+path, session, body, answer); err != nil {
		t.Fatal(err)
	}
}

// publish gives every name a model and an upstream of its own, all at the simulator. The control plane reads its configuration when it
// starts.
func (sys *system) publish(t *testing.T, names []string) {
	t.Helper()
	text, err := os.ReadFile(sys.in.ControlplaneConfig)
	if err != nil {
		t.Fatal(err)
	}
	var cfg map[string]any
	if err := yaml.Unmarshal(text, &cfg); err != nil {
		t.Fatal(err)
	}
	models, _ := cfg["models"].([]any)
	upstreams, _ := cfg["upstreams"].([]any)
	for _, name := range names {
		models = append(models, map[string]any{
			"id": name, "family": "darwin", "tasks": []string{"conversation"}, "upstream": name, "setting": "MODELGATE_CHAT_URL",
		})
		upstreams = append(upstreams, map[string]any{
			"id": name, "dialect": "chat", "base_url": sys.in.SimulatorURL + "/v1", "model": "mock", "simulator": true,
		})
	}
	cfg["models"], cfg["upstreams"] = models, upstreams
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
	eventually(t, knowsAfter, func() (bool, string) {
		var known wire.ModelCatalog
		err := ask(t.Context(), "GET", sys.in.GatewayURL+"/api/v1", sys.in.Demo.Key, nil, &known)
		last := func(m wire.Model) bool { return m.ID == names[len(names)-1] }
		return err == nil && slices.ContainsFunc(known.Models, last), fmt.Sprintf("%d models: %v", len(known.Models), err)
	})
}

// ask makes a call whose answer is 200 and JSON; bearer and body may be missing.
func ask(ctx context.Context, method, url, bearer string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, url, res.StatusCode, got)
	}
	return json.Unmarshal(got, answer)
}

// eventually repeats a look until it is satisfied, and fails with its last words otherwise.
func eventually(t *testing.T, within time.Duration, look func() (ok bool, why string)) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(pollEvery) {
		ok, why := look()
		if ok {
			return
		}
		if time.Since(begun) > within {
			t.Fatalf("not within %s: %s", within, why)
		}
	}
}
