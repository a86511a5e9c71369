package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/quota/quotatest"
	"modelgate.internal/dataplane/internal/replay"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// node is a data plane whose keys, upstreams and ledger are fakes.
type node struct {
	model   *model
	keys    *keys
	ledger  *ledger
	quota   *quotatest.Ledger
	budget  *listener.Budget
	revoke  context.CancelCauseFunc
	watch   *listener.Watch
	servers []*listener.Server
	main    string // address
	darwin  string
	reg     *prometheus.Registry
	drain   func() error
	speech  *speechServer
}

// operations parses the contract once for all tests.
var operations = sync.OnceValues(contract.Operations)

func start(t *testing.T, change func(*gateway.Options)) *node {
	t.Helper()
	n := &node{speech: newSpeechServer(t)}
	g := n.assemble(t, change)
	log := slog.New(slog.DiscardHandler)
	var err error
	n.watch, err = listener.NewWatch()
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 3)
	go func() { done <- n.watch.Run(ctx) }()
	n.budget = listener.NewBudget(64 << 20)
	sockets, err := listener.Inherited(func(string) (string, bool) { return "", false })
	must(t, err)
	serve := func(name string, host gateway.Host) string {
		socket, err := sockets.Listen(t.Context(), name, "127.0.0.1:0")
		must(t, err)
		s := listener.New(listener.Options{
			Name: name, Socket: socket, Watch: n.watch, Budget: n.budget, ConnsMax: 200,
			Handler: g.Handler(host), Refuse: g.Refuse, BodyMax: g.BodyMax, UploadMax: g.UploadMax,
			UploadTime: uploadTime, WriteTime: 30 * time.Second, Log: log,
		})
		n.servers = append(n.servers, s)
		go func() { done <- s.Serve() }()
		return socket.Addr().String()
	}
	n.main, n.darwin = serve("gateway", gateway.MainHost), serve("darwin", gateway.DarwinHost)
	n.drain = func() error {
		return listener.Drain(context.Background(), n.watch, 300*time.Millisecond, log, n.servers...)
	}
	t.Cleanup(func() {
		if err := n.drain(); err != nil {
			t.Errorf("drain: %v", err)
		}
		cancel()
		for range 3 {
			if err := <-done; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
	})
	return n
}

// assemble makes the gateway of a node, without anything that listens.
func (n *node) assemble(t *testing.T, change func(*gateway.Options)) *gateway.Gateway {
	t.Helper()
	n.model, n.ledger, n.reg = newModel(), &ledger{}, prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	n.quota = quotatest.New()
	limiter := limit.New(n.quota.Node(t, 1))
	operations, err := operations()
	must(t, err)
	handlers := api.New(api.Options{
		Pool: func(id string) (api.Pool, bool) {
			if id == "broken" {
				return nil, false
			}
			return alone{n.model, id}, true
		},
		Service: n.service,
		Members: func(id string, from pool.From) []pool.MemberStatus {
			if from.Account == "" {
				return nil // every caller has one
			}
			switch id {
			case "simulator":
				return []pool.MemberStatus{{Upstream: id, State: pool.StateOpen, Back: 3 * time.Second}}
			case "transcribe":
				return members(id)
			}
			return []pool.MemberStatus{{Upstream: id, State: pool.StateUp, InFlight: 2}}
		},
		Fresh: func() wire.ConfigHealth {
			return wire.ConfigHealth{Epoch: 1, Version: 7, AgeSeconds: 0.5, Connected: true}
		},
		Draining: func() bool { return false }, Node: "node-1", Version: "test", Now: time.Now,
	})
	k := &keys{limiter: limiter}
	n.keys = k
	k.revoked, n.revoke = context.WithCancelCause(context.Background())
	o := gateway.Options{
		Authenticate: k.authenticate, Admit: limiter.Admit, AdmitPeer: limit.NewPeers(3, 100).Admit, Peek: limiter.Peek,
		Record: n.ledger.record, CanRecord: n.ledger.canRecord,
		Claim:   replay.New(replay.Options{Send: newClaims().send, Log: log}).Claim,
		Current: current, Operations: operations, Routes: gateway.Routes(handlers),
		GatewayURL: "http://gateway", DarwinURL: "http://darwin", CallTimeMax: time.Minute,
		Metrics: gateway.NewMetrics(n.reg), Log: log, Now: time.Now,
	}
	if change != nil {
		change(&o)
	}
	g, err := gateway.New(o)
	must(t, err)
	return g
}

