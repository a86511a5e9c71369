package limit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"weak"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// ModeNode says that the limits were judged by this node alone.
const ModeNode = "node"

// Options configure a Limiter.
type Options struct {
	DataDir string // where the counts of the day are kept; must exist
	Now     func() time.Time
	Log     *slog.Logger
}

// Limiter admits calls. See the package documentation for what it guarantees.
type Limiter struct {
	now   func() time.Time
	log   *slog.Logger
	start time.Time // slots are counted from here, with its monotonic reading

	mu     sync.Mutex
	cells  map[string]held
	nextID uint64

	unkept  unkept
	spare   []*Cell // backing for unkept; used by persist
	journal *journal
}

// held is the registry's hold on a cell. A cell that counts something is held strongly. One that counts nothing lives as long
// as a caller points to it, so that there are never two cells of one bucket.
type held struct {
	weak   weak.Pointer[Cell]
	strong *Cell
}

// Open returns a limiter that goes on from the counts found in the data directory. Damaged counts are set aside and the day
// resumes from what was written before the damage, which the log says.
func Open(o Options) (*Limiter, error) {
	l := &Limiter{now: o.Now, log: o.Log, start: o.Now(), cells: map[string]held{}}
	today := l.instant(l.start).day
	j, damage, err := openJournal(filepath.Join(o.DataDir, "limits.journal"), today)
	if err != nil {
		return nil, err
	}
	if damage != nil {
		o.Log.Error("counts of the day are damaged and set aside; counts before the damage are kept",
			slog.String("file", j.path+".damaged"), slog.Any("error", damage))
	}
	l.journal = j
	for bucket, n := range j.live {
		c := &Cell{id: l.id(), bucket: bucket, daily: true, unkept: &l.unkept, terms: &terms{window: 24 * time.Hour}, day: n}
		l.cells[bucket] = held{weak.Make(c), c}
	}
	return l, nil
}

// Run writes the counts of the day and collects idle cells until ctx ends, then writes once more and closes the journal.
func (l *Limiter) Run(ctx context.Context) error {
	persist, sweep := time.NewTicker(persistEvery), time.NewTicker(sweepEvery)
	defer persist.Stop()
	defer sweep.Stop()
	failing := false
	for {
		select {
		case <-persist.C:
			err := l.persist()
			if err != nil && !failing {
				l.log.Error("counts of the day cannot be written", slog.Any("error", err))
			}
			failing = err != nil
		case <-sweep.C:
			l.sweep(l.now())
		case <-ctx.Done():
			if err := l.persist(); err != nil {
				return fmt.Errorf("write counts of the day: %w", err)
			}
			return l.journal.close()
		}
	}
}

