package replica

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// batch is what became one entry.
type batch struct {
	future   raft.ApplyFuture
	frames   []submitted
	commands []proposed
}

// propose makes entries of what waits: at once when idle, at most one per tickGap and inFlightMax at a time.
func (r *Replica) propose(ctx context.Context) {
	answers := make(chan batch, inFlightMax)
	var done sync.WaitGroup
	done.Go(func() {
		for b := range answers {
			r.answer(b)
			<-r.slots
		}
	})
	defer done.Wait()
	defer close(answers)
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		select {
		case <-ctx.Done():
			return
		case r.slots <- struct{}{}:
		}
		b := r.gather()
		if b.frames == nil && b.commands == nil {
			<-r.slots
			continue
		}
		e := ledger.Entry{At: r.fsm.stamp(r.o.Now().UnixNano())}
		for _, p := range b.commands {
			e.Commands = append(e.Commands, p.commands...)
		}
		for i := range b.frames {
			e.Frames = append(e.Frames, b.frames[i].frame)
		}
		b.future = r.raft.Apply(ledger.AppendEntry(nil, &e), applyTimeout)
		answers <- b
		gap.Reset(tickGap)
		select {
		case <-ctx.Done():
			return
		case <-gap.C:
		}
	}
}

// gather takes what fits into an entry.
func (r *Replica) gather() batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b batch
	n := 0
	for len(r.commands) > 0 && n+len(r.commands[0].commands) <= ledger.EntryCommandsMax {
		n += len(r.commands[0].commands)
		b.commands = append(b.commands, r.commands[0])
		r.commands = r.commands[1:]
	}
	records, count := 0, 0
	for count < len(r.frames) && (count == 0 || records+len(r.frames[count].frame.Records) <= ledger.EntryRecordsMax) && count < ledger.EntryRecordsMax {
		records += max(1, len(r.frames[count].frame.Records))
		count++
	}
	if count > 0 {
		b.frames = r.frames[:count:count]
		r.frames = r.frames[count:]
		r.records -= records
	}
	if len(r.frames) > 0 || len(r.commands) > 0 {
		r.poke()
	} else {
		r.frames = nil
	}
	if count > 0 || n > 0 {
		r.entries++
	}
	return b
}

// answer waits for an entry and hands out what it brought.
func (r *Replica) answer(b batch) {
	err := b.future.Error()
	var out outcome
	if err == nil {
		out = b.future.Response().(outcome)
		err = out.err
	}
	for _, p := range b.commands {
		if err != nil {
			p.done <- ErrLost
		} else {
			p.done <- nil
		}
	}
	if err != nil {
		return
	}
	for i := range b.frames {
		b.frames[i].answer(out.result.Replies[i])
	}
	if r.o.Recall != nil {
		for _, recall := range out.result.Recalls {
			r.o.Recall(recall)
		}
	}
}
