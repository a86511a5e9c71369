package publish

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
)

// Sink is where a stream goes: the answer to a node. Flush returns when what was written is on its way.
type Sink interface {
	io.Writer
	Flush() error
}

// stream is the config stream of one node.
type stream struct {
	p      *Publisher
	node   string
	cancel context.CancelCauseFunc
	sink   Sink
	zip    *zstd.Encoder
	line   []byte        // the last one written, to be written over
	life   int           // the history that is being sent
	at     plane.Version // everything up to here has been written
}

// Stream sends the config stream of a node that is at from, until ctx ends, a write fails or the node has to start over. It
// always returns an error. An error before the first write to out is an *apierr.Error for the node: a 503.
//
// out gets a zstd stream of JSON lines, each a plane.Message, flushed after everything that was there to be sent.
func (p *Publisher) Stream(ctx context.Context, node string, from plane.Cursor, out Sink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &stream{p: p, node: node, cancel: cancel, sink: out}
	if err := p.enter(s); err != nil {
		return err
	}
	defer p.leave(s)
	// What another replica has already sent to this node may be newer than what this one has seen.
	if err := p.tail.read(ctx, p.log, p.o.Now); err != nil {
		return fmt.Errorf("open config stream: %w", err)
	}
	now := p.tail.view()
	reset, err := p.mustReset(ctx, from, now.cursor)
	if err != nil {
		return fmt.Errorf("open config stream: %w", err)
	}
	s.zip, err = zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(streamWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return fmt.Errorf("open config stream: %w", err)
	}
	s.life = now.life
	err = s.run(ctx, from, reset, now.cursor)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// mustReset reports whether a node at from cannot go on from there.
func (p *Publisher) mustReset(ctx context.Context, from, now plane.Cursor) (bool, error) {
	if from.Epoch != now.Epoch || from.Version == 0 || from.Version > now.Version {
		return true, nil
	}
	if from.Version == now.Version {
		return false, nil
	}
	oldest, any, err := p.log.OldestChange(ctx)
	if err != nil {
		return false, fmt.Errorf("read the oldest version: %w", err)
	}
	return !any || from.Version+1 < oldest, nil
}

func (s *stream) run(ctx context.Context, from plane.Cursor, reset bool, now plane.Cursor) error {
	hello := plane.Hello{Epoch: now.Epoch, Reset: reset, KeyPeppers: s.p.o.KeyPeppers, StreamKeys: s.p.o.StreamKeys}
	if err := s.say(plane.Message{Hello: &hello}); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.at = from.Version
	if reset {
		if err := s.snapshot(ctx, now.Version); err != nil {
			return err
		}
		s.at = now.Version
		// The first mark must not be older than the last page: what was left out there is in the log up to here only.
		if err := s.p.tail.read(ctx, s.p.log, s.p.o.Now); err != nil {
			return err
		}
	}
	ping := time.NewTimer(plane.PingEvery)
	defer ping.Stop()
	for first := true; ; first = false {
		v := s.p.tail.view()
		if v.life != s.life {
			return errHistory
		}
		if s.at < v.cursor.Version || first {
			if err := s.catchUp(ctx, v); err != nil {
				return err
			}
			ping.Reset(plane.PingEvery)
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-v.advance:
		case <-ping.C:
			if err := s.ping(); err != nil {
				return err
			}
			ping.Reset(plane.PingEvery)
		}
	}
}

// snapshot sends the records as they were last changed up to a version. Those changed later are left out: the log has
// them, and they are sent from there before the first mark.
func (s *stream) snapshot(ctx context.Context, upTo plane.Version) error {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan page)
	defer func() {
		cancel()
		for range pages { // the reader has ended when the stream goes on
		}
	}()
	go s.readRecords(ctx, pages)
	for p := range pages {
		if p.err != nil {
			return p.err
		}
		for i := range p.records {
			if p.records[i].Version > upTo {
				continue
			}
			if err := s.say(plane.Message{Change: &p.records[i]}); err != nil {
				return err
			}
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// page is what one statement read of the records.
type page struct {
	records []plane.Change
	err     error
}

// readRecords reads all records, a page ahead of the one that is being sent, so that the database and the node work at the same
// time. It closes pages when it ends.
func (s *stream) readRecords(ctx context.Context, pages chan<- page) {
	defer close(pages)
	var after RecordID
	for {
		records, err := s.p.log.RecordsAfter(ctx, after, s.p.tail.bounds.pageRows)
		if err != nil {
			err = fmt.Errorf("read records: %w", err)
		}
		select {
		case pages <- page{records, err}:
		case <-ctx.Done():
			return
		}
		if err != nil || len(records) < s.p.tail.bounds.pageRows {
			return
		}
		last := &records[len(records)-1]
		after = RecordID{last.Kind, last.ID}
	}
}

// catchUp sends everything up to the cursor of the view, from memory if it is there, and marks it.
func (s *stream) catchUp(ctx context.Context, v view) error {
	for s.at < v.cursor.Version {
		entries, ok := s.p.tail.since(v, s.at)
		if !ok {
			var err error
			entries, err = s.p.tail.readPage(ctx, s.p.log, s.at, v.cursor.Version)
			if err != nil {
				return err
			}
			if entries == nil {
				return errBehind
			}
		}
		for _, e := range entries {
			if _, err := s.zip.Write(e.line); err != nil {
				return fmt.Errorf("write config stream: %w", err)
			}
		}
		s.at = entries[len(entries)-1].version
		if s.at < v.cursor.Version {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	if err := s.say(plane.Message{Mark: &v.cursor}); err != nil {
		return err
	}
	return s.flush()
}

// ping says that there is nothing new, if that is known.
func (s *stream) ping() error {
	v := s.p.tail.view()
	if v.life != s.life || v.cursor.Version != s.at || s.p.o.Now().Sub(v.fresh) > FreshFor {
		return nil
	}
	if err := s.say(plane.Message{Ping: true}); err != nil {
		return err
	}
	return s.flush()
}

func (s *stream) say(m plane.Message) error {
	line, err := appendLine(s.line[:0], m)
	if err != nil {
		return err
	}
	s.line = line
	if _, err := s.zip.Write(line); err != nil {
		return fmt.Errorf("write config stream: %w", err)
	}
	return nil
}

func (s *stream) flush() error {
	if err := s.zip.Flush(); err != nil {
		return fmt.Errorf("write config stream: %w", err)
	}
	if err := s.sink.Flush(); err != nil {
		return fmt.Errorf("write config stream: %w", err)
	}
	return nil
}
