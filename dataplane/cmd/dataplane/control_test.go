package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage/usagetest"
)

// control stands for the control plane's internal listener: a node joins, follows what publish appends, and ships usage.
type control struct {
	*httptest.Server
	mu      sync.Mutex
	cond    *sync.Cond
	changes []plane.Change
	gone    bool
	usage   []plane.UsageRecord
}

func newControl(t *testing.T) *control {
	c := &control{}
	c.cond = sync.NewCond(&c.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+plane.JoinPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(plane.JoinAnswer{NodeID: "node_1", Secret: "secret"})
	})
	mux.HandleFunc("POST "+plane.AckPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET "+plane.ConfigPath, c.stream)
	mux.HandleFunc("POST "+plane.UsagePath, c.take)
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.stop)
	return c
}

// stop ends the streams and the server.
func (c *control) stop() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.cond.Broadcast()
	c.CloseClientConnections()
	c.Close()
}

func (c *control) publish(kind, id string, record any) {
	body, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	c.changes = append(c.changes, plane.Change{
		Version: plane.Version(len(c.changes) + 1), Kind: kind, ID: id, Body: body, Gone: record == nil,
	})
	c.mu.Unlock()
	c.cond.Broadcast()
}

// stream sends everything from the start, as to a node without state, and then what is published.
func (c *control) stream(w http.ResponseWriter, _ *http.Request) {
	z, err := zstd.NewWriter(w)
	if err != nil {
		panic(err)
	}
	defer z.Close()
	lines := json.NewEncoder(z)
	send := func(m plane.Message) { _ = lines.Encode(m) }
	send(plane.Message{Hello: &plane.Hello{Epoch: 1, Reset: true, KeyPeppers: [][]byte{[]byte(pepper)}}})
	c.mu.Lock()
	defer c.mu.Unlock()
	for sent := 0; !c.gone; {
		for ; sent < len(c.changes); sent++ {
			send(plane.Message{Change: &c.changes[sent]})
		}
		send(plane.Message{Mark: &plane.Cursor{Epoch: 1, Version: plane.Version(sent)}})
		if z.Flush() != nil {
			return
		}
		w.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's own
		c.cond.Wait()
	}
}

func (c *control) take(w http.ResponseWriter, r *http.Request) {
	z, err := zstd.NewReader(r.Body)
	if err != nil {
		panic(err)
	}
	defer z.Close()
	records, err := usagetest.Read(z)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage = append(c.usage, records...)
	_ = json.NewEncoder(w).Encode(plane.UsageAck{Seq: records[len(records)-1].Seq})
}

func (c *control) records() []plane.UsageRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]plane.UsageRecord(nil), c.usage...)
}
