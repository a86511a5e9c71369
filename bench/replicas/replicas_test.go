package replicas

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
)

const (
	patience = 90 * time.Second // with whatever happens in the background
	callWait = 30 * time.Second // more than any time limit of the control plane
	password = "a long enough password"
)

// pair is a system with two control planes.
type pair struct {
	s      *stack.Stack
	in     stack.Info
	first  string // addresses of the portals
	second string
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func call(t *testing.T, method, address, credential, body string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, address, err)
		return answer{}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, address, err)
	}
	return answer{res.StatusCode, res.Header, text}
}

// want fails the test unless the status is the wanted one, and returns the fields of the answer.
func (a answer) want(t *testing.T, status int) (fields struct {
	Token   string `json:"access_token"`
	AppID   string `json:"app_id"`
	KeyID   string `json:"key_id"`
	Key     string `json:"key"`
	Receipt *struct {
		Complete bool `json:"complete"`
	} `json:"receipt"`
	Totals struct {
		Calls int `json:"calls"`
	} `json:"totals"`
},
) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	_ = json.Unmarshal(a.body, &fields) // not every answer is an object
	return fields
}

func eventually(t *testing.T, what string, ok func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		done, state := ok()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %s", what, patience, state)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// begin starts the system, the second control plane, and attaches the second node to it. Before that, four processes migrate
// the database that is being used, at once.
func begin(t *testing.T) *pair {
	t.Helper()
	o := stacktest.Options(t)
	o.Nodes = 2
	p := &pair{s: stacktest.Run(t, o)}
	p.in = p.s.Info()
	program := filepath.Join(o.Bin, "controlplane")
	var migrating sync.WaitGroup
	for range 4 {
		migrating.Go(func() {
			if out, err := exec.CommandContext(t.Context(), program, "-config", p.in.ControlplaneConfig, "migrate").CombinedOutput(); err != nil {
				t.Errorf("migrate: %v: %s", err, out)
			}
		})
	}
	migrating.Wait()
	portal, internal, metrics := freeAddress(t), freeAddress(t), freeAddress(t)
	cmd := exec.CommandContext(t.Context(), program, "-config", p.in.ControlplaneConfig,
		"-listen", portal, "-internal-listen", internal, "-metrics-listen", metrics, "serve")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context has ended, and with it the process
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the second control plane:\n%s", log.Bytes())
		}
	})
	p.first, p.second = p.in.PortalURL, "http://"+portal
	eventually(t, "the second control plane serves", func() (bool, string) {
		res, err := http.Get(p.second + "/dev/openapi")
		if err != nil {
			return false, err.Error()
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK, res.Status
	})
	name := p.in.Nodes[1].Name
	if err := p.s.Halt(name); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(filepath.Dir(p.in.ControlplaneConfig), name+".yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "control_url:") {
			lines[i] = "control_url: http://" + internal
		}
	}
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.s.Resume(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return p
}

func register(portal, email string, t *testing.T) answer {
	t.Helper()
	return call(t, "POST", portal+"/dev/auth/register", "", fmt.Sprintf(`{"name":"Ada","email":%q,"password":%q}`, email, password))
}

// agent is a call through a node.
func (p *pair) agent(t *testing.T, node int, key string) int {
	t.Helper()
	return call(t, "POST", p.in.Nodes[node].GatewayURL+"/api/v1/agent", key, `{"prompt":"Hello"}`).status
}

func TestReplicas(t *testing.T) {
	p := begin(t)
	token := register(p.first, "pair@example.com", t).want(t, 200).Token
	app := call(t, "POST", p.second+"/dev/apps", token, `{"name":"Pair"}`).want(t, 200).AppID // a session of the one at the other
	keys := "/dev/apps/" + app + "/keys"
	t.Run("a change through one holds on the nodes of the other", func(t *testing.T) { p.changes(t, token, keys) })
	t.Run("what only one may have is given once", func(t *testing.T) { p.races(t) })
	t.Run("every mail is sent once", func(t *testing.T) { p.mails(t) })
	t.Run("calls of both nodes are counted once", func(t *testing.T) { p.counts(t, token, app, keys) })
	t.Run("a database that hangs", func(t *testing.T) { p.hangs(t, token, app, keys) })
}

func (p *pair) changes(t *testing.T, token, keys string) {
	for i, way := range []struct{ create, revoke string }{{p.first, p.first}, {p.second, p.second}, {p.first, p.second}, {p.second, p.first}} {
		made := call(t, "POST", way.create+keys+"?wait=nodes", token, "").want(t, 200)
		if made.Receipt == nil || !made.Receipt.Complete {
			t.Errorf("way %d: not all nodes have the key", i)
		}
		for n := range p.in.Nodes {
			if status := p.agent(t, n, made.Key); status != http.StatusOK {
				t.Errorf("way %d: node %d answers %d to a new key", i, n, status)
			}
		}
		call(t, "DELETE", way.revoke+keys+"/"+made.KeyID+"?wait=nodes", token, "").want(t, 200)
		for n := range p.in.Nodes {
			if status := p.agent(t, n, made.Key); status != http.StatusUnauthorized {
				t.Errorf("way %d: node %d answers %d to a revoked key", i, n, status)
			}
		}
	}
}

