package faults

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/shared/wire"
)

// badEvery is how often one account sends a request that makes the model server fail, and goodEvery how often another account sends one
// that does not.
const (
	badEvery  = 50 * time.Millisecond
	goodEvery = 150 * time.Millisecond
	badFor    = 6 * time.Second
)

// badRequest is a request that makes a model server that is well answer 500, and what its caller must hear of that.
type badRequest struct {
	name   string
	does   string // the simulator's scenario
	status int
	detail string

	bad, good account
}

func badRequests() []*badRequest {
	const llama = "status code=500 message="
	return []*badRequest{
		{name: "tools without a template", does: llama + "tools_param_requires_--jinja_flag", status: 400, detail: "tools param requires --jinja flag"},
		{name: "an image for a text model", does: llama + "image_input_is_not_supported_-_hint:_provide_the_mmproj", status: 400, detail: "image input is not supported"},
		{name: "a full context", does: llama + "the_request_exceeds_the_available_context_size", status: 400, detail: "available context size"},
		{name: "words that say nothing", does: llama + "oops", status: 502, detail: "status 500. Try again later. It said: oops"},
		{name: "no words", does: llama + "-", status: 502, detail: "status 500"},
		{name: "a crash", does: "cut-head rst=1", status: 502, detail: "closed the connection without an answer"},
	}
}

// TestABadCallerTakesTheModelFromNobody has one account send what makes the model server fail, and another account what does not.
// Every row has a model and an upstream of its own.
func TestABadCallerTakesTheModelFromNobody(t *testing.T) {
	sys := start(t)
	other := sys.join(t, "other@example.com")
	rows := badRequests()
	names := []string{"dead", "failing"}
	for i := range rows {
		names = append(names, fmt.Sprintf("bad%d", i))
	}
	sys.route(t, names)
	bad, good := sys.accounts(t, len(rows)+1), other.accounts(t, len(rows)+1)
	for i, r := range rows {
		r.bad, r.good = bad[i], good[i]
	}
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) { r.judge(t, sys, names[i+2]) })
	}
	lone, fresh := bad[len(rows)], good[len(rows)]
	t.Run("a server that always fails", func(t *testing.T) { sys.failing(t, lone, fresh) })
	t.Run("a server that is down", func(t *testing.T) { sys.dead(t, lone, fresh) })
}

