package server_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/api"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/catalog"
	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/controlplane/internal/google"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/controlplane/internal/server"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/controlplane/internal/web"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/apierr"
	keys "modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// stack is a control plane on a database of its own.
type stack struct {
	http.Handler
	api    *api.API
	url    string // of the database
	store  *store.Store
	signer *account.Signer
	vault  *secret.Vault
	log    *safeBuffer
	other  names        // the developer whose things the others cannot see
	last   atomic.Value // operation of the last answer, for tests that make one request at a time
}

// safeBuffer may be written by several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// manyPerMinute is more than the tests ask of the public counters; those that are about the pace have their own.
const manyPerMinute = 1_000_000

// fixedUsage stands for the ledger.
type fixedUsage struct{}

func (fixedUsage) AppUsage(_ context.Context, appID string, q ledger.Question, _ time.Time) (wire.AppUsage, error) {
	return wire.AppUsage{AppID: appID, Usage: usageOf(q)}, nil
}

func (fixedUsage) AccountUsage(_ context.Context, _ string, q ledger.Question, _ time.Time) (wire.AccountUsage, error) {
	return wire.AccountUsage{ByApp: []wire.AppGroup{{Counters: wire.Counters{Calls: 3, Errors: 1}}}, Usage: usageOf(q)}, nil
}

func usageOf(q ledger.Question) wire.Usage {
	took := wire.Latency{Took: wire.Percentiles{Calls: 2, P50: 210, P90: 480, P95: 510, P99: 900}}
	return wire.Usage{
		Days: q.Days, Bucket: cmp.Or(string(q.Unit), "day"), StepSeconds: 86_400, TimeZone: cmp.Or(q.Zone, "UTC"),
		Totals: wire.Counters{Calls: 3, Errors: 1}, Latency: took, Series: []wire.UsagePoint{}, ByKey: []wire.KeyUsage{},
		ByModel: []wire.ModelUsage{{Model: "=1+1", Counters: wire.Counters{Calls: 3, Errors: 1}, Latency: took}},
		ByTask:  []wire.TaskUsage{}, ByStatus: []wire.StatusUsage{}, BySource: []wire.SourceUsage{},
	}
}

func (fixedUsage) AppCalls(_ context.Context, q ledger.CallQuery, _ time.Time) (wire.RequestPage, error) {
	if q.Cursor == "nowhere" {
		return wire.RequestPage{}, apierr.Violations(apierr.Item{
			Type: "value_error", Loc: []any{"query", "cursor"}, Msg: "Value error, it must be the next_cursor of a page", Input: q.Cursor,
		})
	}
	ttft, hint, next := int64(182), "svc_live_…x7Qz", "1767607198002000-01KE9X2M5Q3R8T1V7W4Z"
	at := time.Date(2026, 1, 5, 9, 59, 58, 2_000_000, time.UTC)
	return wire.RequestPage{KeptDays: 3, LeftOut: 7, NextCursor: &next, Requests: []wire.RequestEntry{{
		ID: "01KE9X2M5Q3R8T1V7W4Z", At: at, KeyID: "018f6d1c-9c1e-7cc2-9d3a-2f7a0d6c4b11", Hint: &hint, Endpoint: "agent", Task: "conversation",
		Model: cmp.Or(q.Model, "=1+1"), Status: 200, End: "done", TTFTMS: &ttft, TookMS: 941, TokensIn: 14, TokensOut: 87, Source: "provider",
	}, {
		ID: "01KE9X2M5Q3R8T1V7W4Y", At: at, KeyID: "018f6d1c-9c1e-7cc2-9d3a-2f7a0d6c4b12", Endpoint: "agent", Status: max(q.StatusFrom, 422), End: "refused",
		Source: "none",
	}}}, nil
}

func (fixedUsage) DayUsed(context.Context, string, time.Time) (int64, error) { return 12, nil }

