package server_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/google"
	"modelgate.internal/controlplane/internal/google/googletest"
	"modelgate.internal/controlplane/internal/mail"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// names are what a transcript calls the things of its developers.
type names map[string]string

// people registers a developer with an app, a key, a revoked key and a Darwin token for one transcript, and another one for
// all of them, whose things no transcript can change.
func (s *stack) people(t *testing.T) names {
	t.Helper()
	n := names{}
	maps.Copy(n, s.other)
	for _, prefix := range []string{"", "other_"} {
		if prefix != "" && s.other != nil {
			continue
		}
		email := strings.ToLower(uuid.NewString()) + "@example.com"
		session, refresh := s.register(t, wire.RegisterRequest{Name: "Ada", Email: email, Password: "correct horse battery"})
		token := session.AccessToken
		open := must[wire.SessionList](t, s, "GET", "/dev/auth/sessions", token, nil)
		made := must[wire.App](t, s, "POST", "/dev/apps", token, `{"name":"Bot","families":["darwin"],"tasks":["conversation"]}`)
		key := must[wire.NewKey](t, s, "POST", "/dev/apps/"+made.AppID+"/keys", token, nil)
		revoked := must[wire.NewKey](t, s, "POST", "/dev/apps/"+made.AppID+"/keys", token, nil)
		must[wire.KeyRevoked](t, s, "DELETE", "/dev/apps/"+made.AppID+"/keys/"+revoked.KeyID, token, nil)
		darwin := must[wire.NewDarwinToken](t, s, "POST", "/dev/darwin-tokens", token, `{"name":"laptop","team":"research"}`)
		for name, value := range map[string]string{
			"email": email, "session": token, "developer": session.Developer.ID, "app": made.AppID, "key": key.KeyID,
			"revoked": revoked.KeyID, "token": darwin.KeyID, "refresh": refresh, "session_id": open.Sessions[0].SessionID,
		} {
			n[prefix+name] = value
		}
	}
	if s.other == nil {
		s.other = names{}
		for name, value := range n {
			if strings.HasPrefix(name, "other_") {
				s.other[name] = value
			}
		}
	}
	now := time.Now()
	sign := func(session account.Session) string {
		text, err := s.signer.Sign(session, session.CreatedAt, session.ExpiresAt)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	n["expired_session"] = sign(account.Session{ID: uuid.NewString(), DeveloperID: n["developer"], CreatedAt: now.Add(-2 * time.Hour), ExpiresAt: now.Add(-time.Hour)})
	n["ended_session"] = sign(account.Session{ID: uuid.NewString(), DeveloperID: n["developer"], CreatedAt: now, ExpiresAt: now.Add(time.Hour)})
	n["fresh_email"] = uuid.NewString() + "@example.com"
	n["big"] = strings.Repeat("x", 300<<10)
	n["17k"] = strings.Repeat("x", 17<<10)
	return n
}

// placeholder is where a transcript names a thing of its developers.
var placeholder = regexp.MustCompile(`\{\w+\}`)

// peopleOf are the people of a transcript, if it names any, and the mails to them that it names.
func (s *stack) peopleOf(t *testing.T, request []byte) names {
	t.Helper()
	if !placeholder.Match(request) {
		return names{}
	}
	n := s.people(t)
	if bytes.Contains(request, []byte("_token}")) {
		s.mailed(t, n)
	}
	return n
}

// mailed adds the tokens that reached the developer and the other one by mail.
func (s *stack) mailed(t *testing.T, n names) {
	t.Helper()
	for _, prefix := range []string{"", "other_"} {
		s.do(t, "POST", "/dev/auth/forgot-password", "", wire.ForgotPasswordRequest{Email: n[prefix+"email"]})
		links := make(map[string]string)
		until(t, "the link is in the outbox", func() bool { // CockroachDB may pass over a row whose writer has only just committed
			maps.Copy(links, s.links(t, n[prefix+"email"]))
			return links["reset-password"] != ""
		})
		n[prefix+"verify_token"], n[prefix+"reset_token"] = links["verify-email"], links["reset-password"]
	}
}

// register creates an account and returns its session and its refresh cookie.
func (s *stack) register(t *testing.T, req wire.RegisterRequest) (session wire.Session, refresh string) {
	t.Helper()
	w := s.do(t, "POST", "/dev/auth/register", "", req)
	if err := json.Unmarshal(w.Body.Bytes(), &session); err != nil || len(w.Result().Cookies()) != 1 {
		t.Fatalf("register: %d %s", w.Code, w.Body)
	}
	return session, w.Result().Cookies()[0].Value
}

// links are the tokens of the links that wait in the outbox for an address, by page.
func (s *stack) links(t *testing.T, email string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	letters, err := s.store.ClaimMail(t.Context(), time.Now(), time.Now(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(letters, func(a, b mail.Letter) int { return a.CreatedAt.Compare(b.CreatedAt) }) // the newest link is the one that works
	for _, l := range letters {
		if l.Recipient != email {
			continue
		}
		text, err := s.vault.Open(l.Sealed, "mail_outbox|"+l.ID+"|"+l.Recipient)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`http://portal.example/dev/#/([\w-]+)\?token=([\w-]+)`).FindSubmatch(text); m != nil {
			found[string(m[1])] = string(m[2])
		}
	}
	return found
}

// exchange sends the requests of a transcript, which are separated by lines "===", and returns the last answer.
// {name} stands for things that people made.
func (s *stack) exchange(t *testing.T, request []byte, n names) []byte {
	t.Helper()
	text := string(request)
	s.guarded(t, text, n)
	for name, value := range n {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	var w *httptest.ResponseRecorder
	for one := range strings.SplitSeq(text, "\n===\n") {
		head, body, _ := strings.Cut(one, "\n\n")
		head = strings.ReplaceAll(strings.TrimSpace(head), "\n", "\r\n") + "\r\nHost: portal.example\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		if err != nil {
			t.Fatal(err)
		}
		body = strings.TrimSuffix(body, "\n")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.RemoteAddr = "192.0.2.7:1234"
		if ip := r.Header.Get("Test-From"); ip != "" {
			r.RemoteAddr = ip + ":1234"
		}
		w = httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(t.Context()))
		operation, _ := s.last.Load().(string)
		documented(t, operation, w)
	}
	return show(w, n)
}

// documented holds an answer against what the contract says about the operation.
func documented(t *testing.T, operation string, w *httptest.ResponseRecorder) {
	t.Helper()
	op := operations(t)[operation]
	if op == nil {
		return // not of the contract: the root, assets, addresses that lead nowhere
	}
	answer := op.Responses.Status(w.Code)
	if answer == nil {
		answer = op.Responses.Default()
	}
	for name := range answer.Value.Headers {
		optional := strings.Contains(name, "RateLimit") || name == "Retry-After" && w.Code != http.StatusTooManyRequests ||
			name == "Allow" && w.Code != http.StatusMethodNotAllowed
		if !optional && w.Header().Get(name) == "" {
			t.Errorf("%s: an answer %d without the header %s", operation, w.Code, name)
		}
	}
	if len(answer.Value.Content) == 0 {
		if w.Body.Len() > 0 {
			t.Errorf("%s: an answer %d with a body, which is not documented", operation, w.Code)
		}
		return
	}
	media, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	content := answer.Value.Content.Get(media)
	if content == nil {
		t.Errorf("%s: an answer %d of type %s, which is not documented", operation, w.Code, media)
		return
	}
	if media != "application/json" {
		return
	}
	var body any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if err := content.Schema.Value.VisitJSON(body, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()); err != nil {
		t.Errorf("%s: an answer %d that does not fit its schema: %v", operation, w.Code, err)
	}
}

// operations are those of the contract by id.
func operations(t *testing.T) map[string]*openapi3.Operation {
	t.Helper()
	doc, err := contractOnce()
	if err != nil {
		t.Fatal(err)
	}
	ops := make(map[string]*openapi3.Operation)
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			ops[op.OperationID] = op
		}
	}
	return ops
}

