package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
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
		session := must[wire.Session](t, s, "POST", "/dev/auth/register", "", wire.RegisterRequest{Name: "Ada", Email: email, Password: "correct horse battery"})
		token := session.AccessToken
		made := must[wire.App](t, s, "POST", "/dev/apps", token, `{"name":"Bot","families":["darwin"],"tasks":["conversation"]}`)
		key := must[wire.NewKey](t, s, "POST", "/dev/apps/"+made.AppID+"/keys", token, nil)
		revoked := must[wire.NewKey](t, s, "POST", "/dev/apps/"+made.AppID+"/keys", token, nil)
		must[wire.KeyRevoked](t, s, "DELETE", "/dev/apps/"+made.AppID+"/keys/"+revoked.KeyID, token, nil)
		darwin := must[wire.NewDarwinToken](t, s, "POST", "/dev/darwin-tokens", token, `{"name":"laptop","team":"research"}`)
		for name, value := range map[string]string{
			"email": email, "session": token, "developer": session.Developer.ID, "app": made.AppID, "key": key.KeyID,
			"revoked": revoked.KeyID, "token": darwin.KeyID,
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
		text, err := s.signer.Sign(session)
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

// exchange sends the requests of a transcript, which are separated by lines "===", and returns the last answer.
// {name} stands for things that people made.
func (s *stack) exchange(t *testing.T, request []byte, n names) []byte {
	t.Helper()
	text := string(request)
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
		if media != "text/html" || operation != "openapiDocument" {
			t.Errorf("%s: an answer %d of type %s, which is not documented", operation, w.Code, media)
		}
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
	"Retry-After", "Vary", "WWW-Authenticate",
}

func show(w *httptest.ResponseRecorder, n names) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%d %s\n", w.Code, http.StatusText(w.Code))
	for _, h := range shown {
		if v := w.Header().Get(h); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", h, v)
		}
	}
	body := w.Body.String()
	if media := w.Header().Get("Content-Type"); !strings.HasPrefix(media, "application/json") || len(body) > 20_000 {
		body = body[:min(len(body), 60)] + "…"
	}
	return fmt.Appendf(out.Bytes(), "\n%s\n", constant(body, n))
}

// constant replaces what changes from run to run.
func constant(body string, n names) string {
	for name, value := range n {
		if len(value) > 8 {
			body = strings.ReplaceAll(body, value, "{"+name+"}")
		}
	}
	for _, r := range []struct{ expr, with string }{
		{`svc_(test|live|darwin)_…[0-9A-Za-z]{4}`, `svc_${1}_…<hint>`},
		{`svc_(test|live|darwin)_[0-9A-Za-z]{51}`, `svc_${1}_<value>`},
		{`eyJ[\w-]+\.[\w-]+\.[\w-]+`, `<jwt>`},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, `<id>`},
		{`20(?:2|3)\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`, `<time>`},
		{`"config_version":[1-9]\d*`, `"config_version":<n>`},
		{`x{200}…`, `xxx…`},
	} {
		body = regexp.MustCompile(r.expr).ReplaceAllString(body, r.with)
	}
	return body
}

func TestWire(t *testing.T) {
	s := newStack(t)
	testkit.Transcripts(t, "testdata/wire", func(t *testing.T, request []byte) []byte {
		return s.exchange(t, request, s.people(t))
	})
	if log := s.log.String(); regexp.MustCompile(`svc_(test|live|darwin)_[0-9A-Za-z]{51}|eyJ[\w-]+\.|correct horse`).MatchString(log) {
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
