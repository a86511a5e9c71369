package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// buffer may be written by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// setup writes secrets and a configuration for a database of its own and returns the file and the addresses of the portal,
// the internal listener and the metrics.
func setup(t *testing.T) (file, portal, internal, metrics string) {
	t.Helper()
	dir := t.TempDir()
	mustRun(t, "keygen", dir)
	addresses := freeAddresses(t, 3)
	file = filepath.Join(dir, "controlplane.yaml")
	text := fmt.Sprintf(`listen: %s
internal_listen: %s
metrics_listen: %s
database_url: %q
key_encryption_key: file:%[5]s/key_encryption_key
key_pepper: file:%[5]s/key_pepper
session_key: file:%[5]s/session_key
join_token: file:%[5]s/join_token
models:
  - {id: Darwin, family: darwin, tasks: [conversation], upstream: both, setting: MODELGATE_CHAT_URL}
upstreams:
  - {id: chat, dialect: chat, base_url: "http://127.0.0.1:9/v1", model: mock, simulator: true}
  - id: spare
    dialect: chat
    base_url: http://127.0.0.1:10/v1
    model: mock
    simulator: true
    concurrency: 100
    breaker: {failures: 3, back_off_ms: 500}
    health: {path: /health}
pools:
  - id: both
    policy: round_robin
    members: [{upstream: chat, weight: 3}, {upstream: spare}]
    retry: {attempts: 2}
`, addresses[0], addresses[1], addresses[2], testkit.Database(t), dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, "http://" + addresses[0], "http://" + addresses[1], "http://" + addresses[2]
}

func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	var addresses []string
	for range n {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

func runCommand(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errOut buffer
	err = command(ctx, args, &out, &errOut)
	return out.String(), errOut.String(), err
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := runCommand(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, stderr)
	}
	return stdout
}

func get(ctx context.Context, url string) (int, string) {
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return 0, err.Error()
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(body)
}

func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 30 s in vain: %s", what)
		}
	}
}