// contractOnce parses the contract, which takes a while under the race detector.
var contractOnce = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(contract.YAML()) })

// shown are the headers that transcripts hold. The others are the same for every answer and have a test of their own.
var shown = []string{
	"Access-Control-Allow-Origin", "Allow", "Cache-Control", "Content-Disposition", "Content-Range", "Content-Type", "ETag", "Location",
	"RateLimit", "Retry-After", "Set-Cookie", "Vary", "WWW-Authenticate", "X-Answered-By",
}

// cookie is one of ours with its value.
var cookie = regexp.MustCompile(`(modelgate_\w+)=[\w-]{43}`)

func show(w *httptest.ResponseRecorder, n names) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%d %s\n", w.Code, http.StatusText(w.Code))
	for _, h := range shown {
		for _, v := range w.Header().Values(h) {
			fmt.Fprintf(&out, "%s: %s\n", h, v)
		}
	}
	body := constant(w.Body.String(), n) // before it is cut: what changes has no fixed length
	media := w.Header().Get("Content-Type")
	if !strings.HasPrefix(media, "application/json") && media != "text/event-stream" || len(body) > 20_000 {
		if media == "text/html; charset=utf-8" { // the rest is the portal's, and differs where that was built
			body, _, _ = strings.Cut(body, "\n")
		}
		body = body[:min(len(body), 60)] + "…"
	}
	head := cookie.ReplaceAllString(out.String(), "$1=<value>")
	return fmt.Appendf(nil, "%s\n%s\n", head, body)
}

