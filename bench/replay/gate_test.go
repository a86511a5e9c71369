package replay

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage/usagetest"
)

// gate stands before the control plane and takes the uploads in its place, while it is open. Closed, it has them wait.
type gate struct {
	t     *testing.T
	proxy *httputil.ReverseProxy

	mu      sync.Mutex
	open    chan struct{}     // closed when uploads are taken
	stored  map[string]uint64 // by incarnation
	uploads int
	taken   uint64 // records
}

func newGate(t *testing.T, target *url.URL) (g *gate, address string) {
	t.Helper()
	g = &gate{t: t, open: make(chan struct{}), stored: map[string]uint64{}}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0), // of a control plane that is still starting
	}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return g, server.URL
}

// set opens or closes the gate. An upload that it is taking is taken whole.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if open {
		close(g.open)
	} else {
		g.open = make(chan struct{})
	}
}

// counts returns how many uploads and records were taken.
func (g *gate) counts() (uploads int, records uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.uploads, g.taken
}

// ServeHTTP passes on what is no upload.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != plane.UsagePath {
		g.proxy.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
	case <-r.Context().Done():
		return
	}
	text, err := json.Marshal(plane.UsageAck{Seq: g.take(r.Header.Get(plane.HeaderIncarnation), body)})
	if err != nil {
		g.t.Error(err)
	}
	_, _ = w.Write(text)
}

// take counts the records that are new and returns how far the incarnation is stored.
func (g *gate) take(incarnation string, body []byte) uint64 {
	z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1))
	if err != nil {
		g.t.Error(err)
		return 0
	}
	defer z.Close()
	records, err := usagetest.Read(z)
	if err != nil || len(records) == 0 {
		g.t.Errorf("an upload of %d records: %v", len(records), err)
		return 0
	}
	first, last := records[0].Seq, records[len(records)-1].Seq
	g.mu.Lock()
	defer g.mu.Unlock()
	stored := g.stored[incarnation]
	if first > stored+1 {
		g.t.Errorf("an upload begins with record %d, stored are %d", first, stored)
	}
	g.uploads++
	if last > stored {
		g.taken += last - stored
		g.stored[incarnation] = last
	}
	return g.stored[incarnation]
}