// Cells returns the cells of the limits, for the caller to keep and to hand to Admit. Limits of the same bucket share a cell
// and its history; the terms given last are in force.
func (l *Limiter) Cells(limits []plane.Limit) []*Cell {
	cells := make([]*Cell, 0, len(limits))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, limit := range limits {
		if len(limit.Bucket) > bucketBytesMax {
			limit.Bucket = limit.Bucket[:bucketBytesMax]
		}
		c := l.cell(limit)
		if !slices.Contains(cells, c) {
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells, func(a, b *Cell) int { return cmp.Compare(a.id, b.id) })
	return cells
}

// cell finds or makes the cell of a limit. The registry must be locked.
func (l *Limiter) cell(limit plane.Limit) *Cell {
	t := termsOf(limit)
	h := l.cells[limit.Bucket]
	c := h.strong
	if c == nil {
		c = h.weak.Value()
	}
	if c == nil || c.daily != limit.Daily {
		c = &Cell{id: l.id(), bucket: limit.Bucket, daily: limit.Daily, unkept: &l.unkept}
		l.cells[limit.Bucket] = held{weak.Make(c), c}
	}
	c.set(t)
	return c
}

func (l *Limiter) id() uint64 {
	l.nextID++
	return l.nextID
}

// Verdict is how a call stands with the tightest of its limits: the one with the fewest calls left, or the one that refused.
type Verdict struct {
	Name      string        // one of the plane.Limit words; empty when the caller has no limits
	Limit     int64         // calls per window
	Remaining int64         // calls left now
	Reset     time.Duration // until more calls are possible again
	Policy    string        // item of a RateLimit-Policy field: `"key_per_minute";q=30;w=60`
	Mode      string        // who judged: ModeNode

	cells []*Cell
	at    instant
}

// Refund gives the call back to all its limits, for failures that are ours. Only the first refund of a verdict counts.
func (v *Verdict) Refund() {
	for _, c := range v.cells {
		c.giveBack(v.at)
	}
	v.cells = nil
}

// Admit counts a call against all cells, which come from [Limiter.Cells], or against none. A refusal is an *apierr.Error of
// the kind Limited whose RetryAfter is when a retry is admitted if nothing else came; the verdict then names the limit that
// refused. The limiter of one node never waits, so ctx is not used.
func (l *Limiter) Admit(_ context.Context, cells []*Cell, now time.Time) (Verdict, error) {
	at := l.instant(now)
	for _, c := range cells {
		c.mu.Lock()
	}
	v := Verdict{Mode: ModeNode, Remaining: math.MaxInt64, cells: cells, at: at}
	var tightest *Cell
	refused := false
	for _, c := range cells {
		left := c.remaining(at)
		switch {
		case left <= 0:
			if wait := c.frees(at); !refused || wait > v.Reset {
				v.Reset, tightest = wait, c
			}
			refused, v.Remaining = true, 0
		case !refused && left < v.Remaining:
			v.Remaining, tightest = left, c
		}
	}
	woken := false
	if !refused {
		for _, c := range cells {
			c.take(at)
			woken = woken || c.idle
		}
	}
	var t *terms
	if tightest != nil {
		t = tightest.terms
		v.Name, v.Limit, v.Policy = t.name, t.max, t.policy
		if !refused {
			v.Remaining--
			v.Reset = tightest.renews(at)
		}
	} else {
		v.Remaining = 0
	}
	for _, c := range cells {
		c.mu.Unlock()
	}
	if refused {
		v.cells = nil
		return v, refusal(&v, t, tightest.daily)
	}
	if woken {
		l.wake(cells)
	}
	return v, nil
}

// wake makes the registry hold cells that counted nothing until now.
func (l *Limiter) wake(cells []*Cell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range cells {
		c.mu.Lock()
		if c.idle {
			c.idle = false
			l.cells[c.bucket] = held{weak.Make(c), c}
		}
		c.mu.Unlock()
	}
}

// sweep lets go of the cells that count nothing.
func (l *Limiter) sweep(now time.Time) {
	at := l.instant(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	for bucket, h := range l.cells {
		switch {
		case h.strong != nil && h.strong.rest(at):
			l.cells[bucket] = held{weak: h.weak}
		case h.strong == nil && h.weak.Value() == nil:
			delete(l.cells, bucket)
		}
	}
}

// persist writes the daily counts that changed. It is used by one goroutine.
func (l *Limiter) persist() error {
	cells := l.unkept.takeAll(l.spare)
	defer func() { clear(cells); l.spare = cells }()
	counts := make(map[string]day, len(cells))
	for _, c := range cells {
		c.mu.Lock()
		c.day.dirty = false
		counts[c.bucket] = c.day
		c.mu.Unlock()
	}
	if err := l.journal.write(counts, l.instant(l.now()).day); err != nil {
		for _, c := range cells {
			c.mu.Lock()
			c.changed()
			c.mu.Unlock()
		}
		return err
	}
	return nil
}

// instant is one reading of the clock as the cells need it.
type instant struct {
	since   time.Duration // monotonic, since the limiter's start
	day     int64
	dayLeft time.Duration // to the next UTC midnight
}

func (l *Limiter) instant(now time.Time) instant {
	const secondsPerDay = 24 * 60 * 60
	unix := now.Unix()
	number := unix / secondsPerDay
	left := time.Duration((number+1)*secondsPerDay-unix)*time.Second - time.Duration(now.Nanosecond())
	return instant{since: now.Sub(l.start), day: number, dayLeft: left}
}

// refusal is the 429 of a verdict.
func refusal(v *Verdict, t *terms, daily bool) error {
	subject := "this key"
	switch t.name {
	case plane.LimitAppMinute:
		subject = "this app"
	case plane.LimitAccountDay:
		subject = "this account"
	}
	wait := int64((v.Reset + time.Second - 1) / time.Second) // seconds, as Retry-After will say
	if daily {
		return apierr.New(apierr.Limited, fmt.Sprintf(
			"Rate limit reached: %s may make %d calls per UTC day. The count starts anew at 00:00 UTC, in %s.",
			subject, t.max, time.Duration(wait)*time.Second)).After(v.Reset)
	}
	per := "per minute"
	if t.window != time.Minute {
		per = "in any " + t.window.String()
	}
	return apierr.New(apierr.Limited, fmt.Sprintf(
		"Rate limit reached: %s may make %d calls %s. The next call is possible in %d s.",
		subject, t.max, per, wait)).After(v.Reset)
}