func (r *badRequest) judge(t *testing.T, sys *system, model string) {
	t.Helper()
	worst := call{url: sys.in.GatewayURL + agentPath, key: r.bad.key, model: model, prompt: "[[scenario:" + r.does + " id=" + model + "]] Hello"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told := map[int]int{}
	var all sync.WaitGroup
	var mu sync.Mutex
	all.Go(func() {
		for ctx.Err() == nil {
			all.Go(func() {
				h := worst.do(t.Context(), sys.client)
				mu.Lock()
				defer mu.Unlock()
				if told[h.status]++; h.status == r.status && (h.failure == nil || !strings.Contains(h.failure.Detail, r.detail)) {
					t.Errorf("told %+v, want %q", h.failure, r.detail)
				}
			})
			time.Sleep(badEvery)
		}
	})
	time.Sleep(time.Second) // it is alone at first
	calls, failed := 0, map[int]int{}
	for begun := time.Now(); time.Since(begun) < badFor; time.Sleep(goodEvery) {
		c := call{url: sys.in.GatewayURL + agentPath, key: r.good.key, model: model, prompt: fmt.Sprint("Hello ", calls), stream: calls%2 == 1}
		calls++
		if h := c.do(t.Context(), sys.client); h.err != nil || h.status != http.StatusOK || h.failure != nil {
			failed[h.status]++
		}
	}
	stop()
	all.Wait()
	if len(failed) > 0 {
		t.Errorf("of %d good calls failed, by status: %v", calls, failed)
	}
	delete(told, http.StatusServiceUnavailable) // for the account's own failures
	if len(told) != 1 || told[r.status] == 0 {
		t.Errorf("bad calls by status: %v, want only %d", told, r.status)
	}
	t.Logf("%d good calls, bad calls by status: %v", calls, told)
}

// failing sees that a server that answers everything by 500 is given up for who is alone with it, and for everybody when others find
// the same.
func (sys *system) failing(t *testing.T, lone, fresh account) {
	t.Helper()
	ask := func(a account, n int) heard {
		c := call{url: sys.in.GatewayURL + agentPath, key: a.key, model: "failing", prompt: fmt.Sprintf("[[scenario:status message=- id=failing]] %d", n)}
		return c.do(t.Context(), sys.client)
	}
	for n := range 3 { // of two attempts each
		if h := ask(lone, n); h.status != http.StatusBadGateway {
			t.Errorf("call %d: status %d, %+v", n, h.status, h.failure)
		}
	}
	if h := ask(lone, 3); h.status != http.StatusServiceUnavailable || h.header.Get("Retry-After") == "" {
		t.Errorf("it is still asked: %d, %+v", h.status, h.failure)
	}
	if h := ask(fresh, 4); h.status != http.StatusBadGateway {
		t.Errorf("who did not see it fail was told %d, %+v", h.status, h.failure)
	}
	well := call{url: sys.in.GatewayURL + agentPath, key: fresh.key, model: "failing", prompt: "Hello"}
	eventually(t, endsWithin, func() (bool, string) {
		h := well.do(t.Context(), sys.client)
		return h.status == http.StatusOK, fmt.Sprintf("status %d", h.status)
	})
	well.key = lone.key
	if h := well.do(t.Context(), sys.client); h.status != http.StatusOK {
		t.Errorf("it recovered, and its first caller gets %d", h.status)
	}
}

// dead sees that a server that cannot be reached is given up for everybody after five attempts of anybody, and asked again once it is
// back.
func (sys *system) dead(t *testing.T, lone, fresh account) {
	t.Helper()
	if err := sys.s.Halt("mockmodel"); err != nil {
		t.Fatal(err)
	}
	c := call{url: sys.in.GatewayURL + agentPath, key: lone.key, model: "dead", prompt: "Hello"}
	for n, want := range []int{http.StatusBadGateway, http.StatusBadGateway, http.StatusServiceUnavailable} { // of three attempts each
		if h := c.do(t.Context(), sys.client); h.status != want {
			t.Errorf("call %d: status %d, want %d, %+v", n, h.status, want, h.failure)
		}
	}
	c.key = fresh.key
	if h := c.do(t.Context(), sys.client); h.status != http.StatusServiceUnavailable {
		t.Errorf("who did not try was told %d, %+v", h.status, h.failure)
	}
	if err := sys.s.Resume(t.Context(), "mockmodel"); err != nil {
		t.Fatal(err)
	}
	eventually(t, endsWithin, func() (bool, string) {
		h := c.do(t.Context(), sys.client)
		return h.err == nil && h.status == http.StatusOK, fmt.Sprintf("status %d: %v", h.status, h.err)
	})
}

// join returns the same system as another developer sees it, without limits that matter.
func (sys *system) join(t *testing.T, email string) *system {
	t.Helper()
	other := *sys
	var session wire.Session
	other.portal(t, "POST", "/dev/auth/register", wire.RegisterRequest{Name: "Other", Email: email, Password: "a long enough password"}, &session)
	other.session = session.AccessToken
	sys.raise(t, email)
	return &other
}

// raise lifts the limits of an account.
func (sys *system) raise(t *testing.T, email string) {
	t.Helper()
	set := exec.CommandContext(t.Context(), filepath.Join(sys.bin, "controlplane"), "-config", sys.in.ControlplaneConfig,
		"account", "set", email, "--plan", "enterprise", "--per-minute", "100000", "--per-day", "1000000", "--in-flight", "100000", "--verified")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("raise the limits: %v\n%s", err, out)
	}
}
