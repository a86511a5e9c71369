package playground

import (
	"fmt"
	"sync"

	"modelgate.internal/shared/apierr"
)

// room bounds what calls hold at a time.
type room struct {
	mu          sync.Mutex
	calls       int
	bytes       int64
	byDeveloper map[string]int
}

func (r *room) enter(developerID string, bodyBytes int64) (sent, left func(), err error) {
	if bodyBytes < 0 || bodyBytes > BodyBytesMax {
		bodyBytes = BodyBytesMax
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byDeveloper[developerID] >= CallsPerDeveloperMax {
		return nil, nil, apierr.New(apierr.Limited, fmt.Sprintf(
			"%d calls of yours are running in the playground, the most there can be. Wait for one to end.", CallsPerDeveloperMax)).After(RetryAfter)
	}
	if r.calls >= CallsMax || r.bytes+bodyBytes > BodiesBytesMax {
		return nil, nil, apierr.New(apierr.Unavailable, "Too many calls are running in the playground. Try again in a moment.").After(RetryAfter)
	}
	r.calls++
	r.bytes += bodyBytes
	r.byDeveloper[developerID]++
	sent = sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bytes -= bodyBytes
	})
	left = sync.OnceFunc(func() {
		sent()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls--
		if r.byDeveloper[developerID]--; r.byDeveloper[developerID] == 0 {
			delete(r.byDeveloper, developerID)
		}
	})
	return sent, left, nil
}
