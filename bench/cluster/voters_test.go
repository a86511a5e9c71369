package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

// patience bounds a change of leader or the start of a node, on a machine with much else to do.
const patience = 60 * time.Second

// trio are three voters, with a log of all that they admitted.
type trio struct {
	*stack.Stack
	t    *testing.T
	o    stack.Options
	info stack.Info

	mu       sync.Mutex
	admitted []admission
	unclear  int // calls that may have been admitted and got another answer, or none
}

func newTrio(t *testing.T, limit int) *trio {
	t.Helper()
	o := stacktest.Options(t)
	o.Nodes = 3
	var err error
	if o.PortBase, err = stack.FreePortBase(t.Context(), o.Nodes); err != nil {
		t.Fatal(err)
	}
	s := stacktest.Run(t, o)
	v := &trio{Stack: s, t: t, o: o, info: s.Info()}
	v.setLimit(limit)
	return v
}

func (v *trio) setLimit(limit int) {
	v.t.Helper()
	out, err := exec.CommandContext(v.t.Context(), filepath.Join(v.o.Bin, "controlplane"), "-config", v.info.ControlplaneConfig,
		"account", "set", v.info.Demo.Email, "--per-minute", strconv.Itoa(limit)).CombinedOutput()
	if err != nil {
		v.t.Fatalf("set the limit: %v\n%s", err, out)
	}
	for _, node := range v.info.Nodes {
		v.await(node.Name+" to know the limit", func() bool { return v.limitAt(node.GatewayURL) == limit })
	}
}

// limitAt is the limit of the key as a node has it, by a dry run, which counts nothing.
func (v *trio) limitAt(url string) int {
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, url+"/api/v1/agent", strings.NewReader(`{"prompt":"hello"}`))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+v.info.Demo.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Dry-Run", "true")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	var dry wire.DryRun
	if json.NewDecoder(res.Body).Decode(&dry) != nil {
		return 0
	}
	for _, l := range dry.Limits {
		if l.Name == "key_per_minute" {
			return int(l.Max)
		}
	}
	return 0
}

// call calls a node and notes what it admitted.
func (v *trio) call(ctx context.Context, n int) int {
	asked := time.Now()
	status := 0
	res, err := send(ctx, v.info.Nodes[n].GatewayURL, v.info.Demo.Key, `{"prompt":"hello"}`)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		status = res.StatusCode
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case status == http.StatusOK:
		v.admitted = append(v.admitted, admission{asked, time.Now()})
	case status != http.StatusTooManyRequests && !errors.Is(err, syscall.ECONNREFUSED):
		v.unclear++
	}
	return status
}

// load calls a node every gap until the function that it returns is called.
func (v *trio) load(n int, gap time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(v.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(gap); ctx.Err() == nil; <-tick.C {
			done.Go(func() { v.call(v.t.Context(), n) })
		}
	})
	return func() { cancel(); done.Wait() }
}

// quota runs an operator's command at a node.
func (v *trio) quota(n int, args ...string) (string, error) {
	config := filepath.Join(v.o.Dir, v.info.Nodes[n].Name+".yaml")
	args = append([]string{"-config", config, "quota"}, args...)
	out, err := exec.CommandContext(v.t.Context(), filepath.Join(v.o.Bin, "dataplane"), args...).CombinedOutput()
	return string(out), err
}