func (fixedUsage) MinuteUsed(_ context.Context, _ string, now time.Time) ([]wire.KeyMinute, []wire.AppMinute, error) {
	app, use := "018f6d1c-9c1e-7cc2-9d3a-2f7a0d6c4b10", wire.MinuteUse{Used: 4, Before: 9, ResetsAt: now.UTC().Add(time.Minute)}
	return []wire.KeyMinute{
		{KeyID: "018f6d1c-9c1e-7cc2-9d3a-2f7a0d6c4b11", AppID: &app, Hint: "svc_live_…x7Qz", MinuteUse: use},
		{KeyID: "018f6d1c-9c1e-7cc2-9d3a-2f7a0d6c4b12", Hint: "dwn_…k3Lm", MinuteUse: wire.MinuteUse{Before: 2, ResetsAt: now.UTC().Add(time.Second)}},
	}, []wire.AppMinute{{AppID: app, Limit: 100, MinuteUse: use}}, nil
}

// fixedNodes stands for three gateway nodes, one of which is away.
type fixedNodes struct{}

func (fixedNodes) Await(_ context.Context, version plane.Version) (node.Receipt, error) {
	return node.Receipt{
		Nodes: []node.Applied{{Name: "eu-1", Version: version, After: 12 * time.Millisecond}}, Missing: []node.Missing{{Name: "eu-2", Live: true}, {Name: "us-1"}},
		Waited: 250 * time.Millisecond,
	}, nil
}

func (n fixedNodes) AwaitNewest(ctx context.Context) (node.Receipt, error) { return n.Await(ctx, 7) }

// newMailer returns a mailer whose letters are never sent: the tests read the outbox.
func newMailer(t *testing.T, vault *secret.Vault, now func() time.Time) *mail.Mailer {
	t.Helper()
	server, err := mail.NewServer(mail.Settings{SMTPURL: "smtp://127.0.0.1:1", From: "noreply@portal.example", TLS: mail.TLSNone})
	if err != nil {
		t.Fatal(err)
	}
	mailer, err := mail.New(server, vault, now)
	if err != nil {
		t.Fatal(err)
	}
	return mailer
}

