package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Leave is a run of clients that go away before their answer is whole, all at once, every second one by a reset.
type Leave struct {
	Target Target
	Count  int
	// OpenOver is the time within which they come, evenly spread.
	OpenOver time.Duration
	// AfterEvents is the number of events that each wants to see before all leave; 0 is none.
	AfterEvents int64
	// Wait is the time between the last client's readiness and the departure.
	Wait time.Duration
	// Limit bounds the time until all are ready or have ended.
	Limit time.Duration
}

// LeaveResult is what a run of Leave found.
type LeaveResult struct {
	Clients int           `json:"clients"`
	Ready   int64         `json:"ready"` // had sent their request and seen their events when all left
	Early   int64         `json:"early"` // whose answer ended before, or never came
	Status  map[int]int64 `json:"status"`
	Left    time.Time     `json:"left"` // the first departure
	// LeavingMicros is the time from the first departure to the last.
	LeavingMicros float64 `json:"leaving_us"`
}

type leaveRun struct {
	Leave
	ready, early atomic.Int64
	settled      sync.WaitGroup // clients of whom it is not known yet whether they get ready

	mu     sync.Mutex
	conns  []*conn
	gone   bool // leave was called
	status map[int]int64
}

// Run opens, waits until all are ready, calls before, and leaves.
func (l Leave) Run(ctx context.Context, before func(context.Context) error) (LeaveResult, error) {
	switch {
	case l.Count < 1 || l.Count > connectionsMax:
		return LeaveResult{}, fmt.Errorf("%d clients: 1 to %d can come", l.Count, connectionsMax)
	case l.Limit <= 0 || l.Limit > runMax || l.OpenOver < 0 || l.Wait < 0 || l.OpenOver+l.Wait > l.Limit:
		return LeaveResult{}, fmt.Errorf("coming for %s and waiting for %s does not fit into %s, which is at most %s", l.OpenOver, l.Wait, l.Limit, runMax)
	}
	r := &leaveRun{Leave: l, status: map[int]int64{}}
	r.settled.Add(l.Count)
	end := time.Now().Add(l.Limit)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer r.leave() // also when something fails: nobody stays behind
	for i := range l.Count {
		clients.Go(func() {
			pause(l.OpenOver*time.Duration(i)/time.Duration(l.Count), ctx.Done())
			r.client(ctx, end)
		})
	}
	settled := make(chan struct{})
	clients.Go(func() { r.settled.Wait(); close(settled) })
	select {
	case <-settled:
		pause(l.Wait, ctx.Done())
	case <-time.After(time.Until(end)):
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return LeaveResult{}, err
	}
	if before != nil {
		if err := before(ctx); err != nil {
			return LeaveResult{}, err
		}
	}
	result := LeaveResult{Clients: l.Count, Ready: r.ready.Load(), Early: r.early.Load(), Left: time.Now()}
	r.leave()
	result.LeavingMicros = float64(time.Since(result.Left)) / 1e3
	clients.Wait()
	result.Status = r.status
	return result, nil
}

// client comes, looks at what it gets and stays until it is made to leave.
func (r *leaveRun) client(ctx context.Context, end time.Time) {
	var said bool
	say := func(ready int64) {
		if !said {
			said = true
			r.ready.Add(ready)
			r.settled.Done()
		}
	}
	defer say(0) // one that ended before is not waited for
	c, err := dial(ctx, r.Target, bufferBytes, end)
	if err != nil {
		r.early.Add(1)
		return
	}
	r.mu.Lock()
	late := r.gone
	r.conns = append(r.conns, c)
	r.mu.Unlock()
	if late {
		c.close()
		return
	}
	if err = c.send(r.Target); err == nil {
		if r.AfterEvents == 0 {
			say(1)
		}
		err = c.head()
	}
	if err == nil {
		r.mu.Lock()
		r.status[c.status]++
		r.mu.Unlock()
		var e events
		err = e.follow(c, func([]int64) {
			if r.AfterEvents > 0 && e.stamped >= r.AfterEvents {
				say(1)
			}
		})
	}
	if !errors.Is(err, net.ErrClosed) {
		r.early.Add(1) // ended by somebody else than leave
	}
}

// leave closes all connections.
func (r *leaveRun) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range r.conns {
		if tcp, ok := c.nc.(*net.TCPConn); ok && i%2 == 1 {
			_ = tcp.SetLinger(0) // then closing resets
		}
		c.close()
	}
	r.conns, r.gone = nil, true
}
