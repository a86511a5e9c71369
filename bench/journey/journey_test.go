package journey

import (
	"encoding/json"
	"fmt"
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

// Bounds that a developer would notice. They are wide, because the machine is shared; what was measured is logged.
const (
	newKeyWithin  = 30 * time.Second // a key that was just created is accepted
	revokedWithin = 30 * time.Second // the demand is 250 ms
	usageWithin   = 30 * time.Second
	cancelWithin  = 30 * time.Second // the model server learns that the caller left
	mendedWithin  = 60 * time.Second
)

// traveller is what one step hands to the next.
type traveller struct {
	s       *stack.Stack
	in      stack.Info
	bin     string // the programs
	email   string
	session string
	app     string
	key     wire.NewKey
}

func TestJourney(t *testing.T) {
	o := stacktest.Options(t)
	begun := time.Now()
	s := stacktest.Run(t, o)
	t.Logf("everything was ready after %s", time.Since(begun).Round(time.Millisecond))
	w := &traveller{s: s, in: s.Info(), bin: o.Bin, email: "traveller@example.com"}
	for _, step := range []struct {
		name string
		take func(*testing.T)
	}{
		{"the printed curl streams", w.demo},
		{"register", w.register},
		{"create an app", w.createApp},
		{"create a key", w.createKey},
		{"an operator raises the limits", w.raise},
		{"unary call", w.unary},
		{"streamed call", w.streamed},
		{"a dry run tells and costs nothing", w.dryRun},
		{"usage shows both calls", w.usage},
		{"keys that rotate", w.rotate},
		{"an app that expires", w.expire},
		{"the playground", w.playground},
		{"bad calls", w.badCalls},
		{"read the key again", w.keyForStream},
		{"a stream token stands for the key", w.streamToken},
		{"a stream that is cut says so", w.cut},
		{"the client leaves mid-stream", w.leave},
		{"a live key is not answered by a simulator", w.live},
		{"regenerate the key", w.regenerate},
		{"the control plane is down", w.withoutControl},
		{"the node crashes", w.crash},
		{"the model server is down", w.withoutModel},
		{"revoke the key", w.revoke},
		{"stop", w.stop},
	} {
		if !t.Run(step.name, step.take) {
			t.FailNow()
		}
	}
}

func (w *traveller) agent() string { return w.in.GatewayURL + "/api/v1/agent" }

func (w *traveller) call(t *testing.T, key, prompt string) answer {
	t.Helper()
	return send(t, "POST", w.agent(), key, map[string]any{"prompt": prompt})
}

func (w *traveller) portal(t *testing.T, method, path string, body any) answer {
	t.Helper()
	return send(t, method, w.in.PortalURL+path, w.session, body)
}

func (w *traveller) demo(t *testing.T) {
	events, _ := stream(t, w.agent(), w.in.Demo.Key, map[string]any{"prompt": "Tell me about the sea.", "stream": true}, nil)
	if len(events) < 3 || events[len(events)-1].data != "[DONE]" {
		t.Errorf("events: %v", events)
	}
}

func (w *traveller) register(t *testing.T) {
	var session wire.Session
	body := wire.RegisterRequest{Name: "Traveller", Email: w.email, Password: "a long enough password"}
	w.portal(t, "POST", "/dev/auth/register", body).want(t, 200).into(t, &session)
	w.session = session.AccessToken
	var me wire.Developer
	w.portal(t, "GET", "/dev/auth/me", nil).want(t, 200).into(t, &me)
	if me.Email != w.email || me.ID != session.Developer.ID {
		t.Errorf("I am %+v, registered as %+v", me, session.Developer)
	}
	send(t, "GET", w.in.PortalURL+"/dev/auth/me", "", nil).want(t, 401)
}

func (w *traveller) createApp(t *testing.T) { w.app = w.newApp(t, "test") }

func (w *traveller) newApp(t *testing.T, environment string) string {
	t.Helper()
	var app wire.App
	body := map[string]any{"name": "Journey", "environment": environment, "families": []string{"darwin"}, "tasks": []string{}, "rate_limit": 1000}
	w.portal(t, "POST", "/dev/apps", body).want(t, 200).into(t, &app)
	return app.AppID
}

func (w *traveller) createKey(t *testing.T) {
	w.portal(t, "POST", "/dev/apps/"+w.app+"/keys", nil).want(t, 200).into(t, &w.key)
	if !strings.HasPrefix(w.key.Key, "svc_test_") {
		t.Fatalf("key %+v", w.key)
	}
	t.Logf("the new key was accepted after %s", w.await(t, w.key.Key, 200, newKeyWithin).Round(time.Millisecond))
	var detail wire.AppDetail
	shown := w.portal(t, "GET", "/dev/apps/"+w.app, nil).want(t, 200)
	shown.into(t, &detail)
	if len(detail.Keys) != 1 || detail.Keys[0].KeyID != w.key.KeyID || detail.Keys[0].Status != "active" {
		t.Errorf("keys of the app: %+v", detail.Keys)
	}
	if strings.Contains(shown.body, w.key.Key) {
		t.Error("the app's page shows the key itself")
	}
}

// await asks the gateway what the key may use until it answers with a status.
func (w *traveller) await(t *testing.T, key string, status int, within time.Duration) time.Duration {
	t.Helper()
	return eventually(t, within, func() (bool, string) {
		a := send(t, "GET", w.in.GatewayURL+"/api/v1/models", key, nil)
		return a.status == status, fmt.Sprintf("status %d, want %d: %s", a.status, status, a.body)
	})
}

// raise uses the operator's command, with nothing but the configuration file, so that the journey's calls fit the limits.
func (w *traveller) raise(t *testing.T) {
	w.operator(t, "account", "set", w.email, "--per-minute", "10000", "--per-day", "10000", "--verified")
	if out := w.operator(t, "account", "show", w.email); !strings.Contains(out, w.email) {
		t.Errorf("account show: %s", out)
	}
}

func (w *traveller) operator(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"-config", w.in.ControlplaneConfig}, args...)
	cmd := exec.Command(filepath.Join(w.bin, "controlplane"), args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("controlplane %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (w *traveller) unary(t *testing.T) {
	a := w.call(t, w.key.Key, "Hello").want(t, 200)
	var text wire.TextAnswer
	a.into(t, &text)
	if text.Type != "text" || text.Text == "" || text.Model != "Darwin" || text.Backend != "simulator" {
		t.Errorf("answer: %s", a.body)
	}
	if got := a.header.Get("X-Modelgate-Backend"); got != "simulator" {
		t.Errorf("X-Modelgate-Backend is %q", got)
	}
	// The header of the agent endpoint's other spelling.
	req := request(t, t.Context(), "POST", w.agent(), "", map[string]any{"prompt": "Hello"})
	req.Header.Set("X-Api-Key", w.key.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("with X-API-Key: status %d", res.StatusCode)
	}
}

// streamed checks that tokens arrive as the model makes them: twenty, a twentieth of a second apart.
func (w *traveller) streamed(t *testing.T) {
	events, a := stream(t, w.agent(), w.key.Key, map[string]any{"prompt": "[[scenario:many-tokens n=20 delay=50ms]]", "stream": true}, nil)
	a.want(t, 200)
	if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Errorf("content type %q", got)
	}
	if len(events) < 20 {
		t.Fatalf("%d events", len(events))
	}
	last := len(events) - 1
	if events[last].data != "[DONE]" {
		t.Errorf("the last event is %s", events[last].data)
	}
	for _, e := range events[:last] {
		var delta struct{ Type, Text string }
		if err := json.Unmarshal([]byte(e.data), &delta); err != nil || delta.Type != "delta" {
			t.Errorf("event %s: %v", e.data, err)
		}
	}
	if spread := events[last].at.Sub(events[0].at); spread < 300*time.Millisecond {
		t.Errorf("all events came within %s: they were held back", spread)
	}
}

