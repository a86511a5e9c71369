package replica

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// fsm is the ledger as raft sees it. Raft calls it from one goroutine.
type fsm struct {
	state *ledger.State
	mono  func() int64
	halt  func(error)

	mu       sync.Mutex
	clock    ledger.Clock
	replayTo uint64 // entries up to here were in the log at the start: they say nothing about the present
	started  bool   // what is restored from now on comes from a leader
	live     bool   // the clock follows entries that were stamped while this replica ran
	term     uint64 // of the own leadership, whose entries the clock made itself
	halted   error
}

// outcome is what an apply answers.
type outcome struct {
	result ledger.Result
	err    error
}

// Apply applies an entry. After one that is unknown nothing more is applied.
func (f *fsm) Apply(l *raft.Log) any {
	if l.Type != raft.LogCommand {
		return nil
	}
	f.mu.Lock()
	halted, apply := f.halted, f.state.Follow
	if l.Term == f.term {
		apply = f.state.Apply
	}
	f.mu.Unlock()
	if halted != nil {
		return outcome{err: halted}
	}
	res, err := apply(l.Data)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.halted = fmt.Errorf("apply entry %d: %w", l.Index, err)
		f.halt(f.halted)
		return outcome{err: f.halted}
	}
	if l.Index > f.replayTo && l.Term != f.term {
		f.clock.Observe(res.At, f.mono())
		f.live = true
	}
	return outcome{result: res}
}

// Snapshot begins a snapshot. A halted replica makes none: it would claim to contain what was not applied.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.halted != nil {
		return nil, f.halted
	}
	c, err := f.state.Snapshot()
	if err != nil {
		return nil, err
	}
	return snapshot{c}, nil
}

// Restore replaces the ledger. From a snapshot that a leader sent the clock goes on at its age, which is too late and so safe.
func (f *fsm) Restore(from io.ReadCloser) error {
	if err := errors.Join(f.state.Restore(from), from.Close()); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started {
		f.clock.Observe(f.state.Now(), f.mono())
		f.live = true
	}
	return nil
}

// lead continues the clock for the own leadership of the term, after all entries before it were applied.
func (f *fsm) lead(term uint64, wallNS int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.live {
		f.clock.Resume(f.state.Now(), wallNS, f.mono())
		f.live = true
	}
	f.clock.Lead(wallNS)
	f.term = term
}

func (f *fsm) stamp(wallNS int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.Stamp(wallNS, f.mono())
}

type snapshot struct{ capture *ledger.Capture }

// Persist writes the snapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.capture.WriteTo(sink); err != nil {
		return errors.Join(fmt.Errorf("persist quota ledger: %w", err), sink.Cancel())
	}
	return sink.Close()
}

// Release ends the snapshot.
func (s snapshot) Release() { s.capture.Release() }
