package nodeapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/controlplane/internal/nodeapi"
	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/controlplane/internal/replay"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/usage/usagetest"
)

const token = "a join token for tests"

// side is a control plane's internal side with one node that has joined.
type side struct {
	url       string
	store     *store.Store
	nodes     *node.Registry
	publisher *publish.Publisher
	identity  plane.JoinAnswer
	log       *logged
}

// logged is a log that can be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T) *side {
	t.Helper()
	s := storetest.Open(t, storetest.Database(t))
	written := &logged{}
	log := slog.New(slog.NewTextHandler(written, &slog.HandlerOptions{Level: slog.LevelDebug}))
	nodes, err := node.NewRegistry(s, token, log)
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := ingest.NewReceiver(s, log, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	receiver.Now = func() time.Time { return time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC) }
	publisher := publish.New(s, publish.Options{KeyPeppers: [][]byte{{1}}, Log: log, Now: time.Now})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = publisher.Run(ctx) }()
	server := httptest.NewServer(nodeapi.Handler(nodeapi.Options{
		Nodes: nodes, Publisher: publisher, Receiver: receiver, Days: s,
		Replays: &replay.Replays{Store: s, Vault: vault(t), Now: time.Now}, Log: log, Now: time.Now,
	}))
	t.Cleanup(func() { cancel(); <-done; server.Close() })
	identity, err := nodes.Join(t.Context(), token, plane.JoinRequest{Name: "eu-1", Build: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return &side{server.URL, s, nodes, publisher, identity, written}
}

// upload returns the usage records of the lines as a node sends them.
func upload(t *testing.T, lines string) string {
	t.Helper()
	var records []plane.UsageRecord
	for in := json.NewDecoder(strings.NewReader(lines)); ; {
		var r plane.UsageRecord
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			return string(usagetest.Upload(records))
		} else if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
}

// What nodes delivered is what a ledger that does not know it is told.
func TestDaysAreWhatWasDelivered(t *testing.T) {
	s := start(t)
	const account = "7d1f2a34-0000-4000-8000-000000000001"
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	record := `{"seq":%d,"request_id":"r","at":"2026-03-%dT15:00:00Z","account_id":"` + account + `","developer_id":"` + account + `","app_id":"` + account +
		`","key_id":"` + account + `","endpoint":"agent","model":"Darwin","task":"chat","backend":"upstream","status":200,"end":"done","source":"provider"}` + "\n"
	lines := fmt.Sprintf(record, 1, 13) + fmt.Sprintf(record, 2, 14) + fmt.Sprintf(record, 3, 14)
	post := func(path, body string, head ...string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.identity.Secret)
		for i := 0; i < len(head); i += 2 {
			req.Header.Set(head[i], head[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, res.StatusCode, text, err)
		}
		return string(text)
	}
	post(plane.UsagePath, string(z.EncodeAll([]byte(upload(t, lines)), nil)), "Content-Encoding", "zstd", plane.HeaderIncarnation, "0195a2b4c6d8", plane.HeaderSegment, "1")
	if got, want := post(plane.DaysPath, `{"day":"2026-03-14","accounts":["`+account+`"]}`), `{"calls":{"`+account+`":2}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

var changing = regexp.MustCompile(`"node_id":"[0-9a-f-]{36}"|"secret":"mgn_[A-Za-z0-9_-]{43}"|X-Request-Id: \w+`)

// TestTranscripts sends requests as they stand in the files; SECRET and TOKEN stand for the real ones, and the body of a
// request with Content-Encoding zstd is compressed first; unless it says that it is JSON, it is made an upload before that.
func TestTranscripts(t *testing.T) {
	testkit.Transcripts(t, "testdata", func(t *testing.T, request []byte) []byte {
		s := start(t)
		head, body, _ := strings.Cut(string(request), "\n\n")
		head = strings.NewReplacer("SECRET", s.identity.Secret, "TOKEN", token).Replace(head)
		lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
		method, path, _ := strings.Cut(lines[0], " ")
		if strings.Contains(head, "Content-Encoding: zstd") {
			z, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(head, "json") {
				body = upload(t, body)
			}
			body = string(z.EncodeAll([]byte(body), nil))
		}
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, "%s\n", res.Status)
		for _, name := range []string{"Content-Type", "Cache-Control", "X-Request-Id", "WWW-Authenticate", "Retry-After", "Allow"} {
			if v := res.Header.Get(name); v != "" {
				fmt.Fprintf(&out, "%s: %s\n", name, v)
			}
		}
		fmt.Fprintf(&out, "\n%s\n", answer)
		if log := s.log.String(); strings.Contains(log, token) || strings.Contains(log, s.identity.Secret) {
			t.Errorf("a secret is in the log: %s", log)
		}
		return changing.ReplaceAllFunc(out.Bytes(), func(found []byte) []byte {
			name, _, _ := bytes.Cut(found, []byte(":"))
			return append(name, ": ..."...)
		})
	})
}

// stream opens a config stream and returns its messages.
func (s *side) stream(t *testing.T, secret string, from plane.Cursor) (next func() (plane.Message, error), res *http.Response) {
	t.Helper()
	query := url.Values{"epoch": {fmt.Sprint(from.Epoch)}, "version": {fmt.Sprint(from.Version)}}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+plane.ConfigPath+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	if res, err = http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	z, err := zstd.NewReader(res.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(z)
	return func() (m plane.Message, err error) {
		line, err := lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &m)
		}
		return m, err
	}, res
}

func TestAStreamOverHTTP(t *testing.T) {
	s := start(t)
	next, res := s.stream(t, s.identity.Secret, plane.Cursor{})
	if res.StatusCode != 200 || res.Header.Get("Content-Encoding") != "zstd" {
		t.Fatalf("%s %v", res.Status, res.Header)
	}
	must := func() plane.Message {
		t.Helper()
		m, err := next()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := must(); m.Hello == nil || !m.Hello.Reset {
		t.Fatalf("first %+v", m)
	}
	if m := must(); m.Mark == nil || m.Mark.Version != 0 {
		t.Fatalf("second %+v", m)
	}
	if _, err := s.publisher.Catalog(t.Context(), publish.Catalog{Models: []plane.Model{{ID: "Darwin"}}}); err != nil {
		t.Fatal(err)
	}
	m := must()
	for m.Ping {
		m = must()
	}
	if m.Change == nil || m.Change.ID != "Darwin" || m.Change.Version != 1 {
		t.Fatalf("third %+v", m)
	}
	mark := must()
	if mark.Mark == nil || mark.Mark.Version != 1 {
		t.Fatalf("fourth %+v", mark)
	}
	body, err := json.Marshal(plane.Ack{Cursor: *mark.Mark, KeysHeld: 3, Build: "v2"})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+plane.AckPath, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.identity.Secret)
	ack, err := http.DefaultClient.Do(req)
	if err != nil || ack.StatusCode != http.StatusNoContent {
		t.Fatal(ack, err)
	}
	_ = ack.Body.Close()
	have, err := s.nodes.Have(t.Context(), *mark.Mark)
	if err != nil || len(have) != 1 || !have[0].Has || !have[0].Live || have[0].KeysHeld != 3 || have[0].Build != "v2" {
		t.Errorf("have %+v, %v", have, err)
	}
}

// A node that is forgotten loses its open stream as well.
func TestAForgottenNodeLosesItsStream(t *testing.T) {
	s := start(t)
	next, _ := s.stream(t, s.identity.Secret, plane.Cursor{})
	for pings := 0; pings < 4; { // longer than RecheckEvery: a node that is recognized keeps its stream
		m, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if m.Ping {
			pings++
		}
	}
	if err := s.nodes.Forget(t.Context(), "eu-1"); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := next(); err != nil {
			break
		}
	}
	for wait := time.Now(); !strings.Contains(s.log.String(), "path="+plane.ConfigPath+" status=200"); time.Sleep(10 * time.Millisecond) {
		if time.Since(wait) > 30*time.Second {
			t.Fatal("the stream did not end")
		}
	}
	if !strings.Contains(s.log.String(), "not valid any more") {
		t.Errorf("the stream ended for another reason: %s", s.log)
	}
	if _, res := s.stream(t, s.identity.Secret, plane.Cursor{}); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("afterwards: %s", res.Status)
	}
}

// Without a database every route answers 503.
func TestTheDatabaseIsAway(t *testing.T) {
	s := start(t)
	s.store.Close()
	for path, method := range map[string]string{
		plane.JoinPath: "POST", plane.AckPath: "POST", plane.UsagePath: "POST", plane.ConfigPath: "GET",
	} {
		credential := s.identity.Secret
		if path == plane.JoinPath {
			credential = token
		}
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(`{"name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+credential)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
}
