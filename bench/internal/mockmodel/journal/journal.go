package journal

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// MaxBodyBytes is how much of a request body is kept.
const MaxBodyBytes = 32 << 10

// Outcome says how an answer ended.
type Outcome string

// The outcomes.
const (
	Open       Outcome = "open"        // still being answered
	Done       Outcome = "done"        // answered as intended, refusals included
	Fault      Outcome = "fault"       // broken on purpose
	ClientGone Outcome = "client_gone" // the caller left before the end
	Stopped    Outcome = "stopped"     // the simulator was shut down
)

// View is what is known of one request, as /_mock/requests shows it. Times are UTC.
type View struct {
	Seq        int64             `json:"seq"`
	Outcome    Outcome           `json:"outcome"`
	Method     string            `json:"method"`
	Path       string            `json:"path"`
	Proto      string            `json:"proto"`
	RemoteAddr string            `json:"remote_addr"`
	Headers    map[string]string `json:"headers"`
	// Body is the beginning of the request body, BodyBytes its whole length.
	Body      string `json:"body"`
	BodyBytes int    `json:"body_bytes"`
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	// Scenario is the fault that was asked for, in its canonical spelling, or empty.
	Scenario string `json:"scenario"`
	// Status is the HTTP status answered, 0 while no head was sent.
	Status int `json:"status"`
	// Events is the number of stream events sent.
	Events      int        `json:"events"`
	ReceivedAt  time.Time  `json:"received_at"`
	CancelledAt *time.Time `json:"cancelled_at"`
	EndedAt     *time.Time `json:"ended_at"`
}

// Journal is a bounded memory of requests.
type Journal struct {
	mu   sync.Mutex
	now  func() time.Time
	ring []*Entry // seq s is at s % len
	last int64
	open int
}

// Entry is one request while it is being answered.
type Entry struct {
	j       *Journal
	view    View // guarded by j.mu
	closing bool
}

// New makes a journal of the newest size requests.
func New(size int, now func() time.Time) *Journal {
	return &Journal{now: now, ring: make([]*Entry, max(size, 1))}
}

// Begin notes the arrival of a request.
func (j *Journal) Begin(r *http.Request) *Entry {
	headers := make(map[string]string, len(r.Header)+1)
	for name, values := range r.Header {
		headers[name] = strings.Join(values, ", ")
		if secret(name) {
			headers[name] = "[redacted]"
		}
	}
	headers["Host"] = r.Host
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	j.open++
	e := &Entry{j: j, view: View{
		Seq: j.last, Outcome: Open, Method: r.Method, Path: r.URL.RequestURI(), Proto: r.Proto,
		RemoteAddr: r.RemoteAddr, Headers: headers, ReceivedAt: j.now().UTC(),
	}}
	j.ring[j.last%int64(len(j.ring))] = e
	return e
}

// Since returns copies of the kept requests with a sequence number above seq, oldest first, and the newest number.
func (j *Journal) Since(seq int64) (views []View, last int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	views = []View{}
	for s := max(seq+1, j.last-int64(len(j.ring))+1, 1); s <= j.last; s++ {
		if e := j.ring[s%int64(len(j.ring))]; e != nil && e.view.Seq == s {
			views = append(views, e.view)
		}
	}
	return views, j.last
}

// Open is the number of requests that are being answered now.
func (j *Journal) Open() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.open
}

// Reset forgets all requests. Sequence numbers go on, and requests still open keep counting as open.
func (j *Journal) Reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.ring)
}

// Body notes the request body.
func (e *Entry) Body(body []byte) {
	kept := string(body[:min(len(body), MaxBodyBytes)])
	e.change(func(v *View) { v.Body, v.BodyBytes = kept, len(body) })
}

// Describe notes what the body asked for.
func (e *Entry) Describe(model, scenario string, stream bool) {
	e.change(func(v *View) { v.Model, v.Scenario, v.Stream = model, scenario, stream })
}

// Status notes the status of the answer's head.
func (e *Entry) Status(code int) { e.change(func(v *View) { v.Status = code }) }

// Events notes that n more stream events were sent.
func (e *Entry) Events(n int) { e.change(func(v *View) { v.Events += n }) }

// Closing says that the last bytes of the answer are about to be written: who leaves from now on has the whole
// answer and does not count as a caller that left.
func (e *Entry) Closing() {
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	e.closing = true
}

// Left notes that the caller went away. Only the first call before Closing and End counts.
func (e *Entry) Left() {
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	if e.closing || e.view.CancelledAt != nil || e.view.EndedAt != nil {
		return
	}
	at := e.j.now().UTC()
	e.view.CancelledAt = &at
}

// End closes the entry with the outcome, which is ClientGone whatever is said if the caller left before.
func (e *Entry) End(outcome Outcome) {
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	if e.view.EndedAt != nil {
		return
	}
	at := e.j.now().UTC()
	e.view.EndedAt, e.view.Outcome = &at, outcome
	if e.view.CancelledAt != nil {
		e.view.Outcome = ClientGone
	}
	e.j.open--
}

func (e *Entry) change(f func(*View)) {
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	if e.view.EndedAt == nil {
		f(&e.view)
	}
}

func secret(header string) bool {
	switch http.CanonicalHeaderKey(header) {
	case "Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "Cookie":
		return true
	}
	return false
}
