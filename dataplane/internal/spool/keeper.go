package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Run keeps the records durable and ships them until ctx ends; then it uploads once more, within seconds. Records may be
// appended until Close.
func (s *Spool) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() {
		defer close(s.settled)
		s.keep(ctx)
	})
	all.Go(func() { s.provide(ctx) })
	all.Go(func() { s.ship.run(ctx) })
	all.Wait()
	return nil
}

// Close makes everything durable and gives the directory up. Append returns ErrClosed afterwards. It is called after Run has
// returned.
func (s *Spool) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if already {
		return nil
	}
	err := s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active != nil {
		err = errors.Join(err, s.active.unmap())
	}
	if s.spare != nil {
		err = errors.Join(err, s.spare.unmap(), os.Remove(s.spare.path))
	}
	idle, failed := s.journal.close()
	err = errors.Join(err, failed)
	// Nothing in it that is not stored elsewhere; where a call runs on, it says what was recorded.
	if idle && s.active != nil && s.ship.acked.Load() >= s.active.last {
		err = errors.Join(err, os.Remove(s.active.path))
	}
	if err := errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("close usage log: %w", err)
	}
	return nil
}

// keep syncs in groups: what was appended while the sync before was under way and, unless answers wait for it, a little longer.
func (s *Spool) keep(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			if err := s.settle(); err != nil {
				s.o.Log.Error("usage records cannot be made durable", slog.Any("error", err))
			}
			return
		}
		if s.o.Sync != SyncAnswer {
			time.Sleep(syncEvery)
		}
		err := errors.Join(s.settle(), s.journal.sync(noteEvery))
		if err != nil {
			if s.broken.Swap(&err) == nil {
				s.o.Log.Error("usage records cannot be made durable, refusing calls", slog.Any("error", err))
			}
			nudge(s.wake)
		} else if s.broken.Swap(nil) != nil {
			s.o.Log.Info("usage records are durable again")
		}
		s.announce()
	}
}

// announce tells those that wait for durability to look again.
func (s *Spool) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.synced)
	s.synced = make(chan struct{})
}

// await returns when the record with the seq is on disk, or why it is not within syncWait.
func (s *Spool) await(seq uint64) error {
	late := time.NewTimer(syncWait)
	defer late.Stop()
	for {
		s.mu.Lock()
		durable, synced := s.durable >= seq, s.synced
		s.mu.Unlock()
		if durable {
			return nil
		}
		if err := s.broken.Load(); err != nil {
			return *err
		}
		select {
		case <-synced:
		case <-late.C:
			return errSlow
		}
	}
}

// settle syncs what was appended until now and unmaps complete segments. Only one goroutine at a time calls it, and only it
// unmaps, so the mappings it syncs outside the lock stay.
func (s *Spool) settle() error {
	s.mu.Lock()
	s.dirty = false
	active, retired := s.active, s.retired
	s.retired = nil
	tail, last := 0, uint64(0)
	if active != nil {
		tail, last = active.tail, active.last
	}
	s.mu.Unlock()
	for i, segment := range retired {
		err := segment.sync(segment.tail)
		if err == nil {
			err = segment.unmap()
		}
		s.mu.Lock()
		if err != nil {
			s.retired = append(retired[i:], s.retired...)
			s.mu.Unlock()
			return err
		}
		segment.durable, segment.kept = segment.tail, segment.last
		s.mu.Unlock()
	}
	if active == nil {
		return nil
	}
	if active.synced == 0 {
		if err := syncDir(s.dir); err != nil { // the name the segment was given
			return err
		}
	}
	if err := active.sync(tail); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	active.durable, active.kept, s.durable = tail, last, last
	return nil
}

// provide has a spare ready whenever there is room for one.
func (s *Spool) provide(ctx context.Context) {
	retry := time.NewTicker(spareRetry)
	defer retry.Stop()
	for {
		s.prepare()
		select {
		case <-s.want:
		case <-retry.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Spool) prepare() {
	s.mu.Lock()
	wanted := s.spare == nil && s.count < s.segmentsMax && !s.closed
	if !wanted {
		s.mu.Unlock()
		return
	}
	s.count++
	s.making++
	path := s.sparePath()
	s.mu.Unlock()
	spare, err := makeSpare(path, s.o.SegmentBytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making--
	if err == nil && (s.spare != nil || s.count > s.segmentsMax) { // an append could not wait and made one itself
		s.count--
		_ = spare.unmap()
		_ = os.Remove(spare.path)
		return
	}
	if err != nil {
		s.count--
		if !s.noRoom {
			s.o.Log.Error("no room for another usage segment", slog.Any("error", err))
		}
		s.noRoom = true
		return
	}
	s.noRoom = false
	s.spare = spare
}

// drop removes a segment whose records are all acknowledged, the first of the queue. If it is still mapped, the keeper unmaps
// it in its time.
func (s *Spool) drop(segment *segment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(segment.path); err != nil {
		return fmt.Errorf("remove usage segment: %w", err)
	}
	s.queue = s.queue[1:]
	s.count--
	nudge(s.want)
	return nil
}

// distrust has a complete segment searched for damage like one of an earlier process.
func (s *Spool) distrust(segment *segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	segment.suspect = true
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync usage log: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync usage log: %w", err)
	}
	return nil
}
