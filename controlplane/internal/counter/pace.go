package counter

import (
	"fmt"
	"sync"
	"time"

	"modelgate.internal/shared/apierr"
)

// Pace bounds the requests of each network or developer: so many at once, then so many per minute. It is the generic cell rate algorithm
// (ITU-T I.371): of each of them one time is kept, until when its requests have used up the rate. It counts in the
// memory of this process and remembers SubjectsMax of them; when there are more, the older ones begin anew.
type Pace struct {
	now      func() time.Time
	what     string // is counted
	by       Subject
	perMin   int
	interval time.Duration // between requests at the rate
	slack    time.Duration // how far ahead of the rate a subject may be

	mu     sync.Mutex
	used   map[string]time.Time // written since turned
	before map[string]time.Time // written before that; nothing in it is removed one by one
	turned time.Time
}

// Subject is whose requests a Pace counts, in the words of its refusals.
type Subject string

// The subjects.
const (
	Network   Subject = "from one network"
	Developer Subject = "by one developer"
)

// NewPace returns a Pace of what is counted, in the plural ("requests"). Each subject may make burst of them at once and perMinute in
// the long run; both are positive.
func NewPace(now func() time.Time, what string, by Subject, perMinute, burst int) *Pace {
	interval := time.Minute / time.Duration(perMinute)
	return &Pace{
		now: now, what: what, by: by, perMin: perMinute, interval: interval, slack: interval * time.Duration(burst-1),
		used: make(map[string]time.Time), turned: now(),
	}
}

// Take counts a request of a subject. The error is a 429 that says how long to wait; a refused request is not counted.
func (p *Pace) Take(subject string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.turn(now)
	used, ok := p.used[subject]
	if !ok {
		used = p.before[subject]
	}
	if used.Before(now) {
		used = now
	}
	if wait := used.Sub(now) - p.slack; wait > 0 {
		e := apierr.New(apierr.Limited, "").After(wait)
		seconds, _ := e.RetrySeconds()
		e.Detail = fmt.Sprintf("More than %d %s per minute %s. The next one is possible in %d s.", p.perMin, p.what, p.by, seconds)
		return e
	}
	p.used[subject] = used.Add(p.interval)
	return nil
}

// turn begins a new map when the old one is full, or when everything in the one before it has passed: what is written is
// never further ahead than slack and one interval.
func (p *Pace) turn(now time.Time) {
	if len(p.used) < SubjectsMax/2 && now.Sub(p.turned) <= p.slack+p.interval {
		return
	}
	p.before, p.used, p.turned = p.used, make(map[string]time.Time), now
}

// Len is how many subjects are remembered.
func (p *Pace) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.used) + len(p.before)
}