// changing is what differs from run to run, and what stands for it.
var changing = []struct {
	expr *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`svc_(test|live|darwin)_…[0-9A-Za-z]{4}`), `svc_${1}_…<hint>`},
	{regexp.MustCompile(`svc_(test|live|darwin)_[0-9A-Za-z]{51}`), `svc_${1}_<value>`},
	{regexp.MustCompile(`mgwh_[\w-]{43}`), `mgwh_<secret>`},
	{regexp.MustCompile(`"day":"20\d\d-\d\d-\d\d"`), `"day":"<day>"`},
	{regexp.MustCompile(`"nonce":"[0-9a-f]{64}"`), `"nonce":"<nonce>"`},
	{regexp.MustCompile(`"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}"`), `"<recovery code>"`},
	{regexp.MustCompile(`[A-Z2-7]{32}`), `<secret>`},
	{regexp.MustCompile(`203\.0\.\d+\.1`), `<address>`},
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), `<jwt>`},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), `<id>`},
	{regexp.MustCompile(`20(?:2|3)\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`), `<time>`},
	{regexp.MustCompile(`"(config_version|version)":[1-9]\d*`), `"$1":<n>`},
	{regexp.MustCompile(`"hash":"[0-9a-f]{64}"`), `"hash":"<hash>"`},
	{regexp.MustCompile(`"homography":\[(?:[-.e0-9]+,){8}[-.e0-9]+\]`), `"homography":[<nine numbers>]`},
	{regexp.MustCompile(`([a-z]+)_sim[a-z0-9]{8}\d{6}`), `${1}_<n>`},
	{regexp.MustCompile(`SIM-\d{4}`), `SIM-<n>`},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+/`), `http://stripe.example/`},
	{regexp.MustCompile(`x{200}…`), `xxx…`},
}

// constant replaces what changes from run to run.
func constant(body string, n names) string {
	for name, value := range n {
		if len(value) > 8 {
			body = strings.ReplaceAll(body, value, "{"+name+"}")
		}
	}
	for _, r := range changing {
		body = r.expr.ReplaceAllString(body, r.with)
	}
	return body
}

func TestWire(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	testkit.Transcripts(t, "testdata/wire", func(t *testing.T, request []byte) []byte {
		return s.exchange(t, request, s.peopleOf(t, request))
	})
	if log := s.log.String(); regexp.MustCompile(`svc_(test|live|darwin)_[0-9A-Za-z]{51}|eyJ[\w-]+\.|correct horse|[\w-]{43}`).MatchString(log) {
		t.Error("a key, a token or a password is in the log")
	}
}

// TestWireWithoutDatabase: what needs the database says so at once, what does not goes on.
func TestWireWithoutDatabase(t *testing.T) {
	s := newStack(t)
	n := s.people(t)
	s.store.Close()
	testkit.Transcripts(t, "testdata/away", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, n) })
}

// TestWireWithoutMail: what needs mail names the settings, registering goes on.
func TestWireWithoutMail(t *testing.T) {
	s := newStack(t)
	s.api.Accounts.Mailer = nil
	testkit.Transcripts(t, "testdata/nomail", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, s.peopleOf(t, request)) })
}

// TestWireWithGoogle signs in with tokens of a provider on loopback.
func TestWireWithGoogle(t *testing.T) {
	s := newStack(t)
	provider := googletest.New(t)
	s.api.Accounts.Google = google.New(google.Config{
		ClientID: "client.example", Issuer: provider.URL, JWKSURL: provider.URL + "/keys", Client: &http.Client{Timeout: google.FetchTimeout}, Now: time.Now,
	})
	nonce := sha256.Sum256([]byte(strings.Repeat("A", 43))) // of the cookie in the transcripts
	testkit.Transcripts(t, "testdata/google", func(t *testing.T, request []byte) []byte {
		n := s.people(t)
		s.mailed(t, n)
		token := func(email string, verified bool, nonce string) string {
			return provider.Sign(t, "first", jwt.MapClaims{
				"iss": provider.URL, "aud": "client.example", "sub": uuid.NewString(), "email": email, "email_verified": verified, "name": "Ada",
				"nonce": nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
			})
		}
		n["credential"] = token(n["fresh_email"], true, hex.EncodeToString(nonce[:]))
		n["credential_of_account"] = token(n["email"], true, hex.EncodeToString(nonce[:]))
		n["credential_unverified"] = token(n["fresh_email"], false, hex.EncodeToString(nonce[:]))
		n["credential_other_nonce"] = token(n["fresh_email"], true, "other")
		return s.exchange(t, request, n)
	})
	provider.Break(true)
	s.api.Accounts.Google = google.New(google.Config{
		ClientID: "client.example", Issuer: provider.URL, JWKSURL: provider.URL + "/keys", Client: &http.Client{Timeout: google.FetchTimeout}, Now: time.Now,
	})
	w := s.do(t, "POST", "/dev/auth/google", "", wire.GoogleLoginRequest{Credential: provider.Sign(t, "first", jwt.MapClaims{"sub": "x"})})
	documented(t, "loginWithGoogle", w)
	if w.Code != http.StatusBadGateway {
		t.Errorf("without its keys: %d %s", w.Code, w.Body)
	}
}
