package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

// The node's deadlines in these tests. The keep-alive comes before any of them passes, so that a stream has begun by then.
const (
	keepAlive = 3 * time.Second
	patience  = 5 * time.Second // for the head, for the first event, and between events
	wholeTime = 6 * time.Second // for an answer that is not streamed
)

// Bounds on the system. They are wide, because the machine is shared.
const (
	callWait    = 30 * time.Second // the longest time of a call
	keysWithin  = 30 * time.Second // new keys are accepted
	endsWithin  = 30 * time.Second // the model server notices that nobody waits any more
	usageWithin = 30 * time.Second
	pollEvery   = 20 * time.Millisecond
	atOnce      = 24 // calls at the same time
)

// system is a running stack and the session of an account without limits that matter.
type system struct {
	s       *stack.Stack
	in      stack.Info
	bin     string // where its programs are
	client  *http.Client
	session string
}

func start(t *testing.T) *system {
	t.Helper()
	o := stacktest.Options(t)
	for name, d := range map[string]time.Duration{
		"KEEP_ALIVE": keepAlive, "HEAD_TIME": patience, "FIRST_TIME": patience, "IDLE_TIME": patience, "ANSWER_TIME": wholeTime,
	} {
		o.Env = append(o.Env, "MODELGATE_DATAPLANE_"+name+"="+d.String())
	}
	sys := &system{s: stacktest.Run(t, o), bin: o.Bin, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}}
	t.Cleanup(sys.client.CloseIdleConnections)
	sys.in = sys.s.Info()
	demo := sys.in.Demo
	sys.raise(t, demo.Email)
	var session wire.Session
	sys.portal(t, "POST", "/dev/auth/login", wire.LoginRequest{Email: demo.Email, Password: demo.Password}, &session)
	sys.session = session.AccessToken
	return sys
}

// portal makes a call that has to succeed.
func (sys *system) portal(t *testing.T, method, path string, body, answer any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if err := sys.ask(t.Context(), method, sys.in.PortalURL+path, sys.session, text, answer); err != nil {
		t.Fatal(err)
	}
}

func (sys *system) ask(ctx context.Context, method, url, bearer string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := sys.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, url, res.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// route gives every name a model and an upstream of its own, all at the simulator: what the gateway learns of a server that
// fails in one row (breaker, requested silence, retry budget, idle connections) must not touch the others. The control plane
// reads its configuration when it starts.
func (sys *system) route(t *testing.T, names []string) {
	t.Helper()
	sys.publish(t, names, "chat", "/v1", func(string) string { return "conversation" })
}

// publish gives every name a model of one task and an upstream that speaks a dialect at a path of the simulator.
func (sys *system) publish(t *testing.T, names []string, dialect, path string, task func(name string) string) {
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
			"id": name, "family": "darwin", "tasks": []string{task(name)}, "upstream": name, "setting": "MODELGATE_CHAT_URL",
		})
		upstreams = append(upstreams, map[string]any{
			"id": name, "dialect": dialect, "base_url": sys.in.SimulatorURL + path, "model": "mock", "simulator": true,
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
	eventually(t, keysWithin, func() (bool, string) {
		var known wire.ModelCatalog
		err := sys.ask(t.Context(), "GET", sys.in.GatewayURL+"/api/v1", sys.in.Demo.Key, nil, &known)
		has := func(name string) bool {
			return slices.ContainsFunc(known.Models, func(m wire.Model) bool { return m.ID == name })
		}
		return err == nil && has(names[len(names)-1]), fmt.Sprintf("%d models of %d: %v", len(known.Models), len(names), err)
	})
}

// account is an app with one key, for the calls of one row.
type account struct{ app, keyID, key string }

// accounts makes apps with a key each, and waits until the node knows them all.
func (sys *system) accounts(t *testing.T, n int) []account {
	t.Helper()
	made := make([]account, n)
	var failed error
	var once sync.Once
	each(n, func(i int) {
		var app wire.App
		var key wire.NewKey
		body := []byte(`{"name":"Faults","environment":"test","families":["darwin"],"tasks":[],"rate_limit":1000000}`)
		err := sys.ask(t.Context(), "POST", sys.in.PortalURL+"/dev/apps", sys.session, body, &app)
		if err == nil {
			err = sys.ask(t.Context(), "POST", sys.in.PortalURL+"/dev/apps/"+app.AppID+"/keys", sys.session, nil, &key)
		}
		if err != nil {
			once.Do(func() { failed = err })
			return
		}
		made[i] = account{app.AppID, key.KeyID, key.Key}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	for _, a := range made {
		eventually(t, keysWithin, func() (bool, string) {
			var models wire.Models
			err := sys.ask(t.Context(), "GET", sys.in.GatewayURL+"/api/v1/models", a.key, nil, &models)
			return err == nil, fmt.Sprint(err)
		})
	}
	return made
}

// usage is what the portal shows of an app.
func (sys *system) usage(t *testing.T, app string) wire.AppUsage {
	t.Helper()
	var usage wire.AppUsage
	sys.portal(t, "GET", "/dev/apps/"+app+"/usage", nil, &usage)
	return usage
}

// asked is what the simulator's journal holds of the rows, by the id in their prompts. It waits for what is still going on, but
// not for ever: the row that it belongs to tells.
func (sys *system) asked(t *testing.T) map[string][]journal.View {
	t.Helper()
	var seen struct {
		Requests []journal.View `json:"requests"`
	}
	open := func(r journal.View) bool { return r.Outcome == journal.Open }
	for until := time.Now().Add(endsWithin); ; time.Sleep(pollEvery) {
		if err := sys.ask(t.Context(), "GET", sys.in.SimulatorURL+"/_mock/requests", "", nil, &seen); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(seen.Requests, open) || time.Now().After(until) {
			break
		}
	}
	byID := map[string][]journal.View{}
	for _, r := range seen.Requests {
		_, id, _ := strings.Cut(r.Scenario, "id=")
		id, _, _ = strings.Cut(id, " ")
		byID[id] = append(byID[id], r)
	}
	return byID
}

// each runs f for 0 to n-1, some at a time.
func each(n int, f func(i int)) {
	free := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			f(i)
		})
	}
	wg.Wait()
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
