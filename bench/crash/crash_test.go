package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

const (
	killsShort    = 6
	callersAtOnce = 12
	pauseMax      = 500 * time.Millisecond // of load before a kill
	settleTime    = 2 * time.Minute        // for everything to be shipped at the end
)

// TestEveryCallIsCountedOnce is described in the package's comment.
func TestEveryCallIsCountedOnce(t *testing.T) {
	kills, seed := killsShort, rand.Uint64()
	number(t, "CRASH_KILLS", func(n uint64) { kills = int(n) })
	number(t, "CRASH_SEED", func(n uint64) { seed = n })
	t.Logf("CRASH_SEED=%d, %d kills", seed, kills)
	p, address := newTap(t, seed, os.Getenv("CRASH_SABOTAGE"))
	sys := start(t, p, address)

	c := &callers{url: sys.in.GatewayURL, key: sys.key, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callersAtOnce}}, calls: map[string]seen{}}
	ctx, cancel := context.WithCancel(t.Context())
	var (
		busy sync.WaitGroup
		next atomic.Int64
	)
	for range callersAtOnce {
		busy.Go(func() {
			for ctx.Err() == nil {
				c.call(int(next.Add(1)))
			}
		})
	}
	served := &served{sys: sys, by: map[string]int{}}
	busy.Go(func() {
		for ctx.Err() == nil {
			served.look(t)
			time.Sleep(200 * time.Millisecond)
		}
	})
	killed := sys.kill(t, kills, rand.New(rand.NewPCG(seed, 1)))
	time.Sleep(pauseMax)
	cancel()
	busy.Wait()
	served.look(t)

	conclude(t, sys, p, c.calls, served.by)
	t.Logf("killed: %v; deliveries: %v; callers saw: %v; refused: %v", killed, p.done, count(c.calls), refusals(c.calls))
}

func number(t *testing.T, name string, set func(uint64)) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	set(n)
}

// system is a running stack whose node sees the control plane through the tap.
type system struct {
	s       *stack.Stack
	in      stack.Info
	session string
	app     string
	key     string // of the app, without limits that matter
}

func start(t *testing.T, p *tap, address string) *system {
	t.Helper()
	o := stacktest.Options(t)
	o.Fsync = true // a database that is killed must have what it said that it has
	o.LogLevel = "warn"
	o.Env = append(o.Env, "MODELGATE_DATAPLANE_CONTROL_URL="+address)
	var err error
	if p.target, err = url.Parse(fmt.Sprintf("http://127.0.0.1:%d", o.PortBase+3)); err != nil {
		t.Fatal(err)
	}
	sys := &system{s: stacktest.Run(t, o)}
	sys.in = sys.s.Info()
	demo := sys.in.Demo
	raise := exec.CommandContext(t.Context(), filepath.Join(o.Bin, "controlplane"), "-config", sys.in.ControlplaneConfig,
		"account", "set", demo.Email, "--plan", "enterprise", "--per-minute", "1000000", "--per-day", "100000000", "--verified")
	if out, err := raise.CombinedOutput(); err != nil {
		t.Fatalf("raise the limits: %v\n%s", err, out)
	}
	must(t, sys.login())
	var app wire.App
	must(t, ask(http.MethodPost, sys.in.PortalURL+"/dev/apps", sys.session, wire.CreateAppRequest{
		Name: "Crash", Environment: "test", Families: []string{"darwin"}, Tasks: []string{}, RateLimit: 1_000_000,
	}, &app))
	var key wire.NewKey
	must(t, ask(http.MethodPost, sys.in.PortalURL+"/dev/apps/"+app.AppID+"/keys?wait=nodes", sys.session, nil, &key))
	sys.app, sys.key = app.AppID, key.Key
	return sys
}

