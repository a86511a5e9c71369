package counter

import (
	"fmt"
	"sync"
	"time"

	"modelgate.internal/shared/apierr"
)

// Pace bounds the requests of each network: so many at once, then so many per minute. It is the generic cell rate algorithm
// (ITU-T I.371): of every network one time is kept, until when its requests have used up the rate. It counts in the
// memory of this process and remembers NetworksMax networks; when there are more, the older ones begin anew.
type Pace struct {
	now      func() time.Time
	perMin   int
	interval time.Duration // between requests at the rate
	slack    time.Duration // how far ahead of the rate a network may be

	mu     sync.Mutex
	used   map[string]time.Time // written since turned
	before map[string]time.Time // written before that; nothing in it is removed one by one
	turned time.Time
}

// NewPace returns a Pace. A network may make burst requests at once and perMinute in the long run; both are positive.
func NewPace(now func() time.Time, perMinute, burst int) *Pace {
	interval := time.Minute / time.Duration(perMinute)
	return &Pace{
		now: now, perMin: perMinute, interval: interval, slack: interval * time.Duration(burst-1),
		used: make(map[string]time.Time), turned: now(),
	}
}

// Take counts a request of a network. The error is a 429 that says how long to wait; a refused request is not counted.
func (p *Pace) Take(network string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.turn(now)
	used, ok := p.used[network]
	if !ok {
		used = p.before[network]
	}
	if used.Before(now) {
		used = now
	}
	if wait := used.Sub(now) - p.slack; wait > 0 {
		e := apierr.New(apierr.Limited, "").After(wait)
		seconds, _ := e.RetrySeconds()
		e.Detail = fmt.Sprintf("More than %d requests per minute from one network. The next one is possible in %d s.", p.perMin, seconds)
		return e
	}
	p.used[network] = used.Add(p.interval)
	return nil
}

// turn begins a new map when the old one is full, or when everything in the one before it has passed: what is written is
// never further ahead than slack and one interval.
func (p *Pace) turn(now time.Time) {
	if len(p.used) < NetworksMax/2 && now.Sub(p.turned) <= p.slack+p.interval {
		return
	}
	p.before, p.used, p.turned = p.used, make(map[string]time.Time), now
}

// Len is how many networks are remembered.
func (p *Pace) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.used) + len(p.before)
}
