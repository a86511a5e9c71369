package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

const (
	freshKeys   = 1000 // keys that are made and used, or what FRESH_KEYS says
	freshOthers = 15   // changes of every other kind, each way
)

// fresh is a developer of a system of five nodes, who makes things and uses them in the next line.
type fresh struct {
	t       *testing.T
	s       *stack.Stack
	in      stack.Info
	bin     string
	session string
	app     string
	took    []time.Duration // of the changes
	refused map[string]int  // answers to what was just made that are not those wanted, by what they are
}

// reached is what an answer says of the nodes.
type reached struct {
	KeyID   string `json:"key_id"`
	AppID   string `json:"app_id"`
	Key     string `json:"key"`
	Token   string `json:"token"`
	Access  string `json:"access_token"`
	Receipt struct {
		Complete bool               `json:"complete"`
		WaitedMS int64              `json:"waited_ms"`
		Nodes    []wire.NodeApplied `json:"nodes"`
		Missing  []wire.NodeMissing `json:"missing"`
	} `json:"receipt"`
}

// TestWhatWasJustMadeWorks makes keys, tokens, scopes and limits and uses each of them in the next line, at every one of five nodes. None is
// refused, and none needs to be asked for twice. Then one node stands still, and the others go on as before.
func TestWhatWasJustMadeWorks(t *testing.T) {
	o := stacktest.Options(t)
	o.Nodes = 5
	var err error
	if o.PortBase, err = stack.FreePortBase(t.Context(), o.Nodes); err != nil {
		t.Fatal(err)
	}
	f := &fresh{t: t, s: stacktest.Run(t, o), bin: o.Bin, refused: make(map[string]int)}
	f.in = f.s.Info()
	const email = "fresh@example.com"
	f.session = f.ask("POST", "/dev/auth/register", wire.RegisterRequest{Name: "Ada", Email: email, Password: "a long enough password"}).Access
	f.operator("account", "set", email, "--plan", "enterprise", "--per-minute", "100000", "--per-day", "1000000")
	f.app = f.ask("POST", "/dev/apps", map[string]any{"name": "Fresh", "rate_limit": 1_000_000}).AppID
	for _, step := range []struct {
		name string
		take func()
	}{
		{"keys", f.keys},
		{"values", f.values},
		{"tokens", f.tokens},
		{"scopes", f.scopes},
		{"limits", f.limits},
		{"an account's limits", func() { f.accountLimits(email) }},
		{"a node that stands still", f.oneStandsStill},
	} {
		f.took = nil
		clear(f.refused)
		began := time.Now()
		step.take()
		slices.Sort(f.took)
		if n := len(f.took); n > 0 {
			t.Logf("%s: %d changes in %s, p50 %s, p95 %s, most %s", step.name, n, time.Since(began).Round(time.Second),
				f.took[n/2].Round(time.Millisecond), f.took[n*95/100].Round(time.Millisecond), f.took[n-1].Round(time.Millisecond))
		}
		for what, n := range f.refused {
			t.Errorf("%s: %d times %s", step.name, n, what)
		}
	}
}

// keys makes keys and uses each at every node.
func (f *fresh) keys() {
	n := freshKeys
	if text := os.Getenv("FRESH_KEYS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			f.t.Fatalf("FRESH_KEYS: %v", err)
		}
	}
	for i := range n {
		key := f.change("POST", "/dev/apps/"+f.app+"/keys", nil)
		for j := range f.in.Nodes {
			f.use((i+j)%len(f.in.Nodes), key.Key, http.StatusOK)
		}
		f.ask("DELETE", "/dev/apps/"+f.app+"/keys/"+key.KeyID+"?wait=none", nil)
	}
}

// values gives a key new values, and switches its app off and on.
func (f *fresh) values() {
	key := f.change("POST", "/dev/apps/"+f.app+"/keys", nil)
	for range freshOthers {
		next := f.change("POST", "/dev/apps/"+f.app+"/keys/"+key.KeyID+"/regenerate", nil)
		f.everywhere(next.Key, http.StatusOK)
		f.everywhere(key.Key, http.StatusUnauthorized)
		key = next
		f.change("PUT", "/dev/apps/"+f.app, map[string]any{"active": false})
		f.everywhere(key.Key, http.StatusUnauthorized)
		f.change("PUT", "/dev/apps/"+f.app, map[string]any{"active": true})
		f.everywhere(key.Key, http.StatusOK)
	}
}

// tokens makes Darwin tokens, and stream tokens for keys that nobody has waited for.
func (f *fresh) tokens() {
	for i := range 5 { // stream tokens have a pace of their own
		token := f.change("POST", "/dev/darwin-tokens", map[string]any{"name": strconv.Itoa(i)})
		f.count(f.in.DarwinURL, token.Key, http.StatusServiceUnavailable) // the node knows the token; a simulator does not answer it
		key := f.ask("POST", "/dev/apps/"+f.app+"/keys?wait=none", nil)
		stream := f.change("GET", "/dev/config/stream-key?app_id="+f.app+"&key_id="+key.KeyID, nil)
		f.everywhere(stream.Token, http.StatusOK)
	}
}

