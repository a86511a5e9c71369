package account

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"modelgate.internal/shared/apierr"
)

// Throttle makes repeated attempts wait. It counts in the memory of this process: the first attempts of a subject are
// free, after that every one doubles the pause. Bounded; when it is full, quiet subjects are forgotten first.
type Throttle struct {
	Now func() time.Time

	mu       sync.Mutex
	subjects map[string]*attempts
}

type attempts struct {
	count int
	last  time.Time
	open  time.Time // no attempt before
}

// NewThrottle returns an empty Throttle.
func NewThrottle(now func() time.Time) *Throttle {
	return &Throttle{Now: now, subjects: make(map[string]*attempts)}
}

// Pace is how fast a subject may go: the first attempts are free, then the pause doubles up to the longest.
type Pace struct {
	Free     int
	PauseMax time.Duration
}

// The paces.
var (
	paceLogin    = Pace{ThrottleAccountFree, ThrottlePauseMax}
	paceNetwork  = Pace{ThrottleNetworkFree, ThrottlePauseMax}
	paceMail     = Pace{ThrottleMailFree, ThrottlePauseMax}
	paceRegister = Pace{ThrottleRegisterFree, ThrottleRegisterPauseMax}
)

// Attempt counts an attempt of subject. The error is a 429 that says how long to wait; a refused attempt is not counted.
// Counting before the outcome is known keeps parallel attempts from all being free.
func (t *Throttle) Attempt(subject string, pace Pace) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Now()
	a := t.subjects[subject]
	if a != nil && now.Sub(a.last) > ThrottleForgetAfter {
		a = nil
	}
	if a == nil {
		t.room(now)
		a = &attempts{}
		t.subjects[subject] = a
	}
	if wait := a.open.Sub(now); wait > 0 {
		e := apierr.New(apierr.Limited, "").After(wait)
		seconds, _ := e.RetrySeconds()
		e.Detail = fmt.Sprintf("Too many attempts. The next one is possible in %d s.", seconds)
		return e
	}
	a.count++
	a.last = now
	if over := a.count - pace.Free; over >= 0 {
		a.open = now.Add(min(ThrottlePauseMin<<min(over, 20), pace.PauseMax))
	}
	return nil
}

// Count is how many attempts of subject are remembered.
func (t *Throttle) Count(subject string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.subjects[subject]; a != nil {
		return a.count
	}
	return 0
}

// Refund takes one attempt of subject back: it succeeded, but says nothing about the others.
func (t *Throttle) Refund(subject string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.subjects[subject]; a != nil {
		a.count--
		a.open = time.Time{}
	}
}

// Forgive forgets all attempts of subject.
func (t *Throttle) Forgive(subject string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subjects, subject)
}

// room makes sure that one more subject fits.
func (t *Throttle) room(now time.Time) {
	if len(t.subjects) < ThrottleEntriesMax {
		return
	}
	for subject, a := range t.subjects {
		if now.Sub(a.last) > ThrottleForgetAfter {
			delete(t.subjects, subject)
		}
	}
	for subject := range t.subjects { // map order is as good as any: all of them were busy within the hour
		if len(t.subjects) < ThrottleEntriesMax {
			return
		}
		delete(t.subjects, subject)
	}
}

// Network is what attempts from an address are counted under: its /24, or /56 for IPv6. An address that is none counts
// as itself.
func Network(remote string) string {
	addr, err := netip.ParseAddr(remote)
	if err != nil {
		return remote
	}
	addr = addr.Unmap().WithZone("")
	bits := 24
	if addr.Is6() {
		bits = 56
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return remote
	}
	return prefix.String()
}

// Len is how many subjects are remembered.
func (t *Throttle) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.subjects)
}
