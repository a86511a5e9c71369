package stripesim

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Bounds of sending.
const (
	sendTimeout = 10 * time.Second
	// SendTries is how often a notification that nobody takes is sent.
	SendTries = 6
	sendPause = 500 * time.Millisecond // before the second attempt, doubled with each one
)

// Faults say how notifications are sent.
type Faults struct {
	Delay     time.Duration // the longest delay of each, at random
	Duplicate float64       // share of those that are sent twice
	Loss      float64       // share of those that are never sent
	Shuffle   bool          // each is delayed on its own; else they keep their order
}

type sender struct {
	client *http.Client
	url    string
	secret string

	mu     sync.Mutex
	faults Faults
	last   chan struct{} // closed when the one before was sent
	busy   sync.WaitGroup
}

// SetFaults changes how notifications are sent from now on.
func (s *Sim) SetFaults(f Faults) {
	s.mail.mu.Lock()
	defer s.mail.mu.Unlock()
	s.mail.faults = f
}

// tell records a notification and sends it.
func (s *Sim) tell(kind string, about object) {
	id := s.id("evt")
	body, err := json.Marshal(object{
		"id": id, "object": "event", "api_version": Version, "created": s.now().Unix(), "livemode": false, "type": kind,
		"pending_webhooks": 1, "data": object{"object": about},
	})
	if err != nil {
		panic("BUG: stripesim: " + err.Error())
	}
	e := Event{ID: id, Type: kind, Body: body}
	s.events = append(s.events, e)
	if s.c.WebhookURL != "" {
		s.mail.post(e)
	}
}

// Sign makes the header Stripe-Signature for a body, as Stripe documents its scheme v1: HMAC-SHA256 over time, dot and body.
func Sign(body []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

func (m *sender) wait() { m.busy.Wait() }

func (m *sender) post(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.faults
	if rand.Float64() < f.Loss { //nolint:gosec // no secret
		return
	}
	copies := 1
	if rand.Float64() < f.Duplicate { //nolint:gosec // no secret
		copies = 2
	}
	for range copies {
		before, done := m.last, make(chan struct{})
		if f.Shuffle {
			before = nil
		} else {
			m.last = done
		}
		delay := time.Duration(0)
		if f.Delay > 0 {
			delay = rand.N(f.Delay) //nolint:gosec // no secret
		}
		m.busy.Go(func() {
			defer close(done)
			if before != nil {
				<-before
			}
			time.Sleep(delay)
			m.send(e)
		})
	}
}

// send sends a notification until it is taken.
func (m *sender) send(e Event) {
	pause := sendPause
	for try := range SendTries {
		if try > 0 {
			time.Sleep(pause)
			pause *= 2
		}
		r, err := http.NewRequest(http.MethodPost, m.url, bytes.NewReader(e.Body)) //nolint:noctx // bounded by the client
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Stripe-Signature", Sign(e.Body, m.secret, time.Now()))
		r.Header.Set("X-Simulator", "stripesim")
		res, err := m.client.Do(r)
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode < 300 {
			return
		}
	}
}
