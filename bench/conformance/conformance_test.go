package conformance

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/api"
)

const callWait = 30 * time.Second

// answer is an HTTP answer as it was read.
type answer struct {
	status int
	header http.Header
	body   string
}

// caller calls the system and judges every answer.
type caller struct {
	c    *contract
	in   stack.Info
	bin  string // where the programs are
	ops  map[string]api.Operation
	seen map[string]map[int]bool // operation -> statuses got
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	ops, err := api.Operations()
	if err != nil {
		t.Fatal(err)
	}
	k := &caller{c: readContract(t), ops: map[string]api.Operation{}, seen: map[string]map[int]bool{}}
	for _, op := range ops {
		k.ops[op.ID] = op
		k.seen[op.ID] = map[int]bool{}
	}
	o := stacktest.Options(t)
	o.Env = append(o.Env, "MODELGATE_CONTROLPLANE_METRICS_ADMIN=true") // else two operations only ever answer 403
	k.in, k.bin = stacktest.Run(t, o).Info(), o.Bin
	return k
}

// raise lifts the limits of an account's calls, which are more than a free plan has.
func (k *caller) raise(t *testing.T, email string) {
	t.Helper()
	raise := exec.CommandContext(t.Context(), filepath.Join(k.bin, "controlplane"), "-config", k.in.ControlplaneConfig,
		"account", "set", email, "--per-minute", "100000", "--per-day", "1000000", "--in-flight", "1000")
	if out, err := raise.CombinedOutput(); err != nil {
		t.Fatalf("raise the limits: %v\n%s", err, out)
	}
}

// call sends one request to an operation. Path holds the path with its parameters filled in; when empty it is the
// document's own, with "x" for each parameter.
func (k *caller) call(t *testing.T, id, path, credential, body string) answer {
	t.Helper()
	return k.send(t, id, path, credential, "application/json", body)
}

// send is call with a body of another content type.
func (k *caller) send(t *testing.T, id, path, credential, contentType, body string) answer {
	t.Helper()
	return k.sendUnder(t, "", id, path, credential, contentType, body)
}

// sendUnder is send with an Idempotency-Key, unless it is empty.
func (k *caller) sendUnder(t *testing.T, once, id, path, credential, contentType, body string) answer {
	t.Helper()
	op, ok := k.ops[id]
	if !ok {
		t.Fatalf("the document has no operation %s", id)
	}
	if path == "" {
		path = fill(op.Path)
	}
	base := k.in.PortalURL
	if op.Plane == api.PlaneData {
		base = k.in.GatewayURL
	}
	ctx, cancel := context.WithTimeout(t.Context(), callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, op.Method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if once != "" {
		req.Header.Set("Idempotency-Key", once)
	}
	switch {
	case credential == "":
	case slices.Contains(op.Security, "refreshCookie"):
		req.Header.Set("Cookie", "modelgate_refresh="+credential)
	default:
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	a := answer{res.StatusCode, res.Header, string(text)}
	if err := k.c.judge(id, a); err != nil {
		t.Errorf("%s %s: %v", op.Method, path, err)
	}
	k.seen[id][a.status] = true
	return a
}

// want calls and fails unless the status is the given one.
func (k *caller) want(t *testing.T, status int, id, path, credential, body string) answer {
	t.Helper()
	a := k.call(t, id, path, credential, body)
	if a.status != status {
		t.Errorf("%s %s: status %d, want %d: %.300s", id, path, a.status, status, a.body)
	}
	return a
}

// fill puts something in the place of every path parameter.
func fill(path string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(path, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		_, path, _ = strings.Cut(after, "}")
		out.WriteString("x")
	}
}

// TestContract calls every operation of the document on a running system.
func TestContract(t *testing.T) {
	k := newCaller(t)
	t.Run("planned operations answer 501", k.planned)
	t.Run("built operations", k.built)
	t.Run("credentials are demanded", k.credentials)
	for _, id := range slices.Sorted(maps.Keys(k.ops)) {
		want := 200
		if status, ok := withoutSuccess()[id]; ok {
			want = status
		}
		if to, ok := forwards()[id]; ok && k.ops[to].Planned {
			want = 409 // there is nothing behind it yet; this is its own answer
		}
		if !k.ops[id].Planned && !k.seen[id][want] {
			t.Errorf("%s is built and was never answered with %d; got %v", id, want, slices.Sorted(maps.Keys(k.seen[id])))
		}
	}
}

// withoutSuccess are the operations that a stack for development is not configured for, with what they answer instead.
func withoutSuccess() map[string]int {
	return map[string]int{
		"loginWithGoogle": 503, // no client id; its answers with one are transcripts of the control plane
		"demoPage":        404, // as are those of demos and of the SDK, which a build without the portal does not have
		"demoFilePage":    404,
		"sdkFile":         404,
		"downloadImage":   404, // no images; its answers with some are transcripts of the control plane
	}
}

func (k *caller) planned(t *testing.T) {
	planned := 0
	for _, id := range slices.Sorted(maps.Keys(k.ops)) {
		if !k.ops[id].Planned {
			continue
		}
		planned++
		if a := k.want(t, 501, id, "", k.in.Demo.Key, ""); !strings.Contains(a.body, "not built yet") {
			t.Errorf("%s: body %s", id, a.body)
		}
	}
	t.Logf("%d operations are planned", planned)
}

// credentials calls every built operation that needs one without, and with nonsense.
func (k *caller) credentials(t *testing.T) {
	for _, id := range slices.Sorted(maps.Keys(k.ops)) {
		if op := k.ops[id]; op.Planned || len(op.Security) == 0 {
			continue
		}
		k.want(t, 401, id, "", "", "{}")
		k.want(t, 401, id, "", "nonsense", "{}")
	}
}
