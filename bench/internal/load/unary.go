package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"modelgate.internal/bench/internal/proc"
)

// Unary is a run of whole requests and answers.
type Unary struct {
	Target      Target
	Connections int
	// Rate is the number of requests due in a second, over all connections; 0 is the closed loop.
	Rate float64
	// Requests bounds their number; 0 leaves it to the time.
	Requests int64
	// WarmUp comes before Duration and is not measured.
	WarmUp, Duration time.Duration
	// MinBytes is the size of the smallest body that counts as an answer; a smaller one counts as truncated.
	MinBytes int64
	// Grace is how long the last answers may take; 0 means 5 s.
	Grace time.Duration
	Watch []proc.Watched
}

// UnaryResult is what a run of Unary found. The counts are of the whole run, warm-up included.
type UnaryResult struct {
	Requests   int64         `json:"requests"` // whole answers
	Status     map[int]int64 `json:"status"`
	Truncated  int64         `json:"truncated"`
	Failed     int64         `json:"failed"`     // no answer
	Reconnects int64         `json:"reconnects"` // the peer had closed an idle connection
	GaveUp     int64         `json:"gave_up"`    // connections that failed too often in a row

	Measured     int64      `json:"measured"` // answers that came within the window
	WindowMicros float64    `json:"window_us"`
	Latency      Spread     `json:"latency"` // of the requests that were due within the window; in the open loop from that moment
	Processes    []proc.Use `json:"processes,omitempty"`
}

// Wrong is the number of requests that did not get the answer they should have.
func (r UnaryResult) Wrong() int64 { return r.Truncated + r.Failed + r.GaveUp + others(r.Status) }

// PerSecond is the rate of answers within the window.
func (r UnaryResult) PerSecond() float64 {
	if r.WindowMicros <= 0 {
		return 0
	}
	return float64(r.Measured) / r.WindowMicros * 1e6
}

// others counts answers of a status other than 200.
func others(status map[int]int64) int64 {
	var n int64
	for s, count := range status {
		if s != 200 {
			n += count
		}
	}
	return n
}

type unaryRun struct {
	Unary
	rec                      *recorder
	win                      window
	start, measured, closing time.Time // measured to closing is the window, as planned
	next                     atomic.Int64
	mu                       sync.Mutex
	total                    UnaryResult
}

func (u Unary) check() error {
	switch {
	case u.Connections < 1 || u.Connections > connectionsMax:
		return fmt.Errorf("%d connections: 1 to %d can be used", u.Connections, connectionsMax)
	case u.Rate < 0 || u.Rate > rateMax:
		return fmt.Errorf("rate %g: 0 to %d can be asked for", u.Rate, rateMax)
	case u.Duration <= 0 || u.WarmUp < 0 || u.WarmUp+u.Duration > runMax:
		return fmt.Errorf("a run of %s and %s: more than 0 and at most %s is possible", u.WarmUp, u.Duration, runMax)
	}
	return nil
}

// Run makes the load and returns when the last connection has ended.
func (u Unary) Run(ctx context.Context) (UnaryResult, error) {
	if err := u.check(); err != nil {
		return UnaryResult{}, err
	}
	if u.Requests <= 0 {
		u.Requests = requestsMax
	}
	if u.Grace <= 0 {
		u.Grace = 5 * time.Second
	}
	r := &unaryRun{Unary: u, rec: newRecorder(), win: window{watch: u.Watch}}
	r.total.Status = map[int]int64{}
	if err := r.win.prepare(u.WarmUp); err != nil {
		return UnaryResult{}, err
	}
	r.start = time.Now()
	r.measured = r.start.Add(u.WarmUp)
	r.closing = r.measured.Add(u.Duration)

	var workers, measure sync.WaitGroup
	over := make(chan struct{})
	for i := range u.Connections {
		workers.Go(func() { r.work(ctx, i) })
	}
	measure.Go(func() { r.win.run(u.WarmUp, u.Duration, over) })
	workers.Wait()
	close(over)
	measure.Wait()
	if err := errors.Join(ctx.Err(), r.win.err); err != nil {
		return UnaryResult{}, err
	}
	r.total.Latency, _, r.total.Measured = r.rec.sum()
	r.total.WindowMicros = float64(r.win.length) / 1e3
	r.total.Processes = r.win.uses()
	return r.total, nil
}