// both runs something at both control planes at once and returns how often it was answered with 200.
func (p *pair) both(do func(portal string) answer) (succeeded int) {
	statuses := make(chan int, 2)
	for _, portal := range []string{p.first, p.second} {
		go func() { statuses <- do(portal).status }()
	}
	for range 2 {
		if <-statuses == http.StatusOK {
			succeeded++
		}
	}
	return succeeded
}

func (p *pair) races(t *testing.T) {
	for i := range 5 {
		email := fmt.Sprintf("race-%d@example.com", i)
		if n := p.both(func(portal string) answer { return register(portal, email, t) }); n != 1 {
			t.Errorf("%s was registered %d times", email, n)
		}
	}
}

func (p *pair) mails(t *testing.T) {
	const accounts = 10
	for i := range accounts {
		portal := []string{p.first, p.second}[i%2]
		register(portal, fmt.Sprintf("mail-%d@example.com", i), t).want(t, 200)
	}
	sent := func() (all []int) {
		for i := range accounts {
			var list struct {
				Messages []json.RawMessage `json:"messages"`
			}
			a := call(t, "GET", p.in.MailboxURL+fmt.Sprintf("/api/messages?to=mail-%d@example.com", i), "", "")
			if err := json.Unmarshal(a.body, &list); err != nil {
				_ = json.Unmarshal(a.body, &list.Messages) // a plain list
			}
			all = append(all, len(list.Messages))
		}
		return all
	}
	eventually(t, "a mail for everybody", func() (bool, string) {
		all := sent()
		return !slices.Contains(all, 0), fmt.Sprint(all)
	})
	time.Sleep(3 * time.Second) // for a second delivery to show
	for i, n := range sent() {
		if n != 1 {
			t.Errorf("account %d got %d mails", i, n)
		}
	}
}

// counted waits until both control planes tell how many calls were made, which takes a moment, and no more.
func (p *pair) counted(t *testing.T, token, app string, want int) {
	t.Helper()
	for _, portal := range []string{p.first, p.second} {
		eventually(t, "the calls are counted", func() (bool, string) {
			a := call(t, "GET", portal+"/dev/apps/"+app+"/usage?days=1", token, "")
			if a.status != http.StatusOK {
				return false, string(a.body)
			}
			n := a.want(t, 200).Totals.Calls
			if n > want {
				t.Fatalf("%d calls were counted, %d made", n, want)
			}
			return n == want, strconv.Itoa(n)
		})
	}
}

func (p *pair) counts(t *testing.T, token, app, keys string) {
	const served = 8 // by changes
	key := call(t, "POST", p.first+keys+"?wait=nodes", token, "").want(t, 200).Key
	for i := range 10 {
		if status := p.agent(t, i%2, key); status != http.StatusOK {
			t.Fatalf("call %d: %d", i, status)
		}
	}
	p.counted(t, token, app, served+10)
}

// hangs stops every process of the database for a while, which is worse than its end: connections stay open and nothing answers.
func (p *pair) hangs(t *testing.T, token, app, keys string) {
	key := call(t, "POST", p.first+keys+"?wait=nodes", token, "").want(t, 200).Key
	database := p.s.Pid("database")
	if database == 0 {
		t.Skip("the database is not ours to stop")
	}
	signal := func(s syscall.Signal) {
		for _, pid := range append(children(t, database), database) {
			if err := syscall.Kill(pid, s); err != nil && pid == database {
				t.Fatal(err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	resume := sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	defer resume()
	for _, portal := range []string{p.first, p.second} {
		for range 2 {
			a := call(t, "GET", portal+"/dev/apps", token, "")
			if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
				t.Errorf("%s answers %d %s while the database hangs", portal, a.status, a.body)
			}
		}
	}
	for i := range 6 {
		if status := p.agent(t, i%2, key); status != http.StatusOK {
			t.Errorf("a node answers %d while the database hangs", status)
		}
	}
	resume()
	for _, portal := range []string{p.first, p.second} {
		eventually(t, "the control plane recovers", func() (bool, string) {
			a := call(t, "GET", portal+"/dev/apps", token, "")
			return a.status == http.StatusOK, string(a.body)
		})
	}
	p.counted(t, token, app, 8+10+6)
	p.changes(t, token, keys)
}

// children are the processes that a process started.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		child, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, child)
	}
	return pids
}