// metric is the value of a node's metric that has no labels, as it is written.
func (v *trio) metric(n int, name string) string {
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.info.Nodes[n].MetricsURL+"/metrics", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	for line := range strings.Lines(string(body)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// id is the node's ID in the ledger.
func (v *trio) id(n int) string {
	v.t.Helper()
	b, err := os.ReadFile(filepath.Join(v.o.Dir, v.info.Nodes[n].Name, "quota", "log", "server-id"))
	if err != nil {
		v.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// leader is the node that leads, as the node from says; -1 if it does not know.
func (v *trio) leader(from int) int {
	out, err := v.quota(from, "peers")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "Voter, leads") {
			continue
		}
		for n := range v.info.Nodes {
			if strings.HasPrefix(line, v.id(n)) {
				return n
			}
		}
	}
	return -1
}

func (v *trio) await(what string, done func() bool) {
	v.t.Helper()
	for begin := time.Now(); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Since(begin) > patience {
			v.t.Fatalf("waited too long for %s", what)
		}
	}
}

// judged reports whether the node admits or refuses a call by the ledger.
func (v *trio) judged(n int) bool {
	status := v.call(v.t.Context(), n)
	return status == http.StatusOK || status == http.StatusTooManyRequests
}

// writes sets how far the process may write into files; what exceeds it fails, as on a full disk. The hard limit stays.
func writes(t *testing.T, pid int, most uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: most, Max: ^uint64(0)}
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}

// Three voters are restarted one by one, then the leader cannot write its log, then one runs a newer build than the others.
func TestVotersThatAreTendedTo(t *testing.T) {
	t.Parallel() // most of it is waiting
	const limit = 90
	newer := newerBuild(t)
	v := newTrio(t, limit)
	v.restartOneByOne(limit)
	v.fillTheDiskOfTheLeader()
	v.mixVersions(newer())
	if most := densest(v.admitted); most > limit {
		t.Errorf("%d calls were admitted in one window, the limit is %d", most, limit)
	}
}

// restartOneByOne restarts every node while it holds leases. None is lost: the window has exactly the limit, less what nobody could tell. Only a node
// that says that the ledger did not take its leases back in time may lose some.
func (v *trio) restartOneByOne(limit int) {
	v.t.Helper()
	begun := time.Now()
	for n, node := range v.info.Nodes {
		stop := v.load(n, 40*time.Millisecond)
		time.Sleep(600 * time.Millisecond)
		if err := v.Halt(node.Name); err != nil { // with callers
			v.t.Fatal(err)
		}
		stop()
		if err := v.Resume(v.t.Context(), node.Name); err != nil {
			v.t.Fatal(err)
		}
	}
	v.t.Logf("restarted three nodes in %s, %d admitted meanwhile, %d unclear", time.Since(begun).Round(time.Millisecond), len(v.admitted), v.unclear)
	end := v.admitted[0].asked.Add(window)
	for time.Until(end) > time.Second {
		for n := range v.info.Nodes {
			v.call(v.t.Context(), n)
		}
		time.Sleep(100 * time.Millisecond)
	}
	lost := 0
	for n := range v.info.Nodes {
		lost += strings.Count(v.log(n), "leases are not given back")
	}
	n := densest(v.admitted)
	v.t.Logf("%d of %d were admitted in the window of the restarts, %d are unclear, %d nodes could not give back leases", n, limit, v.unclear, lost)
	if n > limit || (lost == 0 && n+v.unclear < limit) {
		v.t.Error("leases were lost")
	}
}

// fillTheDiskOfTheLeader has another node lead. The old leader's process goes on with leases of the others, and follows when it can write
// again.
func (v *trio) fillTheDiskOfTheLeader() {
	v.t.Helper()
	leader := -1
	v.await("a leader", func() bool { leader = v.leader(0); return leader >= 0 })
	other := (leader + 1) % len(v.info.Nodes)
	name := v.info.Nodes[leader].Name
	pid := v.Pid(name)
	stop := v.load(other, 200*time.Millisecond)
	defer stop()
	writes(v.t, pid, 1)
	v.await("another leader", func() bool { l := v.leader(other); return l >= 0 && l != leader })
	v.await("calls that are judged", func() bool { return v.judged(other) })
	v.await("the old leader to take no part", func() bool { return v.metric(leader, "modelgate_quota_stalled") == "1" })
	v.await("the old leader to lease from the new one", func() bool {
		return v.metric(leader, "modelgate_quota_live") == "1" && v.limitAt(v.info.Nodes[leader].GatewayURL) > 0
	})
	v.t.Logf("a call of the node with the full disk is answered with %d", v.call(v.t.Context(), leader))
	if v.Pid(name) != pid {
		v.t.Fatal("the process with the full disk ended")
	}
	writes(v.t, pid, ^uint64(0))
	v.await("the old leader to take part", func() bool { return v.metric(leader, "modelgate_quota_stalled") == "0" })
	v.await("the old leader to follow", func() bool {
		out, err := v.quota(other, "peers")
		return err == nil && !strings.Contains(out, "silent") && v.judged(leader)
	})
}

