package snapshot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/dataplane/internal/snapshot"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

const (
	joinToken = "join me"
	patience  = 3 * time.Minute // with anything; the machine may be busy, and 21,000 keys took more than one
)

// fakePlane is a control plane whose config streams a test writes by hand.
type fakePlane struct {
	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	secret  string
	joins   []plane.JoinRequest
	streams chan *fakeStream
	acks    chan plane.Ack
	refuse  int // status to answer streams with, 0 accepts
}

// fakeStream is one open config stream.
type fakeStream struct {
	epoch, version string
	lines          chan any // a plane.Message, raw bytes, or nil to end the stream
	gone           <-chan struct{}
}

func newPlane(t testing.TB) *fakePlane {
	p := &fakePlane{t: t, secret: "secret-1", streams: make(chan *fakeStream, 10), acks: make(chan plane.Ack, 1000)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+plane.JoinPath, p.join)
	mux.HandleFunc("GET "+plane.ConfigPath, p.config)
	mux.HandleFunc("POST "+plane.AckPath, p.ack)
	p.server = httptest.NewServer(mux)
	t.Cleanup(p.server.Close)
	return p
}

func (p *fakePlane) set(secret string, refuse int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secret, p.refuse = secret, refuse
}

func (p *fakePlane) joined() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.joins)
}

func (p *fakePlane) join(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var request plane.JoinRequest
	if r.Header.Get("Authorization") != "Bearer "+joinToken || json.NewDecoder(r.Body).Decode(&request) != nil {
		http.Error(w, `{"detail":"who are you"}`, http.StatusUnauthorized)
		return
	}
	p.joins = append(p.joins, request)
	_ = json.NewEncoder(w).Encode(plane.JoinAnswer{NodeID: "node-1", Secret: p.secret})
}

func (p *fakePlane) known(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+p.secret {
		http.Error(w, `{"detail":"unknown node"}`, http.StatusUnauthorized)
		return false
	}
	if p.refuse != 0 {
		http.Error(w, `{"detail":"not now"}`, p.refuse)
		return false
	}
	return true
}

func (p *fakePlane) config(w http.ResponseWriter, r *http.Request) {
	if !p.known(w, r) {
		return
	}
	s := &fakeStream{
		epoch: r.URL.Query().Get("epoch"), version: r.URL.Query().Get("version"),
		lines: make(chan any), gone: r.Context().Done(),
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush() // httptest's writers are
	encoder, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		p.t.Error(err)
		return
	}
	p.streams <- s
	for {
		select {
		case line := <-s.lines:
			raw, isRaw := line.([]byte)
			if !isRaw {
				if line == nil {
					return
				}
				raw, _ = json.Marshal(line)
				raw = append(raw, '\n')
			}
			_, _ = encoder.Write(raw)
			_ = encoder.Flush()
			w.(http.Flusher).Flush() // httptest's writers are
		case <-r.Context().Done():
			return
		}
	}
}

func (p *fakePlane) ack(w http.ResponseWriter, r *http.Request) {
	if !p.known(w, r) {
		return
	}
	var ack plane.Ack
	if err := json.NewDecoder(r.Body).Decode(&ack); err != nil {
		p.t.Errorf("acknowledgement: %v", err)
	}
	p.acks <- ack
	w.WriteHeader(http.StatusNoContent)
}

// stream waits for the next config stream.
func (p *fakePlane) stream() *fakeStream {
	p.t.Helper()
	select {
	case s := <-p.streams:
		return s
	case <-time.After(patience):
		p.t.Fatal("the node opens no stream")
		return nil
	}
}

// acked waits for the acknowledgement of a cursor.
func (p *fakePlane) acked(epoch uint64, version plane.Version) plane.Ack {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case ack := <-p.acks:
			if ack.Cursor == (plane.Cursor{Epoch: epoch, Version: version}) {
				return ack
			}
		case <-timeout:
			p.t.Fatalf("the node does not acknowledge version %d", version)
		}
	}
}

// send writes messages; it gives up when the node has gone.
func (s *fakeStream) send(messages ...plane.Message) {
	for _, m := range messages {
		s.raw(m)
	}
}

func (s *fakeStream) raw(line any) {
	select {
	case s.lines <- line:
	case <-s.gone:
	}
}

var testPepper = []byte("pepper of the test, 32 bytes lon")

func hello(epoch uint64, reset bool) plane.Message {
	return plane.Message{Hello: &plane.Hello{
		Epoch: epoch, Reset: reset, KeyPeppers: [][]byte{testPepper}, StreamKeys: map[string][]byte{"k1": {1, 2, 3}},
	}}
}

func mark(epoch uint64, version plane.Version) plane.Message {
	return plane.Message{Mark: &plane.Cursor{Epoch: epoch, Version: version}}
}

func change(version plane.Version, kind, id string, body any) plane.Message {
	c := &plane.Change{Version: version, Kind: kind, ID: id, Gone: body == nil}
	if body != nil {
		c.Body, _ = json.Marshal(body)
	}
	return plane.Message{Change: c}
}

func keyID(name string) string {
	digest := key.Hash(name)
	const hexDigits = "0123456789abcdef"
	var id []byte
	for _, b := range digest {
		id = append(id, hexDigits[b>>4], hexDigits[b&15])
	}
	return string(id)
}

func keyChange(version plane.Version, name string) plane.Message {
	return change(version, plane.KindKey, keyID(name), plane.Principal{KeyID: name, Kind: key.Test})
}

func keyGone(version plane.Version, name string) plane.Message {
	return change(version, plane.KindKey, keyID(name), nil)
}

// node is a source that runs.
type node struct {
	*snapshot.Source
	link *snapshot.Link
	log  *syncBuffer
	stop func()
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// watcher is told about changes of keys.
type watcher interface {
	KeyChanged(digest key.Digest, gone bool)
	AllChanged()
}

func startNode(t testing.TB, dir, url string, w watcher) *node {
	t.Helper()
	buffer := &syncBuffer{}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(buffer, t.Output()), nil))
	link, err := snapshot.NewLink(snapshot.LinkOptions{
		BaseURL: url, JoinToken: joinToken, Name: "eu-1", Build: "test", DataDir: dir, Client: &http.Client{}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open(snapshot.Options{DataDir: dir, Build: "test", Link: link, Now: time.Now, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if w != nil {
		s.Watch(w.KeyChanged, w.AllChanged)
		if c, ok := w.(interface{ CatalogChanged(current *plane.Current) }); ok {
			s.WatchCatalog(c.CatalogChanged)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return &node{s, link, buffer, stop}
}

// has checks which of the keys the node knows.
func (n *node) has(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range []string{"a", "b", "c", "d"} {
		p, found, err := n.Lookup(key.Hash(name))
		if err != nil {
			t.Errorf("key %s: %v", name, err)
		}
		if found != slices.Contains(names, name) || (found && p.KeyID != name) {
			t.Errorf("key %s: found %v, %+v; the node should have %v", name, found, p, names)
		}
	}
}

// eventually waits for something another goroutine is about to do.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range patience / (5 * time.Millisecond) {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: not within %s", what, patience)
}
