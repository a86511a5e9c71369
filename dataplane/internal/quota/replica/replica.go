package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// What Submit and Propose answer.
var (
	ErrNotLeader = errors.New("this replica does not lead the quota ledger")
	ErrBusy      = errors.New("the quota ledger has too much to do")
	ErrLost      = errors.New("the leader was lost; the change may have been made or not")
)

// Options make a replica. Logs and the others come from OpenStores, or from raft's in-memory ones in tests.
type Options struct {
	ID        raft.ServerID
	Policy    ledger.Policy
	Logs      raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	Transport raft.Transport
	Voters    []raft.Server // with which an empty replica begins; the same list on all of them. Empty: it waits to be added
	Now       func() time.Time
	Recall    func(ledger.Recall) // sends a recall to its node; must not block
	Stalled   func(error)         // the disk keeps no term or vote, and nil when it does again; must not block
	RaftLog   io.Writer           // raft's own log lines; nil drops them
}

// Replica is one member of the group.
type Replica struct {
	o      Options
	fsm    *fsm
	raft   *raft.Raft
	stable *patient
	halted chan error
	told   chan bool // by raft: whether it leads
	wake   chan struct{}
	slots  chan struct{} // one per entry in flight

	mu       sync.Mutex
	leading  bool
	frames   []submitted
	commands []proposed
	records  int // in frames
	entries  uint64
}

type submitted struct {
	frame  ledger.Frame
	answer func(ledger.Reply)
}

type proposed struct {
	commands []ledger.Command
	done     chan error
}

// Open starts a replica. Run must be called next.
func Open(o Options) (*Replica, error) {
	r := &Replica{
		o: o, halted: make(chan error, 1), told: make(chan bool, 16), wake: make(chan struct{}, 1),
		slots: make(chan struct{}, inFlightMax), stable: &patient{StableStore: o.Stable, told: o.Stalled, over: make(chan struct{})},
	}
	begin := o.Now()
	last, err := o.Logs.LastIndex()
	if err != nil {
		return nil, fmt.Errorf("read log of the quota ledger: %w", err)
	}
	r.fsm = &fsm{
		state: ledger.New(o.Policy), replayTo: last, mono: func() int64 { return int64(o.Now().Sub(begin)) },
		halt: func(err error) { r.halted <- err },
	}
	c := raft.DefaultConfig()
	c.LocalID = o.ID
	recent, err := raft.NewLogCache(logsCached, o.Logs)
	if err != nil {
		return nil, fmt.Errorf("keep newest entries of the quota ledger: %w", err)
	}
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = heartbeat, election, leaderLease
	c.CommitTimeout = commitTell
	c.BatchApplyCh = true
	c.SnapshotThreshold, c.TrailingLogs = snapshotEntries, trailingEntries
	c.NotifyCh = r.told
	c.LogOutput = io.Discard
	if o.RaftLog != nil {
		c.LogOutput = o.RaftLog
	}
	if len(o.Voters) > 0 {
		old, err := raft.HasExistingState(o.Logs, o.Stable, o.Snapshots)
		if err != nil {
			return nil, fmt.Errorf("read state of the quota ledger: %w", err)
		}
		if !old {
			err := raft.BootstrapCluster(c, o.Logs, o.Stable, o.Snapshots, o.Transport, raft.Configuration{Servers: o.Voters})
			if err != nil {
				return nil, fmt.Errorf("begin quota ledger: %w", err)
			}
		}
	}
	if r.raft, err = raft.NewRaft(c, r.fsm, recent, r.stable, o.Snapshots, o.Transport); err != nil {
		return nil, fmt.Errorf("start raft of the quota ledger: %w", err)
	}
	r.fsm.mu.Lock()
	defer r.fsm.mu.Unlock()
	r.fsm.started = true
	return r, nil
}

// Raft returns the raft instance, for membership and metrics.
func (r *Replica) Raft() *raft.Raft { return r.raft }