// mixVersions has a newer build lead: the older ones halt at its first entry, with an explanation, and apply nothing that they do not know.
// With the newer build they go on.
func (v *trio) mixVersions(newer string) {
	v.t.Helper()
	const n = 1
	if err := v.Halt(v.info.Nodes[n].Name); err != nil {
		v.t.Fatal(err)
	}
	older := filepath.Join(v.o.Bin, "dataplane.older")
	program := filepath.Join(v.o.Bin, "dataplane")
	swap := func(to string) {
		v.t.Helper()
		next := program + ".next"
		_ = os.Remove(next)
		if err := os.Link(to, next); err != nil {
			v.t.Fatal(err)
		}
		if err := os.Rename(next, program); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := os.Link(program, older); err != nil {
		v.t.Fatal(err)
	}
	copied := filepath.Join(v.o.Bin, "dataplane.newer")
	b, err := os.ReadFile(newer)
	if err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(copied, b, 0o700); err != nil {
		v.t.Fatal(err)
	}
	swap(copied)
	if err := v.Resume(v.t.Context(), v.info.Nodes[n].Name); err != nil {
		v.t.Fatal(err)
	}
	swap(older) // for the others, when they are started again
	v.await("the newer build to follow", func() bool { return v.judged(n) })
	v.await("the newer build to lead", func() bool {
		_, _ = v.quota(n, "transfer", "self")
		return v.halted(0) && v.halted(2)
	})
	swap(copied)
	for n, node := range v.info.Nodes {
		if err := v.AwaitReady(v.t.Context(), node.Name); err != nil {
			v.t.Fatal(err)
		}
		v.await("calls that are judged", func() bool { return v.judged(n) })
	}
}

// halted reports whether a node has said that it halts at an entry of the newer version.
func (v *trio) halted(n int) bool {
	return strings.Contains(v.log(n), "halt: entry has version 2; this build knows 1")
}

// log is what a node has said so far.
func (v *trio) log(n int) string {
	log, err := os.ReadFile(filepath.Join(v.o.Dir, "log", v.info.Nodes[n].Name+".log"))
	if err != nil {
		v.t.Error(err)
	}
	return string(log)
}

// newerBuild begins to build a data plane whose entries have the next version, and that knows the present one too. The function that it returns
// waits for it.
func newerBuild(t *testing.T) func() string {
	t.Helper()
	root, dir := stacktest.Root(t), t.TempDir()
	replace := map[string]string{}
	for file, change := range map[string][2]string{
		"limits.go": {"entryVersion    = 1", "entryVersion    = 2"},
		"entry.go":  {"v != entryVersion {", "v != entryVersion && v != entryVersion-1 {"},
	} {
		path := filepath.Join(root, "dataplane/internal/quota/ledger", file)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(b), change[0]) != 1 {
			t.Fatalf("%s does not have %q", file, change[0])
		}
		replace[path] = filepath.Join(dir, file)
		if err := os.WriteFile(replace[path], []byte(strings.Replace(string(b), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "dataplane")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./dataplane/cmd/dataplane")
	build.Dir = root
	var out bytes.Buffer
	build.Stdout, build.Stderr = &out, &out
	if err := build.Start(); err != nil {
		t.Fatal(err)
	}
	return func() string {
		if err := build.Wait(); err != nil {
			t.Fatalf("build: %v\n%s", err, &out)
		}
		return program
	}
}