// login begins a session. One does not last as long as a run may.
func (sys *system) login() error {
	var session wire.Session
	demo := sys.in.Demo
	err := ask(http.MethodPost, sys.in.PortalURL+"/dev/auth/login", "", wire.LoginRequest{Email: demo.Email, Password: demo.Password}, &session)
	sys.session = session.AccessToken
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kill kills parts at random and has each started again at once. It returns how often each was killed.
func (sys *system) kill(t *testing.T, kills int, random *rand.Rand) map[string]int {
	t.Helper()
	parts := []string{"dataplane-1", "dataplane-1", "controlplane"}
	if sys.s.Pid("database") != 0 { // one that DATABASE_URL names is not ours to kill
		parts = append(parts, "database")
	}
	killed := map[string]int{}
	for n := range kills {
		time.Sleep(time.Duration(random.Int64N(int64(pauseMax))))
		name := parts[random.IntN(len(parts))]
		if n < len(parts) { // each of them in every run
			name = parts[n]
		}
		pid := sys.s.Pid(name)
		if pid == 0 {
			t.Fatalf("kill %d: %s is down", n, name)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed[name]++
		for begun := time.Now(); sys.s.Pid(name) == pid && time.Since(begun) < 30*time.Second; {
			time.Sleep(5 * time.Millisecond)
		}
		if err := sys.s.Resume(t.Context(), name); err != nil {
			t.Fatalf("after kill %d: %v", n, err)
		}
	}
	return killed
}

// served is what the model server saw.
type served struct {
	sys   *system
	since int64
	by    map[string]int // attempts by call
}

var callID = regexp.MustCompile(`call-\d{6}`)

// look reads what came since the last look, which must not have been forgotten meanwhile.
func (s *served) look(t *testing.T) {
	t.Helper()
	var got struct {
		Last     int64 `json:"last"`
		Requests []struct {
			Seq  int64  `json:"seq"`
			Body string `json:"body"`
		} `json:"requests"`
	}
	if err := ask(http.MethodGet, s.sys.in.SimulatorURL+"/_mock/requests?since="+strconv.FormatInt(s.since, 10), "", nil, &got); err != nil {
		t.Errorf("look at the model server: %v", err)
		return
	}
	if len(got.Requests) > 0 && got.Requests[0].Seq > s.since+1 && s.since > 0 {
		t.Errorf("the model server forgot requests %d to %d", s.since+1, got.Requests[0].Seq-1)
	}
	for _, r := range got.Requests {
		if id := callID.FindString(r.Body); id != "" {
			s.by[id]++
		}
	}
	s.since = got.Last
}

// conclude waits until everything is shipped and judges.
func conclude(t *testing.T, sys *system, p *tap, calls map[string]seen, served map[string]int) {
	t.Helper()
	must(t, sys.login())
	var (
		usage wire.AppUsage
		err   error
	)
	for begun := time.Now(); ; time.Sleep(250 * time.Millisecond) {
		usage, err = sys.usage()
		if err == nil && len(judge(calls, served, p.seen())) == 0 && differs(&usage, p) == "" || time.Since(begun) > settleTime {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, wrong := range judge(calls, served, p.seen()) {
		if i < 20 {
			t.Error(wrong)
		}
	}
	if why := differs(&usage, p); why != "" {
		t.Error(why)
	}
	if usage.Drift != 0 {
		t.Errorf("drift: %d", usage.Drift)
	}
	ends := map[string]int{}
	for _, records := range p.seen() {
		ends[records[0].End]++
	}
	t.Logf("%d calls, %d of them seen by the model server, %d counted, drift: %d; they ended: %v", len(calls), len(served), usage.Totals.Calls, usage.Drift, ends)
	if ends[plane.EndNodeCrash] == 0 || ends[plane.EndDone] == 0 || ends[plane.EndClientGone] == 0 {
		t.Error("the run shows nothing: it had no call that was cut, none that was left, or none that was answered")
	}
}

// differs says what the portal shows that is not the sum of the records.
func differs(usage *wire.AppUsage, p *tap) string {
	var calls, in, out int64
	ends := map[string]int64{}
	for _, records := range p.seen() {
		for _, r := range records {
			calls++
			in += r.TokensIn
			out += r.TokensOut
			ends[r.End]++
		}
	}
	shown := map[string]int64{}
	for _, s := range usage.ByStatus {
		for end, n := range s.Ends {
			shown[end] += n
		}
	}
	if usage.Totals.Calls == calls && usage.Totals.TokensIn == in && usage.Totals.TokensOut == out && maps.Equal(shown, ends) {
		return ""
	}
	return fmt.Sprintf("the portal shows %+v %v; the records are %d calls, %d tokens in, %d out, %v", usage.Totals, shown, calls, in, out, ends)
}

func (sys *system) usage() (usage wire.AppUsage, err error) {
	err = ask(http.MethodGet, sys.in.PortalURL+"/dev/apps/"+sys.app+"/usage?days=2", sys.session, nil, &usage)
	return usage, err
}

func count(calls map[string]seen) map[string]int {
	n := map[string]int{}
	for _, s := range calls {
		n[s.how]++
	}
	return n
}

// refusals says how often calls were refused for what.
func refusals(calls map[string]seen) map[string]int {
	n := map[string]int{}
	for _, s := range calls {
		if s.how == refused {
			n[s.why]++
		}
	}
	return n
}

func ask(method, url, bearer string, body, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
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
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %d: %s", method, url, res.StatusCode, got)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(got, answer)
}