// dryRun is not counted by the step that looks at the usage.
func (w *traveller) dryRun(t *testing.T) {
	req := request(t, t.Context(), "POST", w.agent(), w.key.Key, map[string]any{"prompt": "Hello", "stream": true})
	req.Header.Set("X-Dry-Run", "1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var told wire.DryRun
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil || res.StatusCode != 200 {
		t.Fatalf("status %d: %v", res.StatusCode, err)
	}
	r := told.Route
	if told.Would.Status != 200 || told.Caller.KeyID != w.key.KeyID || r == nil || r.Model != "Darwin" || r.Backend != "simulator" ||
		!r.Stream || len(r.Members) != 1 || r.Members[0].State != "up" || len(told.Limits) == 0 {
		t.Errorf("told %+v, route %+v", told, r)
	}
}

func (w *traveller) usage(t *testing.T) {
	took := eventually(t, usageWithin, func() (bool, string) {
		var usage wire.AppUsage
		a := w.portal(t, "GET", "/dev/apps/"+w.app+"/usage", nil).want(t, 200)
		a.into(t, &usage)
		ok := usage.Totals.Calls == 3 && usage.Totals.Errors == 0 && usage.Totals.TokensOut > 0 &&
			len(usage.ByKey) == 1 && usage.ByKey[0].KeyID == w.key.KeyID
		return ok, a.body
	})
	t.Logf("usage showed the calls after %s", took.Round(time.Millisecond))
}

func (w *traveller) badCalls(t *testing.T) {
	for _, c := range []struct {
		name, key string
		body      any
		status    int
	}{
		{"no key", "", map[string]any{"prompt": "x"}, 401},
		{"a key that does not exist", "svc_test_" + strings.Repeat("0", 51), map[string]any{"prompt": "x"}, 401},
		{"no prompt", w.key.Key, map[string]any{}, 400},
		{"malformed", w.key.Key, json.RawMessage(`"not an object"`), 400},
		{"wrong type", w.key.Key, map[string]any{"prompt": "x", "stream": "maybe"}, 422},
		{"unknown model", w.key.Key, map[string]any{"prompt": "x", "model": "Newton"}, 404},
	} {
		a := send(t, "POST", w.agent(), c.key, c.body)
		if a.status != c.status || !strings.Contains(a.body, `"detail"`) {
			t.Errorf("%s: status %d %s, want %d", c.name, a.status, a.body, c.status)
		}
	}
}

func (w *traveller) keyForStream(t *testing.T) {
	var revealed wire.RevealedKey
	path := "/dev/playground/key-for-stream?app_id=" + w.app + "&key_id=" + w.key.KeyID
	w.portal(t, "GET", path, nil).want(t, 200).into(t, &revealed)
	if revealed.Key != w.key.Key {
		t.Errorf("another key than the one created")
	}
	var other wire.Session
	body := wire.RegisterRequest{Name: "Other", Email: "other@example.com", Password: "a long enough password"}
	w.portal(t, "POST", "/dev/auth/register", body).want(t, 200).into(t, &other)
	if a := send(t, "GET", w.in.PortalURL+path, other.AccessToken, nil); a.status != 404 && a.status != 403 {
		t.Errorf("somebody else reads the key: status %d", a.status)
	}
}

// streamToken calls with a short-lived token in the place of a key, which ends with the key, and so does its stream.
func (w *traveller) streamToken(t *testing.T) {
	var session wire.Session
	body := wire.RegisterRequest{Name: "Brief", Email: "brief@example.com", Password: "a long enough password"}
	w.portal(t, "POST", "/dev/auth/register", body).want(t, 200).into(t, &session)
	ask := func(method, path string) answer {
		return send(t, method, w.in.PortalURL+path, session.AccessToken, map[string]any{"name": "Brief"})
	}
	ask("GET", "/dev/config/stream-key").want(t, 404)
	var app wire.App
	ask("POST", "/dev/apps").want(t, 200).into(t, &app)
	var key wire.NewKey
	ask("POST", "/dev/apps/"+app.AppID+"/keys").want(t, 200).into(t, &key)
	var token wire.StreamKey
	ask("GET", "/dev/config/stream-key").want(t, 200).into(t, &token)
	if token.KeyID != key.KeyID || token.AppID != app.AppID {
		t.Errorf("the token stands for %+v, the key is %+v", token, key)
	}
	w.await(t, token.Token, 200, newKeyWithin)
	w.call(t, token.Token, "Hello").want(t, 200)
	var second wire.NewKey
	ask("POST", "/dev/apps/"+app.AppID+"/keys").want(t, 200).into(t, &second)
	var chosen wire.StreamKey
	ask("GET", "/dev/config/stream-key?app_id="+app.AppID+"&key_id="+second.KeyID).want(t, 200).into(t, &chosen)
	w.await(t, chosen.Token, 200, newKeyWithin)
	ask("DELETE", "/dev/apps/"+app.AppID+"/keys/"+second.KeyID+"?wait=nodes").want(t, 200)
	w.await(t, chosen.Token, 401, newKeyWithin)
	w.call(t, token.Token, "Hello").want(t, 200) // the other key's
	broken := token.Token[:len(token.Token)-8] + "AAAAAAAA"
	if a := w.call(t, broken, "Hello").want(t, 401); !strings.Contains(a.body, "signature") {
		t.Errorf("with another signature: %s", a.body)
	}
	prompt := map[string]any{"prompt": "[[scenario:many-tokens n=3000 delay=20ms]]", "stream": true}
	revoked := false
	events, a := stream(t, w.agent(), token.Token, prompt, func(events []event) bool {
		if len(events) == 3 && !revoked {
			revoked = true
			ask("DELETE", "/dev/apps/"+app.AppID+"/keys/"+key.KeyID).want(t, 200)
		}
		return false
	})
	a.want(t, 200)
	var ended wire.ErrorEvent
	if err := json.Unmarshal([]byte(events[len(events)-2].data), &ended); err != nil || ended.Status != 401 {
		t.Errorf("the stream of a revoked key ends with %v", events[len(events)-2:])
	}
	w.call(t, token.Token, "Hello").want(t, 401)
	ask("GET", "/dev/config/stream-key").want(t, 404)
}

// cut has the model server drop the connection after three events.
func (w *traveller) cut(t *testing.T) {
	events, a := stream(t, w.agent(), w.key.Key, map[string]any{"prompt": "[[scenario:cut-after n=5]]", "stream": true}, nil)
	a.want(t, 200)
	if len(events) < 3 || events[len(events)-1].data != "[DONE]" {
		t.Fatalf("events: %v", events)
	}
	var failed wire.ErrorEvent
	if err := json.Unmarshal([]byte(events[len(events)-2].data), &failed); err != nil || failed.Type != "error" || failed.Status != 502 {
		t.Errorf("before [DONE]: %s", events[len(events)-2].data)
	}
}

// leave walks away from a stream that would go on for a minute, and asks the model server whether it noticed.
func (w *traveller) leave(t *testing.T) {
	prompt := "[[scenario:many-tokens n=3000 delay=20ms]]"
	stream(t, w.agent(), w.key.Key, map[string]any{"prompt": prompt, "stream": true}, func(events []event) bool { return len(events) >= 3 })
	left := time.Now()
	eventually(t, cancelWithin, func() (bool, string) {
		var seen struct {
			Requests []struct {
				Outcome     string     `json:"outcome"`
				Scenario    string     `json:"scenario"`
				CancelledAt *time.Time `json:"cancelled_at"`
			} `json:"requests"`
		}
		a := send(t, "GET", w.in.SimulatorURL+"/_mock/requests", "", nil).want(t, 200)
		a.into(t, &seen)
		last := seen.Requests[len(seen.Requests)-1]
		if last.CancelledAt != nil {
			t.Logf("the model server saw it %s later", last.CancelledAt.Sub(left).Round(time.Millisecond))
		}
		return last.Outcome == "client_gone", fmt.Sprintf("%+v", last)
	})
}

func (w *traveller) live(t *testing.T) {
	app := w.newApp(t, "live")
	var key wire.NewKey
	w.portal(t, "POST", "/dev/apps/"+app+"/keys", nil).want(t, 200).into(t, &key)
	if !strings.HasPrefix(key.Key, "svc_live_") {
		t.Errorf("key %+v", key)
	}
	w.await(t, key.Key, 200, newKeyWithin)
	if a := w.call(t, key.Key, "Hello").want(t, 503); !strings.Contains(a.body, "MODELGATE_CHAT_URL") {
		t.Errorf("the answer does not say what to set: %s", a.body)
	}
}

func (w *traveller) regenerate(t *testing.T) {
	var fresh wire.NewKey
	w.portal(t, "POST", "/dev/apps/"+w.app+"/keys/"+w.key.KeyID+"/regenerate", nil).want(t, 200).into(t, &fresh)
	if fresh.Key == w.key.Key {
		t.Fatal("the key is the same")
	}
	w.await(t, fresh.Key, 200, newKeyWithin)
	w.await(t, w.key.Key, 401, revokedWithin)
	w.call(t, w.key.Key, "Hello").want(t, 401)
	w.call(t, fresh.Key, "Hello").want(t, 200)
	w.key = fresh
}
