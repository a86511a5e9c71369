package scale

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
)

// cpuTick is the unit of the times in /proc/PID/stat, which Linux fixes at a hundredth of a second.
const cpuTick = 10 * time.Millisecond

// joins has a node forget everything and waits until it serves with all keys.
func joins(t *testing.T, s *stack.Stack, o stack.Options, keys int) {
	t.Helper()
	const name = "dataplane-1"
	if err := s.Halt(name); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(o.Dir, name, "index.db")
	for _, file := range []string{index, index + "-wal", index + "-shm"} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(index); err == nil {
		t.Fatal("the node's index is still there")
	}
	log := filepath.Join(o.Dir, "log", name+".log")
	before, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	controlplane, database := cpu(t, s.Pid("controlplane")), children(t, s.Pid("database"))
	begun := time.Now()
	err = s.Resume(t.Context(), name)
	for err != nil && time.Since(begun) < joinPatience { // to know how long it takes where it takes too long
		t.Log(err)
		err = s.AwaitReady(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	took, each := time.Since(begun), time.Duration(keys)
	ofNode, ofControl, ofDatabase := cpu(t, s.Pid(name)), cpu(t, s.Pid("controlplane"))-controlplane, children(t, s.Pid("database"))-database
	t.Logf("a node without a past serves %d keys after %s; for each key the node used %s of CPU, the control plane %s, the database %s",
		keys, took.Round(time.Millisecond), ofNode/each, ofControl/each, ofDatabase/each)
	// What other programs take from the processors lengthens the wait and not this.
	if least := (ofNode + ofControl + ofDatabase) / cores; least > joinWithin {
		t.Errorf("joining takes %s on %d processors that do nothing else, promised are %s", least, cores, joinWithin)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text[before.Size():])) {
		if strings.Contains(line, "level=") {
			t.Log(strings.TrimSpace(line))
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Pid(name)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM") {
			t.Log("the node:", strings.TrimSpace(line))
		}
	}
	if took > joinWithin {
		t.Errorf("joining took %s, promised are %s", took, joinWithin)
	}
}

// cpu is the time that a process has used so far, in its own code and the kernel's; proc(5) describes the fields.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		t.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * cpuTick
}

// children is the CPU time of a process's children that run: those of a database are its connections.
func children(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				sum += cpu(t, child)
			}
		}
	}
	return sum
}

// revokes makes keys that every node serves, revokes each, and measures until every node has answered 401 with it. The calls
// begin when the control plane says that all nodes know, so what is measured is never shorter than the truth.
func revokes(t *testing.T, in stack.Info, session string) {
	t.Helper()
	var list struct {
		Apps []struct {
			ID string `json:"app_id"`
		} `json:"apps"`
	}
	text, _ := call(t, "GET", in.PortalURL+"/dev/apps", session, "")
	if err := json.Unmarshal(text, &list); err != nil || len(list.Apps) == 0 {
		t.Fatalf("no app: %s %v", text, err)
	}
	took := make([]time.Duration, 0, revocations)
	for range revocations {
		var made struct {
			ID  string `json:"key_id"`
			Key string `json:"key"`
		}
		keys := in.PortalURL + "/dev/apps/" + list.Apps[0].ID + "/keys"
		text, _ := call(t, "POST", keys+"?wait=nodes", session, "")
		if err := json.Unmarshal(text, &made); err != nil {
			t.Fatal(err)
		}
		for _, n := range in.Nodes {
			if status := listModels(t, n, made.Key); status != http.StatusOK {
				t.Fatalf("%s answers %d to a new key", n.Name, status)
			}
		}
		begun := time.Now()
		text, _ = call(t, "DELETE", keys+"/"+made.ID+"?wait=nodes", session, "")
		for _, n := range in.Nodes {
			if status := listModels(t, n, made.Key); status != http.StatusUnauthorized {
				t.Fatalf("%s answers %d to a revoked key after %s", n.Name, status, text)
			}
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	t.Logf("revoked until 401 on %d nodes: p50 %s, p99 %s, longest %s of %d", len(in.Nodes), p50, p99, took[len(took)-1], len(took))
	if p99 > revokeWithin {
		t.Errorf("revocations: p99 %s, promised are %s", p99, revokeWithin)
	}
}

// listModels is a call that reaches no model.
func listModels(t *testing.T, n stack.Node, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.GatewayURL+"/api/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
