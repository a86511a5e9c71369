package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Run keeps the records durable and ships them until ctx ends; then it uploads once more, within seconds. Records may be
// appended until Close.
func (s *Spool) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { s.keep(ctx) })
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
	if s.active != nil && s.ship.acked.Load() >= s.active.last { // nothing in it that is not stored elsewhere
		err = errors.Join(err, os.Remove(s.active.path))
	}
	if err := errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("close usage log: %w", err)
	}
	return nil
}

// keep syncs in groups.
func (s *Spool) keep(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		time.Sleep(syncEvery)
		if err := s.settle(); err != nil {
			if s.broken.Swap(&err) == nil {
				s.o.Log.Error("usage records cannot be made durable, refusing calls", slog.Any("error", err))
			}
			nudge(s.wake)
		} else if s.broken.Swap(nil) != nil {
			s.o.Log.Info("usage records are durable again")
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
	tail := 0
	if active != nil {
		tail = active.tail
	}
	s.mu.Unlock()
	for i, segment := range retired {
		err := segment.sync(segment.tail)
		if err == nil {
			err = segment.unmap()
		}
		if err != nil {
			s.mu.Lock()
			s.retired = append(retired[i:], s.retired...)
			s.mu.Unlock()
			return err
		}
	}
	if active == nil {
		return nil
	}
	if active.synced == 0 {
		if err := syncDir(s.dir); err != nil { // the name the segment was given
			return err
		}
	}
	return active.sync(tail)
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

// setAside keeps a damaged file for an operator, under another name, while it is being shipped.
func (s *Spool) setAside(segment *segment) {
	dir := filepath.Join(s.dir, "damaged")
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) < damagedFilesMax {
		err = os.Link(segment.path, filepath.Join(dir, filepath.Base(segment.path)))
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		s.o.Log.Warn("damaged usage segment cannot be kept", slog.String("file", segment.path), slog.Any("error", err))
	}
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
