package crash

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage/usagetest"
)

// identity is what ingest knows a record by; there is one node.
type identity struct {
	incarnation string
	seq         uint64
}

// tap stands between the node and the control plane.
type tap struct {
	t        *testing.T
	target   *url.URL
	proxy    *httputil.ReverseProxy
	client   *http.Client
	sabotage string

	mu      sync.Mutex
	rand    *rand.Rand
	records map[identity]plane.UsageRecord
	late    []delivery // to be made again
	done    map[string]int
	spoiled string // the incarnation that is sabotaged
}

type delivery struct {
	header http.Header
	body   []byte
}

func newTap(t *testing.T, seed uint64, sabotage string) (p *tap, address string) {
	t.Helper()
	p = &tap{
		t: t, sabotage: sabotage, rand: rand.New(rand.NewPCG(seed, 2)), records: map[identity]plane.UsageRecord{}, done: map[string]int{},
		client: &http.Client{Timeout: 30 * time.Second},
	}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(p.target) }, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0), // of connections that are killed
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return p, server.URL
}

// ServeHTTP passes on what is no upload.
func (p *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != plane.UsagePath {
		p.proxy.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.upload(w, delivery{r.Header.Clone(), body})
}

// upload delivers in one of several manners.
func (p *tap) upload(w http.ResponseWriter, d delivery) {
	last := p.note(d)
	p.mu.Lock()
	how := []string{"once", "once", "twice", "at once", "again later", "without an answer"}[p.rand.IntN(6)]
	if name := d.header.Get(plane.HeaderIncarnation); p.sabotage != "" && (p.spoiled == "" || p.sabotage == "lose" && p.spoiled == name) {
		how, p.spoiled = p.sabotage, name
	}
	p.done[how]++
	var late *delivery
	if len(p.late) > 0 && p.rand.IntN(3) == 0 {
		i := p.rand.IntN(len(p.late))
		late, p.late = &p.late[i], append(p.late[:i:i], p.late[i+1:]...)
	}
	if how == "again later" {
		p.late = append(p.late, d)
	}
	p.mu.Unlock()
	if late != nil {
		_, _, _ = p.deliver(*late)
	}
	switch how {
	case "twice":
		_, _, _ = p.deliver(d)
	case "at once":
		var other sync.WaitGroup
		other.Go(func() { _, _, _ = p.deliver(d) })
		defer other.Wait()
	case "double":
		again := d.header.Clone()
		again.Set(plane.HeaderIncarnation, "sabotage")
		_, _, _ = p.deliver(delivery{again, d.body})
	case "lose":
		text, _ := json.Marshal(plane.UsageAck{Seq: last})
		_, _ = w.Write(text)
		return
	}
	status, answer, err := p.deliver(d)
	if err != nil || how == "without an answer" {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// note remembers the records of an upload. A number that stands for two records is a defect.
func (p *tap) note(d delivery) (last uint64) {
	z, err := zstd.NewReader(bytes.NewReader(d.body), zstd.WithDecoderConcurrency(1))
	if err != nil {
		p.t.Error(err)
		return 0
	}
	defer z.Close()
	records, err := usagetest.Read(z)
	if err != nil {
		p.t.Errorf("an upload cannot be read: %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range records {
		id := identity{d.header.Get(plane.HeaderIncarnation), r.Seq}
		if before, ok := p.records[id]; ok && before != r {
			p.t.Errorf("%v was %+v and is %+v", id, before, r)
		}
		p.records[id] = r
		last = r.Seq
	}
	return last
}

func (p *tap) deliver(d delivery) (status int, answer []byte, err error) {
	req, err := http.NewRequest(http.MethodPost, p.target.JoinPath(plane.UsagePath).String(), bytes.NewReader(d.body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = d.header.Clone()
	req.Header.Set("Content-Length", strconv.Itoa(len(d.body)))
	res, err := p.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// seen returns all records by the id of their call.
func (p *tap) seen() map[string][]plane.UsageRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string][]plane.UsageRecord{}
	for _, r := range p.records {
		all[r.RequestID] = append(all[r.RequestID], r)
	}
	return all
}
