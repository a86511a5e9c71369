package node

import (
	"context"
	"sync"
	"time"

	"modelgate.internal/shared/plane"
)

// watch looks at what the nodes have acknowledged, for all who wait at once. Acknowledgements arrive at any process, so it asks the
// database: now and then, and when one has arrived at this process. It asks only while somebody waits.
//
// It also notes since when a node owes a version. One that has owed the same version for more than AwaitMax is behind, until it has
// that version: somebody has waited for it as long as anybody does, and nobody else should.
type watch struct {
	look  func(ctx context.Context) sight
	acked bell // rings with every acknowledgement that was stored by this process

	mu      sync.Mutex
	waiting int
	running bool          // a goroutine looks
	last    *sight        // nil before the first look since somebody waits
	next    chan struct{} // closed when there is a newer one
	debts   map[string]debt
}

// sight is how the nodes stood at a moment.
type sight struct {
	nodes  []NodeState // all that are expected to follow
	newest plane.Cursor
	behind map[string]bool // by ID
	err    error           // the database could not be asked, and nothing else is known
}

// debt is a version that a node has not acknowledged.
type debt struct {
	version plane.Version
	since   time.Time
}

func newWatch(look func(ctx context.Context) sight) *watch {
	return &watch{look: look, next: make(chan struct{})}
}

// join makes the watch look until the returned function is called.
func (w *watch) join() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting++
	if !w.running {
		w.running = true
		go w.run()
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting--
	}
}

// latest returns the last sight, nil without one, and a channel that is closed when there is a newer one.
func (w *watch) latest() (*sight, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.next
}

// run looks as long as somebody waits. The store bounds each look.
func (w *watch) run() {
	for longest := awaitPauseMin; ; longest = min(2*longest, awaitPauseMax) {
		acked := w.acked.wait() // before the look, so that none is missed
		s := w.look(context.Background())
		if !w.show(&s, time.Now()) {
			return
		}
		pause(acked, longest)
	}
}

// show tells those who wait of a sight. It reports false when nobody does: the goroutine ends then.
func (w *watch) show(s *sight, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.err == nil {
		w.debts = s.judge(w.debts, now)
	}
	w.last = s
	close(w.next)
	w.next = make(chan struct{})
	if w.waiting == 0 {
		w.last, w.running = nil, false
	}
	return w.running
}

// judge says which nodes are behind, and returns what each node owes now.
func (s *sight) judge(before map[string]debt, now time.Time) map[string]debt {
	s.behind = make(map[string]bool)
	owed := make(map[string]debt)
	for _, n := range s.nodes {
		if n.has(s.newest) {
			continue
		}
		d, known := before[n.ID]
		if !known || n.has(plane.Cursor{Epoch: s.newest.Epoch, Version: d.version}) {
			d = debt{s.newest.Version, now}
		}
		owed[n.ID] = d
		s.behind[n.ID] = now.Sub(d.since) > AwaitMax
	}
	return owed
}

// pause waits for an acknowledgement, no shorter than awaitPauseMin and no longer than longest.
func pause(acked <-chan struct{}, longest time.Duration) {
	time.Sleep(awaitPauseMin)
	select {
	case <-acked:
	case <-time.After(longest - awaitPauseMin):
	}
}

// bell wakes everyone who waits for an acknowledgement, any number of times.
type bell struct {
	mu sync.Mutex
	c  chan struct{} // nil when nobody waits
}

func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}
