package replica

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// patient is the stable store, which waits until a term or a vote is kept. Raft panics if a term cannot be: a full disk would end the whole
// process, again and again. So the goroutine of raft stops here instead, and the replica takes no part until there is space: it neither
// votes nor leads, as if it were cut off from the others.
type patient struct {
	raft.StableStore
	told    func(error)   // that waiting began, and nil when it is over; must not block
	over    chan struct{} // closed when the replica stops
	waiting atomic.Int32
}

// Set implements raft.StableStore. What is kept already is not written again, so that a start needs no space.
func (p *patient) Set(key, value []byte) error {
	if old, err := p.Get(key); err != nil || !bytes.Equal(old, value) {
		p.keep(func() error { return p.StableStore.Set(key, value) })
	}
	return nil
}

// SetUint64 implements raft.StableStore.
func (p *patient) SetUint64(key []byte, value uint64) error {
	if old, err := p.GetUint64(key); err != nil || old != value {
		p.keep(func() error { return p.StableStore.SetUint64(key, value) })
	}
	return nil
}

// keep writes until that succeeds, or ends the goroutine with the replica. A success must never be claimed: what was promised to others would be
// forgotten by a restart.
func (p *patient) keep(write func() error) {
	err := write()
	if err == nil {
		return
	}
	if p.waiting.Add(1) == 1 && p.told != nil {
		p.told(err)
	}
	again := time.NewTicker(diskRetry)
	defer again.Stop()
	for err != nil {
		select {
		case <-again.C:
			err = write()
		case <-p.over:
			runtime.Goexit()
		}
	}
	if p.waiting.Add(-1) == 0 && p.told != nil {
		p.told(nil)
	}
}
