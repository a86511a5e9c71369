package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	scriptWait    = 10 * time.Minute // of one script
	reportLineMax = 1 << 20          // bytes
	stderrShown   = 8 << 10          // bytes of what a script said when a check of it failed
)

// script is a client under test. Its model is called like it. With an argument it gets a developer of its own, whom it may spoil.
type script struct{ name, file, argument string }

// command is what runs a script.
func (s script) command(ctx context.Context, root string) (*exec.Cmd, error) {
	program, needs := filepath.Join(root, ".tools/clients/bin/python"), ".tools/clients/.stamp"
	if filepath.Ext(s.file) == ".mjs" {
		program, needs = "node", "bench/clients/node/node_modules/.stamp"
	}
	if _, err := os.Stat(filepath.Join(root, needs)); err != nil {
		return nil, fmt.Errorf("the clients are not installed: run `make clients` (%w)", err)
	}
	cmd := exec.CommandContext(ctx, program, filepath.Base(s.file), s.argument)
	cmd.Dir = filepath.Join(root, "bench/clients", filepath.Dir(s.file))
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// settings are what a script is told: keys and an app that no other script uses.
func (sys *system) settings(t *testing.T, s script) []string {
	t.Helper()
	session := sys.many
	if s.argument != "" {
		session = sys.developer(t, s.name+"@example.com", 100_000)
	}
	app, key := sys.key(t, session, 1_000_000)
	_, limited := sys.key(t, session, 1)
	_, narrow := sys.key(t, session, 1_000, "biometrix")
	_, single := sys.key(t, sys.oneCall, 1_000_000)
	return []string{
		"GATEWAY_URL=" + sys.in.GatewayURL, "PORTAL_URL=" + sys.in.PortalURL, "SIMULATOR_URL=" + sys.in.SimulatorURL,
		"SESSION=" + session, "MODEL=" + s.name, "APP_ID=" + app, "KEY=" + key,
		"LIMITED_KEY=" + limited, "NARROW_KEY=" + narrow, "SINGLE_KEY=" + single, "ROOT=" + sys.root,
	}
}

// play runs a script with its settings and makes a test of each of its checks.
func (sys *system) play(t *testing.T, s script, settings []string) {
	ctx, cancel := context.WithTimeout(t.Context(), scriptWait)
	defer cancel()
	cmd, err := s.command(ctx, sys.root)
	if err != nil {
		t.Fatal(err)
	}
	// Nothing that a library of the client would fetch from elsewhere, and no proxy between it and us.
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "LANGSMITH_TRACING=false", "NO_PROXY=*", "no_proxy=*",
		"AI_SDK_LOG_WARNINGS=false")
	cmd.Env = append(cmd.Env, settings...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var told report
	err = told.read(t, out)
	if e := cmd.Wait(); err == nil {
		err = e
	}
	if err != nil {
		t.Errorf("%s: %v", s.file, err)
	}
	for _, name := range told.missing() {
		t.Errorf("the check %q was declared and did not report", name)
	}
	if len(told.plan) == 0 {
		t.Error("no check was declared")
	}
	t.Logf("%d checks in %s", len(told.plan), time.Since(begun).Round(time.Millisecond))
	if t.Failed() {
		t.Logf("the script said:\n%s", said.Bytes()[max(0, said.Len()-stderrShown):])
	}
}

// report is what a script printed: first {"plan":[NAME, ...]}, then {"name","ok","detail"} for each.
type report struct {
	plan []string
	seen []string
}

// read makes a test of each check as it comes.
func (r *report) read(t *testing.T, from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, reportLineMax)
	for lines.Scan() {
		var line struct {
			Plan         []string
			Name, Detail string
			OK           *bool
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("the script printed %q: %w", lines.Text(), err)
		}
		switch {
		case line.Plan != nil && r.plan == nil:
			r.plan = line.Plan
		case line.OK != nil && slices.Contains(r.plan, line.Name) && !slices.Contains(r.seen, line.Name):
			r.seen = append(r.seen, line.Name)
			t.Run(line.Name, func(t *testing.T) {
				if !*line.OK {
					t.Error(strings.TrimSpace(line.Detail))
				}
			})
		default:
			return fmt.Errorf("the script printed %q, which is no check that it declared", lines.Text())
		}
	}
	return lines.Err()
}

func (r *report) missing() []string {
	var out []string
	for _, name := range r.plan {
		if !slices.Contains(r.seen, name) {
			out = append(out, name)
		}
	}
	return out
}

func TestReportsThatAreNotTaken(t *testing.T) {
	const plan = `{"plan":["a","b"]}` + "\n"
	const a, b = `{"name":"a","ok":true,"detail":""}` + "\n", `{"name":"b","ok":true,"detail":""}` + "\n"
	for _, c := range []struct {
		name, printed string
		missing       []string
		wrong         bool
	}{
		{"all", plan + a + b, nil, false},
		{"one check is missing", plan + b, []string{"a"}, false},
		{"nothing after the plan", plan, []string{"a", "b"}, false},
		{"a check that was not declared", `{"plan":["a"]}` + "\n" + a + b, nil, true},
		{"a check twice", plan + a + a, []string{"b"}, true},
		{"no plan", a, nil, true},
		{"a second plan", plan + plan, []string{"a", "b"}, true},
		{"no verdict", plan + `{"name":"a"}`, []string{"a", "b"}, true},
		{"not JSON", plan + "hello\n", []string{"a", "b"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told report
			if err := told.read(t, strings.NewReader(c.printed)); (err != nil) != c.wrong || !slices.Equal(told.missing(), c.missing) {
				t.Errorf("missing %q, %v", told.missing(), err)
			}
		})
	}
}