func TestServeAndOperate(t *testing.T) {
	file, portal, internal, metrics := setup(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log buffer
	ended := make(chan error, 1)
	go func() { ended <- command(ctx, []string{"-config", file, "serve"}, io.Discard, &log) }()

	// Alive but not ready until somebody migrates, then ready without a restart.
	await(t, "alive", func() bool { status, _ := get(ctx, metrics+"/healthz"); return status == 200 })
	if status, body := get(ctx, metrics+"/readyz"); status != 503 {
		t.Errorf("ready before the database is migrated: %d %s", status, body)
	}
	if out, _, err := runCommand(ctx, "-config", file, "check"); err == nil || !strings.Contains(err.Error(), "controlplane migrate") {
		t.Errorf("check before migrating: %v %s", err, out)
	}
	mustRun(t, "-config", file, "migrate")
	for status := 0; status != 200 && t.Context().Err() == nil; { // without a pause, to meet the moment between ready and serving
		status, _ = get(ctx, metrics+"/readyz")
	}
	for _, address := range []string{portal, internal} {
		if status, problem := get(ctx, address+"/"); status == 0 {
			t.Errorf("ready before %s is open: %s", address, problem)
		}
	}
	await(t, "serving", func() bool { return strings.Contains(log.String(), "serving") })
	if out := mustRun(t, "-config", file, "check"); !strings.HasSuffix(out, "ok\n") {
		t.Errorf("check: %s", out)
	}

	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("correct horse battery\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "-config", file, "account", "create", "Demo@Example.com", "--name", "Demo", "--password-file", password)
	if _, _, err := runCommand(ctx, "-config", file, "account", "create", "demo@example.com", "--name", "Demo", "--password-file", password); err == nil {
		t.Error("the address was registered twice")
	}

	token := login(t, portal, "demo@example.com", "correct horse battery")
	if limits := ask[wire.Limits](t, "GET", portal+"/dev/limits", token, ""); limits.Minute.Limit != 30 || limits.Plan != "free" {
		t.Errorf("limits: %+v", limits)
	}
	made := ask[wire.App](t, "POST", portal+"/dev/apps", token, `{"name":"Bot","environment":"live"}`)
	key := ask[wire.NewKey](t, "POST", portal+"/dev/apps/"+made.AppID+"/keys", token, "")
	heard := follow(ctx, t, internal, filepath.Join(filepath.Dir(file), "join_token"))
	hears(t, heard, key.KeyID, 30, 100)

	out := mustRun(t, "-config", file, "account", "set", "demo@example.com", "--plan", "pro", "--per-minute", "777", "--verified")
	var shown shownAccount
	if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.Plan != "pro" || shown.PerMinute != 777 || shown.PerDay != 10_000 || shown.VerifiedAt == nil {
		t.Errorf("after set: %v %s", err, out)
	}
	hears(t, heard, key.KeyID, 777, 10_000)
	if limits := ask[wire.Limits](t, "GET", portal+"/dev/limits", token, ""); limits.Minute.Limit != 777 || limits.Plan != "pro" {
		t.Errorf("the running server says %+v", limits)
	}
	if r := shown.Receipt; r == nil || !r.Complete || !slices.Equal(r.Nodes, []string{"test-1"}) {
		t.Errorf("after set the node follows: %+v", r)
	}
	var again shownAccount
	shown.Receipt = nil
	if err := json.Unmarshal([]byte(mustRun(t, "-config", file, "account", "show", "demo@example.com")), &again); err != nil || !reflect.DeepEqual(again, shown) {
		t.Errorf("show says %+v, set said %+v: %v", again, shown, err)
	}
	mustRun(t, "-config", file, "account", "set", "demo@example.com", "--plan", "enterprise")
	team := ask[wire.OrgDetail](t, "POST", portal+"/dev/org", token, `{"name":"Team"}`)
	if out := mustRun(t, "-config", file, "org", "set", team.OrgID, "--per-minute", "40", "--in-flight", "3"); !strings.Contains(out, `"per_minute": 40`) {
		t.Errorf("after org set: %s", out)
	}
	if limits := ask[wire.Limits](t, "GET", portal+"/dev/limits", token, ""); limits.Organization == nil || limits.Organization.Minute.Limit != 40 {
		t.Errorf("the running server says %+v", limits.Organization)
	}
	if out := mustRun(t, "-config", file, "org", "set", team.OrgID, "--per-minute", "0"); !strings.Contains(out, `"per_minute": 5000`) ||
		!strings.Contains(out, `"in_flight": 3`) {
		t.Errorf("back to the plan's: %s", out)
	}
	if _, _, err := runCommand(ctx, "-config", file, "org", "set", "org_none", "--per-day", "5"); err == nil || !strings.Contains(err.Error(), "no such organization") {
		t.Errorf("an unknown organization was changed: %v", err)
	}
	mustRun(t, "-config", file, "account", "set", "demo@example.com", "--plan", "pro")
	if out := mustRun(t, "-config", file, "account", "set", "demo@example.com", "--per-minute", "0"); !strings.Contains(out, `"per_minute": 500`) {
		t.Errorf("back to the plan's: %s", out)
	}
	if out := mustRun(t, "-config", file, "nodes"); !strings.HasPrefix(out, "NAME") {
		t.Errorf("nodes: %s", out)
	}
	if out := mustRun(t, "-config", file, "nodes", "--json"); !strings.Contains(out, `"name": "test-1"`) || !strings.Contains(out, `"live": true`) {
		t.Errorf("nodes: %s", out)
	}
	mustRun(t, "-config", file, "nodes", "forget", "test-1")
	if out := mustRun(t, "-config", file, "nodes"); !strings.Contains(out, "forgotten") {
		t.Errorf("nodes: %s", out)
	}
	if status, body := get(ctx, metrics+"/metrics"); status != 200 || !strings.Contains(body, `modelgate_portal_answers_total{operation="limits",status="200"}`) {
		t.Errorf("metrics: %d", status)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("serve ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("serve did not stop")
	}
}

func login(t *testing.T, portal, email, password string) string {
	t.Helper()
	body, err := json.Marshal(wire.LoginRequest{Email: email, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", portal+"/dev/auth/login", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return answer[wire.Session](t, r).AccessToken
}

// follow joins as a node that acknowledges every mark, and returns the keys that it is told about.
func follow(ctx context.Context, t *testing.T, internal, tokenFile string) <-chan plane.Principal {
	t.Helper()
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	identity := ask[plane.JoinAnswer](t, "POST", internal+plane.JoinPath, strings.TrimSpace(string(token)), `{"name":"test-1","build":"test"}`)
	r, err := http.NewRequestWithContext(ctx, "GET", internal+plane.ConfigPath+"?epoch=0&version=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+identity.Secret)
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("config stream: %v %v", res, err)
	}
	heard := make(chan plane.Principal, 16)
	go func() {
		defer func() { _ = res.Body.Close() }()
		defer close(heard)
		z, err := zstd.NewReader(res.Body)
		if err != nil {
			return
		}
		defer z.Close()
		for d := json.NewDecoder(z); ; {
			var m plane.Message
			if err := d.Decode(&m); err != nil {
				return
			}
			var p plane.Principal
			if m.Change != nil && m.Change.Kind == plane.KindKey && json.Unmarshal(m.Change.Body, &p) == nil {
				heard <- p
			}
			if m.Mark != nil {
				acknowledge(ctx, t, internal, identity.Secret, *m.Mark)
			}
		}
	}()
	return heard
}

func acknowledge(ctx context.Context, t *testing.T, internal, secret string, at plane.Cursor) {
	t.Helper()
	body := fmt.Sprintf(`{"epoch":%d,"version":%d,"keys_held":1,"build":"test"}`, at.Epoch, at.Version)
	r, err := http.NewRequestWithContext(ctx, "POST", internal+plane.AckPath, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(r)
	if ctx.Err() != nil {
		return // the test is over
	}
	if err != nil {
		t.Errorf("acknowledge: %v", err)
		return
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("acknowledge: %s", res.Status)
	}
}

// hears waits until the node is told that a key has these limits.
func hears(t *testing.T, heard <-chan plane.Principal, keyID string, perMinute, perDay int64) {
	t.Helper()
	patience := time.After(30 * time.Second)
	for {
		select {
		case p, ok := <-heard:
			if !ok {
				t.Fatal("the config stream ended")
			}
			if p.KeyID == keyID && p.Limits[0].Max == perMinute && p.Limits[2].Max == perDay {
				return
			}
		case <-patience:
			t.Fatalf("the node was not told of %d a minute, %d a day", perMinute, perDay)
		}
	}
}

func ask[T any](t *testing.T, method, url, token, body string) T {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return answer[T](t, r)
}

func answer[T any](t *testing.T, r *http.Request) T {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var v T
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil || res.StatusCode != 200 {
		t.Fatalf("%s %s: %d %v", r.Method, r.URL.Path, res.StatusCode, err)
	}
	return v
}

func TestKeygenOverwritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	mustRun(t, "keygen", "-dir", dir)
	texts := make(map[string]bool)
	for _, name := range secretFiles() {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || texts[string(text)] {
			t.Errorf("%s is not its own: %v", name, err)
		}
		texts[string(text)] = true
	}
	if err := os.Remove(filepath.Join(dir, "join_token")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runCommand(t.Context(), "keygen", dir); err == nil {
		t.Error("existing secrets were overwritten")
	}
	if _, err := os.Stat(filepath.Join(dir, "join_token")); err == nil {
		t.Error("something was written all the same")
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, line := range []string{
		"--help", "help", "serve --help", "migrate -h", "check --help", "keygen --help", "account create --help", "account show --help",
		"account set --help", "org set --help", "audit verify --help", "nodes --help", "nodes forget --help",
	} {
		out, _, err := runCommand(t.Context(), strings.Fields(line)...)
		if err != nil || !strings.Contains(out, "Usage: controlplane") {
			t.Errorf("%s: %v %q", line, err, out)
		}
	}
}

func TestMistakesAreToldInOneLine(t *testing.T) {
	for line, want := range map[string]string{
		"":                        "which command",
		"fly":                     `no command "fly"`,
		"serve now":               "want 0 arguments, got 1",
		"account":                 "account create",
		"account set":             "want 1 arguments, got 0",
		"account set a@b.c --x 1": "flag provided but not defined: -x",
		"account set a@b.c":       "database_url is not set",
		"serve":                   "key_encryption_key is not set",
		"keygen":                  "want one directory",
		"-config /none/x serve":   "no such file",
		"-listen":                 "flag needs an argument",
	} {
		_, _, err := runCommand(t.Context(), strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestMailCommands asks a server that is not there.
func TestMailCommands(t *testing.T) {
	file, _, _, _ := setup(t)
	mustRun(t, "-config", file, "migrate")
	if out := mustRun(t, "-config", file, "mail"); out != "server   not configured\nwaiting  0\n" {
		t.Errorf("mail: %s", out)
	}
	if _, _, err := runCommand(t.Context(), "-config", file, "mail", "test", "ada@example.com"); err == nil || !strings.Contains(err.Error(), "mail_smtp_url") {
		t.Errorf("without a server: %v", err)
	}
	address := freeAddresses(t, 1)[0]
	settings := []string{"-config", file, "-mail-smtp-url", "smtp://" + address, "-mail-from", "noreply@example.com", "-mail-tls", "none"}
	if out := mustRun(t, append(settings, "mail")...); !strings.Contains(out, address) {
		t.Errorf("mail: %s", out)
	}
	if _, _, err := runCommand(t.Context(), append(settings, "mail", "test", "ada@example.com")...); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("without an answer: %v", err)
	}
	settings[len(settings)-1] = "maybe"
	if _, _, err := runCommand(t.Context(), append(settings, "check")...); err == nil || !strings.Contains(err.Error(), "mail_tls") {
		t.Errorf("check: %v", err)
	}
}

func TestCheckPrintsSourcesNotValues(t *testing.T) {
	t.Setenv("MODELGATE_CONTROLPLANE_SESSION_KEY", "hunter2hunter2")
	out, _, err := runCommand(t.Context(), "-public-url", "ftp://x", "check")
	if err == nil || strings.Contains(out+err.Error(), "hunter2") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{"public_url: \"ftp://x\"", "key_pepper is not set", "session_key: line 1 is not 32 bytes", "database_url is not set"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told: %v", want, err)
		}
	}
}