func current() *plane.Current {
	tasks := []string{"conversation", "vision"}
	return &plane.Current{
		Cursor: plane.Cursor{Epoch: 1, Version: 7},
		Models: map[string]plane.Model{
			"Darwin": {ID: "Darwin", Family: "darwin", Tasks: tasks, Upstream: "chat", Setting: "MODELGATE_CHAT_URL"},
			"Nova":   {ID: "Nova", Family: "darwin", Tasks: tasks, Setting: "MODELGATE_NOVA_URL"},
			"Mock":   {ID: "Mock", Family: "darwin", Tasks: tasks, Upstream: "simulator", Setting: "MODELGATE_CHAT_URL"},
			"Broken": {ID: "Broken", Family: "darwin", Tasks: tasks, Upstream: "broken", Setting: "MODELGATE_CHAT_URL"},
		},
		Upstreams: map[string]plane.UpstreamSpec{
			"chat": {ID: "chat", Dialect: plane.DialectChat}, "simulator": {ID: "simulator", Dialect: plane.DialectChat, Simulator: true},
			"broken": {ID: "broken", Dialect: plane.DialectChat},
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// send writes a request on a new connection.
func send(t *testing.T, address, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(hang)))
	_, err = io.WriteString(conn, request)
	must(t, err)
	return conn
}

// post is a request to an operation with a JSON body.
func post(path, key, body string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " + key + "\r\nContent-Type: application/json\r\n" +
		"Content-Length: " + itoa(len(body)) + "\r\n\r\n" + body
}

func ask(key, prompt string, stream bool) string {
	body := `{"prompt":"` + prompt + `"}`
	if stream {
		body = `{"prompt":"` + prompt + `","stream":true}`
	}
	return post("/api/v1/agent", key, body)
}

// receive returns the whole answer as it was sent.
func receive(t *testing.T, conn net.Conn, method string) []byte {
	t.Helper()
	var raw bytes.Buffer
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("read answer: %v; got %q", err, raw.Bytes())
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatalf("read answer: %v; got %q", err, raw.Bytes())
	}
	must(t, res.Body.Close())
	return raw.Bytes()
}

var (
	filler   = regexp.MustCompile(`@(\d+)@`)
	changing = []struct {
		what *regexp.Regexp
		with string
	}{
		{regexp.MustCompile(`(?m)^Date: .*$`), "Date: <date>"},
		{regexp.MustCompile(`(?m)^X-Request-Id: [0-9A-Z]{20}$`), "X-Request-Id: <id>"},
		{regexp.MustCompile(`dur=[0-9.]+`), "dur=<ms>"},
	}
)

// TestTranscripts sends the request of each file as it is written, with CRLF for line breaks in the head, the length of the
// body for @length@ and that many letters for @9000@, to the host that its Host header names.
func TestTranscripts(t *testing.T) {
	testkit.Transcripts(t, "testdata", func(t *testing.T, request []byte) []byte { return start(t, nil).transcribe(t, request) })
}

// transcribe sends the request of a transcript and returns the answer.
func (n *node) transcribe(t *testing.T, request []byte) []byte {
	t.Helper()
	head, body, _ := strings.Cut(string(request), "\n\n")
	head = strings.ReplaceAll(head, "@length@", itoa(len(body)))
	head = filler.ReplaceAllStringFunc(head, func(s string) string { return strings.Repeat("x", atoi(strings.Trim(s, "@"))) })
	address := n.main
	if strings.Contains(head, "\nHost: darwin") {
		address = n.darwin
	}
	method, _, _ := strings.Cut(head, " ")
	if strings.Contains(head, "chunked") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	conn := send(t, address, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body)
	return []byte(constant(string(receive(t, conn, method))))
}

// constant is an answer as transcripts hold it.
func constant(answer string) string {
	answer = strings.ReplaceAll(answer, "\r\n", "\n")
	for _, c := range changing {
		answer = c.what.ReplaceAllString(answer, c.with)
	}
	if !strings.HasSuffix(answer, "\n") {
		answer += "\n"
	}
	return answer
}
