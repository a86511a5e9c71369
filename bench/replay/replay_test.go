package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/internal/proc"
	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

const (
	node        = "dataplane-1"
	rounds      = 8 // of a window without shipping and one with it
	warm        = time.Second
	window      = 4 * time.Second
	connections = 16
	slowedMost  = 1.05
	tenGiB      = 10 << 30
)

// TestReplay is described in the package's comment.
func TestReplay(t *testing.T) {
	size, err := strconv.ParseInt(os.Getenv("SPOOL_BYTES"), 10, 64)
	if err != nil || size < segmentBytes {
		t.Skip("set SPOOL_BYTES to the size of the backlog, at least a segment, as `make replay` does")
	}
	g, s, o := start(t)
	key := newKey(t, s.Info(), o)
	empty := restart(t, s, nil)
	var records uint64
	full := restart(t, s, func() { records = fill(t, filepath.Join(o.Dir, node, "spool"), size) })
	t.Logf("the node serves %s after its start with a backlog of %d MiB, %d records; %s without any",
		full.Round(time.Millisecond), size>>20, records, empty.Round(time.Millisecond))

	quiet, shipping, shipped := alternate(t, g, s, target(t, s.Info().GatewayURL, key))
	ratio := shipping.perCall() / quiet.perCall()
	rate := float64(shipped) / shipping.wall.Seconds()
	t.Logf("CPU of the node for a call: %.1f us without shipping (%d calls), %.1f us while the backlog is shipped (%d calls), ratio %.3f",
		quiet.perCall(), quiet.calls, shipping.perCall(), shipping.calls, ratio)
	t.Logf("calls/s: %.0f and %.0f; shipped: %d records, %.0f/s; memory of the node at the most: %d MiB",
		quiet.rate(), shipping.rate(), shipped, rate, max(quiet.memory, shipping.memory)>>20)
	if backlog := rate - shipping.rate(); backlog > 0 {
		t.Logf("beyond those of the calls %.0f records/s: 10 GiB take %s beside this load", backlog,
			time.Duration(float64(records)/float64(size)*tenGiB/backlog*float64(time.Second)).Round(time.Minute))
	} else {
		t.Error("the backlog does not become smaller beside this load")
	}
	if ratio > slowedMost {
		t.Errorf("shipping slows calls to %.3f of what they cost, promised are %.2f", ratio, slowedMost)
	}
}

// start runs the system with the gate before the control plane and a model server of our own.
func start(t *testing.T) (*gate, *stack.Stack, stack.Options) {
	t.Helper()
	o := stacktest.Options(t)
	control, err := url.Parse(fmt.Sprintf("http://127.0.0.1:%d", o.PortBase+3))
	if err != nil {
		t.Fatal(err)
	}
	g, address := newGate(t, control)
	server := httptest.NewServer(http.HandlerFunc(model))
	t.Cleanup(server.Close)
	o.ChatURL, o.ChatModel, o.LogLevel = server.URL+"/v1", "m", "warn"
	o.Env = append(o.Env, "MODELGATE_DATAPLANE_CONTROL_URL="+address)
	return g, stacktest.Run(t, o), o
}

// newKey makes a key without limits that matter.
func newKey(t *testing.T, in stack.Info, o stack.Options) string {
	t.Helper()
	raise := exec.CommandContext(t.Context(), filepath.Join(o.Bin, "controlplane"), "-config", in.ControlplaneConfig,
		"account", "set", in.Demo.Email, "--plan", "enterprise", "--per-minute", "10000000", "--per-day", "1000000000", "--verified")
	if out, err := raise.CombinedOutput(); err != nil {
		t.Fatalf("raise the limits: %v\n%s", err, out)
	}
	var (
		session wire.Session
		app     wire.App
		made    wire.NewKey
	)
	post(t, in.PortalURL+"/dev/auth/login", "", wire.LoginRequest{Email: in.Demo.Email, Password: in.Demo.Password}, &session)
	post(t, in.PortalURL+"/dev/apps", session.AccessToken, wire.CreateAppRequest{
		Name: "Replay", Environment: "test", Families: []string{"darwin"}, Tasks: []string{}, RateLimit: 1_000_000,
	}, &app)
	post(t, in.PortalURL+"/dev/apps/"+app.AppID+"/keys?wait=nodes", session.AccessToken, struct{}{}, &made)
	return made.Key
}

func post(t *testing.T, address, bearer string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 || json.Unmarshal(got, into) != nil {
		t.Fatalf("%s: %v, %d %s", address, err, res.StatusCode, got)
	}
}

// restart stops the node, has something done, and returns how long the node then takes until it serves.
func restart(t *testing.T, s *stack.Stack, meanwhile func()) time.Duration {
	t.Helper()
	if err := s.Halt(node); err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile()
	}
	begun := time.Now()
	if err := s.Resume(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}

func target(t *testing.T, gateway, key string) load.Target {
	t.Helper()
	to, err := load.NewTarget(gateway+"/api/v1/agent", []string{"Authorization: Bearer " + key}, []byte(`{"prompt":"Say hello."}`))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// spent is what calls cost the node over some windows.
type spent struct {
	calls     int64
	cpu, wall time.Duration
	memory    int64 // bytes, at the most
}

func (s spent) perCall() float64 { return float64(s.cpu.Nanoseconds()) / 1e3 / float64(s.calls) }

func (s spent) rate() float64 { return float64(s.calls) / s.wall.Seconds() }

// alternate measures windows without shipping and windows with it in turn, so that whatever else the machine does meets both.
func alternate(t *testing.T, g *gate, s *stack.Stack, to load.Target) (quiet, shipping spent, shipped uint64) {
	t.Helper()
	for range rounds {
		quiet.add(t, s, to)
		_, before := g.counts()
		g.set(true)
		shipping.add(t, s, to)
		g.set(false)
		_, after := g.counts()
		shipped += after - before
	}
	// The warm-ups ship too, and are not in the windows.
	return quiet, shipping, uint64(float64(shipped) * float64(window) / float64(warm+window))
}

func (s *spent) add(t *testing.T, st *stack.Stack, to load.Target) {
	t.Helper()
	r, err := load.Unary{
		Target: to, Connections: connections, WarmUp: warm, Duration: window, MinBytes: 1,
		Watch: []proc.Watched{{Name: node, Pid: st.Pid(node)}},
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Wrong() != 0 || r.Measured == 0 {
		t.Fatalf("%d of %d calls went wrong: %+v", r.Wrong(), r.Requests, r.Status)
	}
	use := r.Processes[0]
	s.calls += r.Measured
	s.cpu += time.Duration(use.CPUMicros * 1e3)
	s.wall += time.Duration(use.WallMicros * 1e3)
	s.memory = max(s.memory, use.RSSBytesAfter)
}
