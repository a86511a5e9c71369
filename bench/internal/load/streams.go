package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"modelgate.internal/bench/internal/proc"
)

// Streams is a run of event streams that are open together.
type Streams struct {
	Target Target
	Count  int
	// OpenOver is the time within which the streams are opened, each at a moment of its own by chance.
	OpenOver time.Duration
	// Events is the number of events with text that each stream has to bring; 0 takes any number.
	Events int64
	// Window is measured, from Settle after the last opening. Window 0 measures the whole run.
	Settle, Window time.Duration
	// Limit bounds the run; a stream still open then is unfinished.
	Limit time.Duration
	Watch []proc.Watched
}

// StreamsResult is what a run of Streams found. Each stream is counted in exactly one of Complete, WrongStatus, Truncated,
// Failed and Unfinished. A complete stream ended with [DONE] and a whole body; it may still be among the Miscounted, Disordered or
// Erroneous.
type StreamsResult struct {
	Streams     int64         `json:"streams"`
	Status      map[int]int64 `json:"status"`
	Complete    int64         `json:"complete"`
	WrongStatus int64         `json:"wrong_status"`
	Truncated   int64         `json:"truncated"`  // cut, or ended without [DONE]
	Failed      int64         `json:"failed"`     // no answer
	Unfinished  int64         `json:"unfinished"` // still open at the end of the run
	Miscounted  int64         `json:"miscounted"` // events lost or doubled
	Disordered  int64         `json:"disordered"` // an event came before an earlier one
	Erroneous   int64         `json:"erroneous"`  // reported an error, or went on behind [DONE]

	Events       int64      `json:"events"`      // with text, within the window
	OpenAtEnd    int64      `json:"open_at_end"` // streams open at the end of the window
	WindowMicros float64    `json:"window_us"`   //
	Delay        Spread     `json:"delay"`       // of an event, from the simulator's clock
	Gap          Spread     `json:"gap"`         // between the reads of a stream that brought events
	Head         Spread     `json:"head"`        // from the request to the answer's head, over the whole run
	Processes    []proc.Use `json:"processes,omitempty"`
}

// Wrong is the number of streams that were not as they should have been.
func (r StreamsResult) Wrong() int64 {
	return r.WrongStatus + r.Truncated + r.Failed + r.Unfinished + r.Miscounted + r.Disordered + r.Erroneous
}

type streamsRun struct {
	Streams
	rec  *recorder
	head *recorder
	win  window
	open atomic.Int64
	door chan struct{} // has room for the dials under way
	end  time.Time

	mu    sync.Mutex
	total StreamsResult
}

func (s Streams) check() error {
	switch {
	case s.Count < 1 || s.Count > connectionsMax:
		return fmt.Errorf("%d streams: 1 to %d can be opened", s.Count, connectionsMax)
	case s.Limit <= 0 || s.Limit > runMax:
		return fmt.Errorf("a run of %s: more than 0 and at most %s is possible", s.Limit, runMax)
	case s.OpenOver < 0 || s.Settle < 0 || s.Window < 0 || s.OpenOver+s.Settle+s.Window > s.Limit:
		return fmt.Errorf("opening for %s, settling for %s and measuring for %s does not fit into %s", s.OpenOver, s.Settle, s.Window, s.Limit)
	}
	return nil
}

// Run opens the streams and returns when the last one has ended.
func (s Streams) Run(ctx context.Context) (StreamsResult, error) {
	if err := s.check(); err != nil {
		return StreamsResult{}, err
	}
	r := &streamsRun{Streams: s, rec: newRecorder(), head: newRecorder(), win: window{watch: s.Watch}, door: make(chan struct{}, dialsAtOnceMax)}
	r.total = StreamsResult{Status: map[int]int64{}, Streams: int64(s.Count)}
	wait, length := s.OpenOver+s.Settle, s.Window
	if length == 0 {
		wait, length = 0, s.Limit
	}
	r.win.closed = func() { r.total.OpenAtEnd = r.open.Load() }
	if err := r.win.prepare(wait); err != nil {
		return StreamsResult{}, err
	}
	r.end = time.Now().Add(s.Limit)

	var streams, measure sync.WaitGroup
	over := make(chan struct{})
	measure.Go(func() { r.win.run(wait, length, over) })
	for i := range s.Count {
		streams.Go(func() {
			if s.OpenOver > 0 {
				pause(rand.N(s.OpenOver), ctx.Done()) //nolint:gosec // spreads the openings, hides nothing
			}
			r.stream(ctx, i)
		})
	}
	streams.Wait()
	close(over)
	measure.Wait()
	if err := errors.Join(ctx.Err(), r.win.err); err != nil {
		return StreamsResult{}, err
	}
	r.total.Delay, r.total.Gap, r.total.Events = r.rec.sum()
	r.total.Head, _, _ = r.head.sum()
	r.total.WindowMicros = float64(r.win.length) / 1e3
	r.total.Processes = r.win.uses()
	return r.total, nil
}

// stream is the life of one stream.
func (r *streamsRun) stream(ctx context.Context, id int) {
	c, err := r.ask(ctx, id)
	if err != nil {
		r.count(0, &events{}, err)
		return
	}
	defer c.close()
	r.open.Add(1)
	defer r.open.Add(-1)
	var e events
	shard := r.rec.of(id)
	var last time.Time
	err = e.follow(c, func(stamps []int64) {
		if r.win.open.Load() {
			var gap time.Duration
			if !last.IsZero() {
				gap = c.at.Sub(last)
			}
			shard.read(c.at, stamps, gap)
		}
		last = c.at
	})
	r.count(c.status, &e, err)
}

// ask connects, sends the request and reads the answer's head.
func (r *streamsRun) ask(ctx context.Context, id int) (*conn, error) {
	size := bufferBytes
	if r.Count <= fewConnections {
		size = bufferBytesLarge
	}
	r.door <- struct{}{}
	c, err := dial(ctx, r.Target, size, r.end)
	<-r.door
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err = c.send(r.Target); err == nil {
		err = c.head()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	r.head.of(id).latency(time.Since(begun))
	return c, nil
}

// count judges a stream that has ended; status 0 is none.
func (r *streamsRun) count(status int, e *events, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.total
	if status != 0 {
		t.Status[status]++
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		t.Unfinished++
		return
	case status == 0:
		t.Failed++
		return
	case status != 200:
		t.WrongStatus++
		return
	case err != nil || !e.done:
		t.Truncated++
		return
	}
	t.Complete++
	if r.Events > 0 && e.stamped != r.Events {
		t.Miscounted++
	}
	if e.disorder > 0 {
		t.Disordered++
	}
	if e.errors > 0 || e.late > 0 {
		t.Erroneous++
	}
}