// Ledger returns the state, which only raft may change.
func (r *Replica) Ledger() *ledger.State { return r.fsm.state }

// Leading reports whether frames are taken here.
func (r *Replica) Leading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leads()
}

// leads is Leading for who has mu. A replica whose raft waits for the disk follows before it says so.
func (r *Replica) leads() bool { return r.leading && r.raft.State() == raft.Leader }

// Stalled reports whether the replica takes no part because its disk keeps no term or vote.
func (r *Replica) Stalled() bool { return r.stable.waiting.Load() > 0 }

// Entries returns how many entries this replica proposed.
func (r *Replica) Entries() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// Run serves until ctx ends, then hands over its leadership and stops. It returns an error only if the replica had to halt.
func (r *Replica) Run(ctx context.Context) error {
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { r.propose(stop) })
	err := r.watch(ctx)
	if err == nil && r.raft.State() == raft.Leader {
		_ = r.raft.LeadershipTransfer().Error() // if nobody can take over, the others elect someone
	}
	r.follow()
	cancel()
	if !r.Stalled() { // else raft answers nothing any more, and who waits for it ends with the process
		done.Wait()
	}
	ended := r.raft.Shutdown()
	close(r.stable.over)
	if failed := ended.Error(); failed != nil && err == nil {
		err = fmt.Errorf("stop raft of the quota ledger: %w", failed)
	}
	return err
}

func (r *Replica) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.halted:
			return err
		case leads := <-r.told:
			if leads {
				r.lead()
			} else {
				r.follow()
			}
		}
	}
}

// lead begins to take frames once everything before the own term is applied.
func (r *Replica) lead() {
	term := r.raft.CurrentTerm()
	if r.raft.Barrier(barrierTimeout).Error() != nil {
		if r.raft.State() == raft.Leader { // it leads and cannot commit: let another one try
			_ = r.raft.LeadershipTransfer().Error()
		}
		return
	}
	r.fsm.lead(term, r.o.Now().UnixNano())
	unsure := r.fsm.state.Now() == 0 || recovered(r.o.Stable)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leading = true
	if unsure { // before any frame: what was counted today is asked for
		done := make(chan error, 1)
		r.commands = append(r.commands, proposed{[]ledger.Command{{Kind: ledger.SeedDays}}, done})
		r.poke()
		go func() {
			if <-done == nil {
				_ = r.o.Stable.SetUint64([]byte(recoveredKey), 0) // if that fails the next leadership asks once more
			}
		}()
	}
}

// follow drops what waits.
func (r *Replica) follow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leading = false
	for _, p := range r.commands {
		p.done <- ErrLost
	}
	r.frames, r.commands, r.records = nil, nil, 0
}

// Submit has a frame applied. Answer is called with its reply by the goroutine that hands out replies, so it must not block; it is never
// called if the leader is lost. The frame's records belong to the replica from now on.
func (r *Replica) Submit(f ledger.Frame, answer func(ledger.Reply)) error {
	if err := f.Check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.leads():
		return ErrNotLeader
	case r.records+len(f.Records) > pendingRecordsMax:
		return ErrBusy
	}
	r.frames = append(r.frames, submitted{f, answer})
	r.records += max(1, len(f.Records))
	r.poke()
	return nil
}

// Propose has commands applied. It returns ErrLost if it is not known whether they were.
func (r *Replica) Propose(ctx context.Context, commands ...ledger.Command) error {
	if len(commands) > ledger.EntryCommandsMax {
		return ErrBusy
	}
	p := proposed{commands, make(chan error, 1)}
	r.mu.Lock()
	if !r.leads() {
		r.mu.Unlock()
		return ErrNotLeader
	}
	r.commands = append(r.commands, p)
	r.poke()
	r.mu.Unlock()
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return errors.Join(ErrLost, ctx.Err())
	}
}

func (r *Replica) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
