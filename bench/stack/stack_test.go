package stack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/shared/testkit"
)

func TestStartAndStop(t *testing.T) {
	o, out := options(t)
	order := filepath.Join(t.TempDir(), "order")
	o.Env, o.Nodes = append(o.Env, "FAKE_ORDER="+order), 2
	o.DatabaseURL = "" // a private one
	s := start(t, o)

	pids := map[string]int{}
	for _, name := range []string{"controlplane", "dataplane-1", "dataplane-2", "database", "mailbox", "stripesim", "mockmodel"} {
		pids[name] = s.Pid(name)
		if got := read(t, filepath.Join(o.Dir, "run", name+".pid")); got != fmt.Sprintln(s.Pid(name)) || !alive(s.Pid(name)) {
			t.Errorf("pid file of %s says %q, it runs as %d", name, got, s.Pid(name))
		}
	}
	var info stack.Info
	if err := json.Unmarshal([]byte(read(t, filepath.Join(o.Dir, "run", "stack.json"))), &info); err != nil {
		t.Fatal(err)
	}
	url := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", o.PortBase+port) }
	for got, want := range map[string]string{
		info.PortalURL: url(0), info.GatewayURL: url(1), info.DarwinURL: url(2), info.SimulatorURL: url(6), info.MailboxURL: url(8),
		info.MetricsURLs["controlplane"]: url(4), info.MetricsURLs["dataplane-1"]: url(5), info.MetricsURLs["dataplane-2"]: url(15),
		info.Nodes[1].GatewayURL: url(11), info.Nodes[1].Name: "dataplane-2", info.Nodes[1].Role: "client",
		info.ControlplaneConfig: filepath.Join(o.Dir, "controlplane.yaml"),
		info.Demo.Email:         "demo@modelgate.local", info.Demo.AppID: "app-1", info.Demo.Key: "svc_test_key-1",
	} {
		if got != want {
			t.Errorf("stack.json says %s, want %s", got, want)
		}
	}
	ownerOnly(t, o.Dir)
	var banner bytes.Buffer
	s.Banner(&banner)
	for _, want := range []string{
		"curl -N " + url(1) + "/api/v1/agent", "Bearer svc_test_key-1", "demo@modelgate.local  " + info.Demo.Password,
		"Answers come from a SIMULATOR, not a model. Set MODELGATE_CHAT_URL",
	} {
		if !strings.Contains(banner.String(), want) {
			t.Errorf("the banner lacks %q:\n%s", want, banner.String())
		}
	}

	s.Stop()
	for name, pid := range pids {
		if alive(pid) {
			t.Errorf("%s (process %d) outlived the stack", name, pid)
		}
	}
	if got := read(t, order); got != "dataplane-2\ndataplane-1\ncontrolplane\nstripesim\nmailbox\nmockmodel\n" {
		t.Errorf("stopped in the order\n%s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "run", "*.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if strings.Contains(out.String(), "ended") {
		t.Errorf("an ordered end was reported as a crash:\n%s", out)
	}

	again := start(t, o).Info().Demo
	if again != info.Demo {
		t.Errorf("the second run has another demo account: %+v, first %+v", again, info.Demo)
	}
}

// TestAForgottenDatabase starts on an account that is gone, and on one whose password nobody knows.
func TestAForgottenDatabase(t *testing.T) {
	o, _ := options(t)
	s := start(t, o)
	first := s.Info().Demo
	s.Stop()
	if err := os.Remove(filepath.Join(o.Dir, "fake.json")); err != nil { // the database was emptied
		t.Fatal(err)
	}
	s = start(t, o)
	second := s.Info().Demo
	s.Stop()
	if second.Password == first.Password || second.Email != first.Email || second.Key == "" {
		t.Errorf("after the account was lost: %+v", second)
	}
	if err := os.Remove(filepath.Join(o.Dir, "secrets", "demo.json")); err != nil { // the password was lost
		t.Fatal(err)
	}
	third := start(t, o).Info().Demo
	if third.Email == first.Email || !strings.HasPrefix(third.Email, "demo-") || third.Key == "" {
		t.Errorf("after the password was lost: %+v", third)
	}
}

func TestACrashIsReportedAndMended(t *testing.T) {
	o, out := options(t)
	o.DatabaseURL = ""
	s := start(t, o)
	for _, name := range []string{"dataplane-1", "database"} {
		before := s.Pid(name)
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await(t, name+" to run again", func() bool { p := s.Pid(name); return p != 0 && p != before })
		if err := s.AwaitReady(t.Context(), name); err != nil {
			t.Error(err)
		}
		if got := read(t, filepath.Join(o.Dir, "run", name+".pid")); got != fmt.Sprintln(s.Pid(name)) {
			t.Errorf("pid file of %s says %q, it runs as %d", name, got, s.Pid(name))
		}
	}
	await(t, "both reports", func() bool { return strings.Count(out.String(), "runs again") == 2 })
	for _, want := range []string{
		"dataplane-1 ended (signal: killed); " + filepath.Join(o.Dir, "log", "dataplane-1.log") + " ends:\n  here is -config",
		"starting dataplane-1 again in 200ms",
		"dataplane-1 runs again, as process " + strconv.Itoa(s.Pid("dataplane-1")),
		"database ended (signal: killed)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}

func TestHaltAndResume(t *testing.T) {
	o, _ := options(t)
	s := start(t, o)
	before := s.Pid("controlplane")
	if err := s.Halt("controlplane"); err != nil {
		t.Fatal(err)
	}
	if alive(before) {
		t.Error("the control plane still runs")
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "run", "controlplane.pid")); !os.IsNotExist(err) {
		t.Errorf("its pid file is still there: %v", err)
	}
	if err := s.Resume(t.Context(), "controlplane"); err != nil {
		t.Fatal(err)
	}
	if p := s.Pid("controlplane"); p == before || !alive(p) {
		t.Errorf("it did not come back: process %d, before %d", p, before)
	}
	if s.Halt("nonsense") == nil || s.Resume(t.Context(), "nonsense") == nil {
		t.Error("a part that does not exist was halted")
	}
}

func TestAProgramThatEndsAtItsStart(t *testing.T) {
	o, _ := options(t)
	o.Env = append(o.Env, "FAKE_BROKEN=controlplane")
	_, err := stack.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "controlplane ended at its start (exit status 1)") || !strings.Contains(err.Error(), "the fake is broken") {
		t.Fatalf("err = %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "run", "*.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestATakenPort(t *testing.T) {
	o, _ := options(t)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.PortBase+1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, err = stack.Start(t.Context(), o)
	for _, want := range []string{
		fmt.Sprintf("port %d (gateway of dataplane-1) is taken", o.PortBase+1), fmt.Sprintf("(process %d)", os.Getpid()), "MODELGATE_PORT_BASE",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

func TestASecondStackInTheSameDirectory(t *testing.T) {
	o, _ := options(t)
	s := start(t, o)
	_, err := stack.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("runs already, as process %d", os.Getpid())) {
		t.Errorf("err = %v", err)
	}
	if !alive(s.Pid("controlplane")) {
		t.Error("the first stack was harmed")
	}
}

func TestWhatIsMissing(t *testing.T) {
	o, _ := options(t)
	if err := os.Remove(filepath.Join(o.Bin, "mockmodel")); err != nil {
		t.Fatal(err)
	}
	if _, err := stack.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "mockmodel is not built: run `make build`") {
		t.Errorf("err = %v", err)
	}
	o.PortBase = 65530
	if _, err := stack.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "MODELGATE_PORT_BASE") {
		t.Errorf("err = %v", err)
	}
	o.Nodes = 10
	if _, err := stack.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "10 nodes") {
		t.Errorf("err = %v", err)
	}
}

func TestAGivenModelServerAndStripe(t *testing.T) {
	o, _ := options(t)
	o.ChatURL, o.ChatKey, o.ChatModel = "http://127.0.0.1:11434/v1", "sk-secret-word", "llama"
	o.Env = append(o.Env, "MODELGATE_STRIPE_KEY=sk_test_secret-word", "MODELGATE_STRIPE_WEBHOOK_SECRET=whsec_secret-word")
	s := start(t, o)
	if s.Pid("mockmodel") != 0 || s.Info().SimulatorURL != "" {
		t.Error("the simulator runs though a server is given")
	}
	if s.Pid("stripesim") != 0 || s.Info().StripeURL != "" {
		t.Error("the simulator of Stripe runs though a key is given")
	}
	control := read(t, filepath.Join(o.Dir, "controlplane.yaml"))
	node := read(t, filepath.Join(o.Dir, "dataplane-1.yaml"))
	for _, want := range []string{"base_url: http://127.0.0.1:11434/v1", "model: llama", "credential: chat", "simulator: false", "stripe_secret_key: env:MODELGATE_STRIPE_KEY"} {
		if !strings.Contains(control, want) {
			t.Errorf("controlplane.yaml lacks %q:\n%s", want, control)
		}
	}
	if !strings.Contains(node, "chat: env:MODELGATE_CHAT_KEY") || strings.Contains(control+node, "secret-word") {
		t.Errorf("the key is not passed by the environment alone:\n%s%s", control, node)
	}
	var banner bytes.Buffer
	s.Banner(&banner)
	if strings.Contains(banner.String(), "SIMULATOR") {
		t.Errorf("the banner speaks of a simulator:\n%s", banner.String())
	}
}

// TestNoChildOutlivesAKilledStack kills a program that runs a stack the hard way.
func TestNoChildOutlivesAKilledStack(t *testing.T) {
	o, _ := options(t)
	cmd := exec.Command(filepath.Join(o.Bin, "stack"), o.Dir)
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the banner", func() bool { return strings.Contains(out.String(), "Ctrl-C stops everything") })
	var pids []int
	files, _ := filepath.Glob(filepath.Join(o.Dir, "run", "*.pid"))
	for _, file := range files {
		pid, err := strconv.Atoi(strings.TrimSpace(read(t, file)))
		if err != nil || !alive(pid) {
			t.Errorf("%s names %d, %v", file, pid, err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 6 {
		t.Errorf("pid files: %v", files)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, pid := range pids {
		await(t, fmt.Sprintf("process %d to be gone", pid), func() bool { return !alive(pid) })
	}
	start(t, o) // what it left is no obstacle
}

// options are those of a stack of fakes in a temporary directory.
func options(t *testing.T) (stack.Options, *output) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"controlplane", "dataplane", "mockmodel", "mailbox", "stripesim", "stack"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	base, err := stack.FreePortBase(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	temporary := ""
	if os.Geteuid() == 0 {
		temporary = "/tmp" // where the user that runs PostgreSQL may go
	}
	dir, err := os.MkdirTemp(temporary, "stack-test-") //nolint:usetesting // only root may enter what TempDir makes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out := &output{}
	return stack.Options{
		Dir: filepath.Join(dir, "stack"), Bin: bin, PortBase: base, DatabaseURL: testkit.Database(t), Out: out,
		Env: []string{"GORACE=atexit_sleep_ms=0"}, // the fakes end at once under -race too
	}, out
}

func start(t *testing.T, o stack.Options) *stack.Stack {
	t.Helper()
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// ownerOnly checks that nobody else may read what a stack keeps.
func ownerOnly(t *testing.T, dir string) {
	t.Helper()
	for _, part := range []string{".", "run", "log", "secrets"} {
		entries, err := os.ReadDir(filepath.Join(dir, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err == nil && info.Mode().Type() == fs.FileMode(0) && info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %s", filepath.Join(dir, part, entry.Name()), info.Mode())
			}
		}
	}
}

// output collects what several goroutines write.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited too long for %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