// work is one connection, and those that replace it.
func (r *unaryRun) work(ctx context.Context, id int) {
	w := &worker{run: r, shard: r.rec.of(id), size: bufferBytes}
	if r.Connections <= fewConnections {
		w.size = bufferBytesLarge
	}
	w.total.Status = map[int]int64{}
	defer w.finish()
	defer w.close()
	for bad := 0; ; {
		due, more := r.due()
		if !more || ctx.Err() != nil {
			return
		}
		if w.exchange(ctx, due) {
			bad = 0
			continue
		}
		w.close()
		if bad++; bad >= failuresInRowMax {
			w.total.GaveUp++
			return
		}
		pause(pauseAfterError, ctx.Done())
	}
}

// due waits for the next request's moment. In the open loop the n-th request is due n/Rate after the start whether or not a
// connection was free then, so waiting for a connection counts.
func (r *unaryRun) due() (at time.Time, more bool) {
	n := r.next.Add(1) - 1
	if n >= r.Requests {
		return at, false
	}
	if r.Rate == 0 {
		at = time.Now()
		return at, at.Before(r.closing)
	}
	at = r.start.Add(time.Duration(float64(n) / r.Rate * float64(time.Second)))
	if !at.Before(r.closing) {
		return at, false
	}
	time.Sleep(time.Until(at))
	return at, true
}

// worker is the state of one connection of a unary run.
type worker struct {
	run   *unaryRun
	shard *shard
	size  int
	c     *conn
	total UnaryResult
}

// exchange makes one request and reports whether an answer came.
func (w *worker) exchange(ctx context.Context, due time.Time) bool {
	reused := w.c != nil
	err := w.ask(ctx)
	if reused && closed(err) {
		w.total.Reconnects++ // the peer closed it before it saw the request
		w.close()
		err = w.ask(ctx)
	}
	if err != nil {
		w.total.Failed++
		return false
	}
	size, err := w.drain()
	whole := time.Now()
	w.total.Status[w.c.status]++
	switch {
	case err != nil || (w.c.status == 200 && size < w.run.MinBytes):
		w.total.Truncated++
	default:
		w.total.Requests++
	}
	if err == nil && w.run.win.open.Load() {
		w.shard.mu.Lock()
		w.shard.events++
		w.shard.mu.Unlock()
	}
	if !due.Before(w.run.measured) && due.Before(w.run.closing) {
		w.shard.latency(whole.Sub(due))
	}
	if err == nil && !w.c.keep {
		w.close()
	}
	return err == nil
}

// ask sends the request and reads the answer's head, on a new connection if there is none.
func (w *worker) ask(ctx context.Context) error {
	if w.c == nil {
		c, err := dial(ctx, w.run.Target, w.size, w.run.closing.Add(w.run.Grace))
		if err != nil {
			return err
		}
		w.c = c
	}
	if err := w.c.send(w.run.Target); err != nil {
		return err
	}
	return w.c.head()
}

// closed reports whether the peer had closed the connection before it answered anything.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

func (w *worker) drain() (size int64, err error) {
	for {
		p, err := w.c.next()
		if errors.Is(err, io.EOF) {
			return size, nil
		} else if err != nil {
			return size, err
		}
		size += int64(len(p))
	}
}

func (w *worker) close() {
	if w.c != nil {
		w.c.close()
		w.c = nil
	}
}

// finish adds a worker's counts to the run's.
func (w *worker) finish() {
	t := &w.run.total
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	t.Requests += w.total.Requests
	t.Truncated += w.total.Truncated
	t.Failed += w.total.Failed
	t.Reconnects += w.total.Reconnects
	t.GaveUp += w.total.GaveUp
	for s, n := range w.total.Status {
		t.Status[s] += n
	}
}