func newStack(t *testing.T) *stack {
	t.Helper()
	log := &safeBuffer{}
	logger := slog.New(slog.NewJSONHandler(log, nil))
	url := storetest.Database(t)
	s, err := store.Open(t.Context(), url, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	passwords, err := account.NewPasswords(account.Cost{MemoryKiB: 64, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	key := bytes.Repeat([]byte{7}, secret.KeyBytes)
	signer, err := account.NewSigner([][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	streams, err := keys.NewStreamSigner([][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	vault, err := secret.NewVault([][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	portal, _ := web.Portal()
	made, err := catalog.Make([]plane.Model{
		{ID: "Darwin", Family: "darwin", Tasks: []string{"conversation"}, Upstream: "secret-upstream", Setting: "SECRET_SETTING"},
		{ID: "House", Family: "emoticore", Tasks: []string{"mood"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mailer := newMailer(t, vault, time.Now)
	unbilled, err := billing.New(s, nil, "http://portal.example", logger, time.Now, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	apps := &app.Apps{Store: s, Vault: vault, Pepper: key, Streams: streams, Now: time.Now}
	began := time.Now() // the throttle's clock stands still, so that a slow machine changes nothing
	a, err := api.New(api.Config{
		Accounts: &account.Accounts{
			Store: s, Passwords: passwords, Signer: signer, Throttle: account.NewThrottle(func() time.Time { return began }),
			Vault: vault, Mailer: mailer, PublicURL: "http://portal.example", Log: logger, Now: time.Now,
		},
		Apps:    apps,
		Orgs:    &org.Orgs{Store: s, Mailer: mailer, PublicURL: "http://portal.example", Now: time.Now},
		Audit:   &audit.Log{Store: s},
		Exports: s, ExportPace: counter.NewPace(func() time.Time { return began }, "exports", counter.Developer, api.ExportsPerMinute, api.ExportsBurst),
		Billing: unbilled,
		Alerts:  &alert.Alerts{Store: s, Vault: vault, Mailer: mailer, PublicURL: "http://portal.example", Log: logger, Now: time.Now},
		Catalog: made, Images: images(t), Demos: demos(t), Mailer: mailer,
		Counters:      &counter.Counters{Store: s, Admin: true, Now: time.Now},
		CounterReads:  counter.NewPace(func() time.Time { return began }, "requests", counter.Network, manyPerMinute, manyPerMinute),
		CounterWrites: counter.NewPace(func() time.Time { return began }, "requests", counter.Network, manyPerMinute, manyPerMinute),
		Streams:       streams,
		StreamPace:    counter.NewPace(func() time.Time { return began }, "stream tokens", counter.Developer, api.StreamKeysPerMinute, api.StreamKeysBurst),
		Searches:      counter.NewPace(func() time.Time { return began }, "searches", counter.Network, manyPerMinute, manyPerMinute),
		Looks:         counter.NewPace(func() time.Time { return began }, "looks at invites", counter.Network, manyPerMinute, manyPerMinute),
		Mails:         counter.NewPace(func() time.Time { return began }, "mails", counter.Network, manyPerMinute, manyPerMinute),
		Nodes:         fixedNodes{}, Playground: playground.New(apps, s, fakeGateway(t), time.Now), Usage: fixedUsage{}, Portal: portal, PublicURL: "http://portal.example", GatewayURL: "http://gateway.example",
		DarwinURL: "http://darwin.example", Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	st := &stack{api: a, url: url, store: s, signer: signer, vault: vault, log: log}
	st.Handler = server.New(a, server.Options{
		Log: logger, PublicURL: "http://portal.example", GatewayURL: "http://gateway.example", Now: time.Now,
		Observe: func(operation string, _ int, _ time.Duration) { st.last.Store(operation) },
	})
	return st
}

// do makes one request; body may be nil, a string or something to encode.
func (s *stack) do(t *testing.T, method, path, token string, body any) *httptest.ResponseRecorder {
	t.Helper()
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(text))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.RemoteAddr = fmt.Sprintf("203.0.%d.1:1", rand.N(256)) // not all of one network, for the throttle
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// must makes a request that succeeds and decodes the answer.
func must[T any](t *testing.T, s *stack, method, path, token string, body any) T {
	t.Helper()
	w := s.do(t, method, path, token, body)
	var v T
	if w.Code >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRoutesAndContract holds routes and the marks of the document together, both ways.
func TestRoutesAndContract(t *testing.T) {
	s := newStack(t)
	built, planned := s.api.Routes(), s.api.Planned()
	name := func(method, path, id string) string { return method + " " + path + " " + id }
	var have []string
	for _, r := range built {
		have = append(have, name(r.Method, r.Path, r.OperationID))
	}
	ops, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	secured := make(map[string]bool)
	var want []string
	for _, op := range ops {
		if op.Plane == contract.PlaneControl && !op.Planned {
			want = append(want, name(op.Method, op.Path, op.ID))
			secured[op.ID] = slices.Contains(op.Security, "session") || slices.Contains(op.Security, "refreshCookie")
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("routes:\n%s\ncontract:\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	fill, target := regexp.MustCompile(`\{\w+\}`), strings.NewReplacer("{target}", "rpi4", "{demo_file}", "kanban", "{file_path}", "modelgate.js")
	for _, r := range built {
		w := s.do(t, r.Method, fill.ReplaceAllString(target.Replace(r.Path), uuid.NewString()), "", "{}")
		if (w.Code == http.StatusUnauthorized) != secured[r.OperationID] || w.Code == http.StatusNotImplemented ||
			w.Code == http.StatusNotFound && r.OperationID != "inviteInfo" { // there is no such invite, which anybody is told
			t.Errorf("%s %s answers %d to a stranger; the contract wants a session: %v", r.Method, r.Path, w.Code, secured[r.OperationID])
		}
	}
	for _, r := range planned {
		w := s.do(t, r.Method, fill.ReplaceAllString(r.Path, "some"), "", "{}")
		want := fmt.Sprintf(`{"detail":"%s %s is in the contract but not built yet."}`, r.Method, r.Path)
		if w.Code != http.StatusNotImplemented || w.Body.String() != want {
			t.Errorf("%s %s: %d %s", r.Method, r.Path, w.Code, w.Body)
		}
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	s := newStack(t)
	for _, path := range []string{"/dev/", "/dev/openapi", "/dev/auth/me", "/nowhere", "/dev/catalog"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		r.Header.Set("X-Request-Id", "mine-1")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		h := w.Header()
		if h.Get("X-Request-Id") != "mine-1" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %s", path, csp)
		}
	}
	for _, bad := range []string{"", "a b", "<script>", strings.Repeat("x", 65), "a\"b"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/dev/", nil)
		r.Header.Set("X-Request-Id", bad)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if got := w.Header().Get("X-Request-Id"); uuid.Validate(got) != nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func TestPagesFitTheirPolicy(t *testing.T) {
	s := newStack(t)
	for _, path := range []string{"/dev/", "/dev/docs-page", "/dev/openapi"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		page := w.Body.String()
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		if strings.Contains(page, "<script>") || strings.Contains(page, " style=") || strings.Contains(page, " onclick") {
			t.Errorf("%s has something inline that the policy forbids", path)
		}
		if strings.Contains(page, "ZgotmplZ") || strings.Contains(page, "__GATEWAY_URL__") {
			t.Errorf("%s: a value was not filled in", path)
		}
	}
}

func TestAPanicIsOneAnswer(t *testing.T) {
	s := newStack(t)
	s.api.Usage = panics{}
	n := s.people(t)
	w := s.do(t, "GET", "/dev/limits", n["session"], nil)
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "Internal error") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(s.log.String(), "the ledger broke") {
		t.Error("the panic is not in the log")
	}
}

type panics struct{ fixedUsage }

func (panics) DayUsed(context.Context, string, time.Time) (int64, error) { panic("the ledger broke") }

func TestFailuresOfOursAreNotExplainedToClients(t *testing.T) {
	s := newStack(t)
	s.api.Usage = fails{}
	n := s.people(t)
	w := s.do(t, "GET", "/dev/limits", n["session"], nil)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "10.0.0.7") || !strings.Contains(s.log.String(), "10.0.0.7") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type fails struct{ fixedUsage }

func (fails) DayUsed(context.Context, string, time.Time) (int64, error) {
	return 0, errors.New("dial 10.0.0.7: refused")
}

func TestPortalFiles(t *testing.T) {
	s := newStack(t)
	s.api.Portal = fstest.MapFS{
		"index.html": {Data: []byte("page")}, "icon.svg": {Data: []byte("<svg/>")}, "assets/_a-1.js": {Data: []byte("code")}, ".secret": {Data: []byte("no")},
	}
	for _, tt := range []struct {
		path   string
		status int
		media  string
		cache  string
	}{
		{"/dev/icon.svg", 200, "image/svg+xml", "no-cache"},
		{"/dev/assets/_a-1.js", 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/dev/assets/", 404, "application/json", "no-store"},
		{"/dev/assets/%2e%2e/index.html", 404, "application/json", "no-store"},
		{"/dev/.secret", 404, "application/json", "no-store"},
		{"/dev/assets", 404, "application/json", "no-store"},
	} {
		w := s.do(t, "GET", tt.path, "", nil)
		if w.Code != tt.status || w.Header().Get("Content-Type") != tt.media || w.Header().Get("Cache-Control") != tt.cache {
			t.Errorf("%s: %d %v", tt.path, w.Code, w.Header())
		}
	}
}

// TestPolicyOfSignInWithGoogle: the portal may load Google's script only where sign-in with Google is configured.
func TestPolicyOfSignInWithGoogle(t *testing.T) {
	s := newStack(t)
	for _, client := range []string{"", "id.example"} {
		s.api.Accounts.Google = google.New(google.Config{ClientID: client})
		w := httptest.NewRecorder()
		server.New(s.api, server.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now}).
			ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/dev/", nil))
		policy, opener := w.Header().Get("Content-Security-Policy"), w.Header().Get("Cross-Origin-Opener-Policy")
		allowed := strings.Contains(policy, "script-src 'self' https://accounts.google.com/gsi/client;")
		if allowed != (client != "") || strings.Contains(policy, "google") != allowed || strings.Contains(policy, "unsafe") {
			t.Errorf("with client id %q: policy %s", client, policy)
		}
		if (opener == "same-origin-allow-popups") != allowed {
			t.Errorf("with client id %q: opener policy %s", client, opener)
		}
	}
}

func TestGoogleClientID(t *testing.T) {
	s := newStack(t)
	s.api.Accounts.Google = google.New(google.Config{ClientID: "id.example"})
	w := s.do(t, "GET", "/dev/auth/google-client-id", "", nil)
	if !regexp.MustCompile(`^\{"client_id":"id.example","nonce":"[0-9a-f]{64}"\}$`).MatchString(w.Body.String()) {
		t.Errorf("got %s", w.Body)
	}
}