// scopes takes a task from an app and gives it back.
func (f *fresh) scopes() {
	key := f.change("POST", "/dev/apps/"+f.app+"/keys", nil)
	for range freshOthers {
		f.change("PUT", "/dev/apps/"+f.app, map[string]any{"tasks": []string{"mood"}})
		f.everywhere(key.Key, http.StatusForbidden)
		f.change("PUT", "/dev/apps/"+f.app, map[string]any{"tasks": []string{}})
		f.everywhere(key.Key, http.StatusOK)
	}
}

// limits uses up an app's limit and raises it. After it was lowered a node may still spend the tokens that it leased before, which count.
func (f *fresh) limits() {
	key := f.change("POST", "/dev/apps/"+f.app+"/keys", nil)
	f.everywhere(key.Key, http.StatusOK)
	for range freshOthers {
		f.change("PUT", "/dev/apps/"+f.app, map[string]any{"rate_limit": 1})
		for _, node := range f.in.Nodes {
			for began := time.Now(); call(f.t.Context(), node.GatewayURL, key.Key) == http.StatusOK; {
				if time.Since(began) > planPatience {
					f.t.Fatalf("%s does not follow to 1 a minute", node.Name)
				}
			}
		}
		f.change("PUT", "/dev/apps/"+f.app, map[string]any{"rate_limit": 1_000_000})
		f.everywhere(key.Key, http.StatusOK)
	}
}

// accountLimits changes those of an account by the operator's command, which waits as well.
func (f *fresh) accountLimits(email string) {
	key := f.change("POST", "/dev/apps/"+f.app+"/keys", nil)
	for _, perMinute := range []string{"70001", "70002", "70003"} {
		if out := f.operator("account", "set", email, "--per-minute", perMinute); !strings.Contains(out, `"complete": true`) {
			f.refused["incomplete: "+out]++
		}
		for _, node := range f.in.Nodes {
			res, err := send(f.t.Context(), node.GatewayURL, key.Key, `{"prompt":""}`)
			if err != nil {
				f.t.Fatal(err)
			}
			_ = res.Body.Close()
			if policy := res.Header.Get("Ratelimit-Policy"); !strings.Contains(policy, "q="+perMinute+";") {
				f.refused[fmt.Sprintf("%d with %s instead of %s", res.StatusCode, policy, perMinute)]++
			}
		}
	}
}

// oneStandsStill stops a node. Changes are answered, say which node lacks them, and hold on the others at once. When the node runs
// again it is waited for again.
func (f *fresh) oneStandsStill() {
	last := slices.IndexFunc(f.in.Nodes, func(n stack.Node) bool { return n.Role == "client" })
	still, pid := f.in.Nodes[last], f.s.Pid(f.in.Nodes[last].Name)
	signal(f.t, pid, syscall.SIGSTOP)
	for i := range 5 {
		key := f.ask("POST", "/dev/apps/"+f.app+"/keys", nil)
		r := key.Receipt
		f.t.Logf("with %s standing still change %d waited %d ms", still.Name, i+1, r.WaitedMS)
		if r.Complete || len(r.Nodes) != 4 || len(r.Missing) != 1 || r.Missing[0].Name != still.Name || !r.Missing[0].Live {
			f.refused[fmt.Sprintf("receipt %+v", r)]++
		}
		for n := range f.in.Nodes {
			if n != last {
				f.use(n, key.Key, http.StatusOK)
			}
		}
	}
	signal(f.t, pid, syscall.SIGCONT)
	for began := time.Now(); ; {
		key := f.ask("POST", "/dev/apps/"+f.app+"/keys", nil)
		if key.Receipt.Complete {
			f.everywhere(key.Key, http.StatusOK)
			return
		}
		if time.Since(began) > planPatience {
			f.t.Fatalf("%s is not back: %+v", still.Name, key.Receipt)
		}
	}
}

// change asks for a change, which must be complete, and notes how long the answer took.
func (f *fresh) change(method, path string, body any) reached {
	f.t.Helper()
	began := time.Now()
	got := f.ask(method, path, body)
	f.took = append(f.took, time.Since(began))
	if !got.Receipt.Complete || len(got.Receipt.Nodes) != len(f.in.Nodes) {
		f.refused[fmt.Sprintf("%s %s incomplete: missing %+v", method, path, got.Receipt.Missing)]++
	}
	return got
}

// everywhere makes a call at every node.
func (f *fresh) everywhere(key string, want int) {
	f.t.Helper()
	for n := range f.in.Nodes {
		f.use(n, key, want)
	}
}

func (f *fresh) use(n int, key string, want int) {
	f.t.Helper()
	f.count(f.in.Nodes[n].GatewayURL, key, want)
}

func (f *fresh) count(url, key string, want int) {
	f.t.Helper()
	res, err := send(f.t.Context(), url, key, `{"prompt":"hello"}`)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Error(err)
	}
	if res.StatusCode != want {
		f.refused[fmt.Sprintf("%d instead of %d: %s", res.StatusCode, want, text)]++
	}
}

// ask makes a request at the portal that must succeed.
func (f *fresh) ask(method, path string, body any) (got reached) {
	f.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, f.in.PortalURL+path, strings.NewReader(string(text)))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(answer, &got)
	}
	if err != nil || res.StatusCode != http.StatusOK {
		f.t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, answer, err)
	}
	return got
}

func (f *fresh) operator(args ...string) string {
	f.t.Helper()
	out, err := exec.CommandContext(f.t.Context(), filepath.Join(f.bin, "controlplane"),
		append([]string{"-config", f.in.ControlplaneConfig}, args...)...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}
