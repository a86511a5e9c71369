package load

import (
	"sync/atomic"
	"time"

	"modelgate.internal/bench/internal/proc"
)

// window is the part of a run that is measured. Its zero value is closed.
type window struct {
	watch  []proc.Watched
	closed func() // called when the window closes; may be nil
	open   atomic.Bool
	idle   []proc.Sample // before the run
	before []proc.Sample
	after  []proc.Sample
	begun  time.Time
	length time.Duration
	err    error
}

// prepare samples the processes before the run, and opens the window if it begins with the run.
func (w *window) prepare(wait time.Duration) (err error) {
	resolved := make([]proc.Watched, len(w.watch))
	for i := range w.watch {
		if resolved[i], err = w.watch[i].Resolve(); err != nil {
			return err
		}
	}
	w.watch = resolved
	if w.idle, err = w.sample(); err == nil && wait == 0 {
		err = w.begin()
	}
	return err
}

func (w *window) begin() (err error) {
	w.before, err = w.sample()
	w.begun = time.Now()
	w.open.Store(true)
	return err
}

// run opens the window after a while and closes it after another, or when the run is over. Whoever waits for it may
// read the rest then.
func (w *window) run(wait, length time.Duration, over <-chan struct{}) {
	if wait > 0 {
		if !pause(wait, over) {
			return // there is nothing to measure
		}
		if w.err = w.begin(); w.err != nil {
			return
		}
	}
	pause(length, over)
	w.open.Store(false)
	w.length = time.Since(w.begun)
	if w.closed != nil {
		w.closed()
	}
	w.after, w.err = w.sample()
}

func (w *window) sample() ([]proc.Sample, error) {
	samples := make([]proc.Sample, len(w.watch))
	for i, p := range w.watch {
		var err error
		if samples[i], err = p.Sample(); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// uses is what the processes used within the window. Memory before is that from before the run.
func (w *window) uses() []proc.Use {
	if w.after == nil {
		return nil
	}
	var uses []proc.Use
	for i, p := range w.watch {
		u := p.Between(w.before[i], w.after[i])
		u.RSSBytesBefore = w.idle[i].RSSBytes
		uses = append(uses, u)
	}
	return uses
}

// pause waits and reports false if the run was over first.
func pause(d time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
		return false
	}
}
