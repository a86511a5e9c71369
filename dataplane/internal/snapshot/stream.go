package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
)

var errSilent = errors.New("control plane is silent")

// follow opens a config stream and applies it until it ends. It always returns an error.
func (s *Source) follow(ctx context.Context, wait *backoff) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(plane.StreamSilenceMax, func() { cancel(errSilent) })
	defer silence.Stop()
	go func() { // a look-up that meets damage ends the stream
		for ctx.Err() == nil {
			select {
			case x := <-s.damaged:
				if x == s.index.Load() {
					cancel(errDamaged)
				}
			case <-ctx.Done():
			}
		}
	}()

	query := url.Values{
		"epoch":   {strconv.FormatUint(s.state.Epoch, 10)},
		"version": {strconv.FormatUint(uint64(s.state.Version), 10)},
	}
	res, err := s.o.Link.do(ctx, http.MethodGet, plane.ConfigPath+"?"+query.Encode(), nil, nil)
	if err != nil {
		return because(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return fmt.Errorf("control plane answers %d to the config stream: %s", res.StatusCode, text)
	}
	lines, err := zstd.NewReader(&heard{res.Body, silence}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(streamWindowMax))
	if err != nil {
		return fmt.Errorf("decode config stream: %w", err)
	}
	defer lines.Close()
	f := follower{s: s, wait: wait}
	defer f.abandon()
	scan := bufio.NewScanner(lines)
	scan.Buffer(make([]byte, 0, 64<<10), plane.MessageBytesMax+1)
	for scan.Scan() {
		if err := f.line(scan.Bytes()); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return because(ctx, fmt.Errorf("read config stream: %w", err))
	}
	return because(ctx, fmt.Errorf("read config stream: %w", io.ErrUnexpectedEOF))
}

// heard reads a stream whose silence a timer ends. The timer runs while a read waits: what this node takes for its own work, as a slow
// disk for a large batch, is not the control plane's silence.
type heard struct {
	from    io.Reader
	silence *time.Timer
}

func (h *heard) Read(p []byte) (int, error) {
	h.silence.Reset(plane.StreamSilenceMax)
	defer h.silence.Stop()
	return h.from.Read(p)
}

// because prefers the reason that ctx was cancelled for over what the cancelling broke.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// follower is one config stream.
type follower struct {
	s     *Source
	wait  *backoff
	hello *plane.Hello
	// next is the index being filled after a reset, nil otherwise; it is served as a whole or not at all.
	next    *index
	state   state // of next
	batch   []parsed
	bodies  []byte // of the batch's keys
	catalog bool   // models or upstreams changed since the last mark
}

// line takes a line of the stream, which it does not keep.
func (f *follower) line(line []byte) error {
	if id, body, version, ok := readKey(line); ok && f.hello != nil {
		at := len(f.bodies)
		f.bodies = append(f.bodies, body...)
		c := plane.Change{Version: version, Kind: plane.KindKey, ID: string(id), Body: f.bodies[at:len(f.bodies):len(f.bodies)]}
		return f.gather(parsed{c, true})
	}
	m, err := readMessage(line)
	if err != nil {
		return err
	}
	return f.message(&m)
}

// gather adds a change to the batch, and writes the batch when it is large.
func (f *follower) gather(c parsed) error {
	f.batch = append(f.batch, c)
	if len(f.batch) < batchChangesMax && len(f.bodies) < batchBytesMax {
		return nil
	}
	return f.write(nil)
}

func (f *follower) message(m *plane.Message) error {
	switch {
	case m.Hello != nil:
		return f.open(m.Hello)
	case f.hello == nil:
		return errors.New("config stream does not begin with hello")
	case m.Change != nil:
		f.catalog = f.catalog || m.Change.Kind != plane.KindKey && m.Change.Kind != plane.KindScene
		return f.gather(parsed{*m.Change, false})
	case m.Mark != nil:
		return f.mark(*m.Mark)
	case m.Ping:
		if len(f.batch) == 0 && f.next == nil {
			f.complete()
		}
		return nil
	default: // a newer control plane says something this node has no use for
		return nil
	}
}

func (f *follower) open(h *plane.Hello) error {
	if f.hello != nil {
		return errors.New("config stream says hello twice")
	}
	f.hello = h
	if h.Reset {
		return f.reset()
	}
	s := f.s
	x := s.index.Load()
	if x == nil || h.Epoch != s.state.Epoch {
		return fmt.Errorf("config stream goes on in epoch %d from a state this node does not have", h.Epoch)
	}
	if reflect.DeepEqual(h.KeyPeppers, s.state.Peppers) && reflect.DeepEqual(h.StreamKeys, s.state.StreamKeys) {
		return nil
	}
	st := s.state
	st.Peppers, st.StreamKeys = h.KeyPeppers, h.StreamKeys
	if err := x.apply(nil, &st); err != nil {
		return err
	}
	s.state = st
	s.trust(&st)
	return nil
}

// reset begins a new index beside the one in service.
func (f *follower) reset() error {
	path := f.s.nextPath()
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove unfinished index: %w", err)
	}
	x, err := openIndex(path, mappedBytes)
	if err != nil {
		return err
	}
	x.full = true
	x.db.NoSync, x.db.NoGrowSync = true, true // synced as a whole before it is served
	f.next = x
	f.state = state{Peppers: f.hello.KeyPeppers, StreamKeys: f.hello.StreamKeys}
	return nil
}

// abandon drops an index that was not finished.
func (f *follower) abandon() {
	if f.next != nil {
		_ = f.next.close()
		_ = os.Remove(f.s.nextPath())
	}
}

// write makes the batch durable. Changes before a mark are put in force under the old cursor, which is safe: after a crash
// they come again. A nil mark means that more of the batch follows.
func (f *follower) write(mark *plane.Cursor) error {
	batch := f.batch
	defer func() { f.batch, f.bodies = f.batch[:0], f.bodies[:0] }()
	if f.next != nil {
		if mark != nil {
			f.state.Cursor = *mark
		}
		return f.next.apply(batch, &f.state)
	}
	s := f.s
	x := s.index.Load()
	if x == nil {
		return ErrNoState
	}
	st := s.state
	if mark != nil {
		st.Cursor = *mark
	}
	if err := x.apply(batch, &st); err != nil {
		return err
	}
	s.state = st
	s.held.Store(st.Keys)
	for i := range batch {
		if batch[i].Kind == plane.KindKey {
			digest, err := digestOf(batch[i].ID)
			if err != nil {
				return err
			}
			s.keyChanged(digest, batch[i].Gone)
		}
	}
	return nil
}

// mark puts everything up to the cursor in force and has it acknowledged.
func (f *follower) mark(cursor plane.Cursor) error {
	s := f.s
	if cursor.Epoch != f.hello.Epoch || (f.next == nil && cursor.Version < s.state.Version) {
		return fmt.Errorf("config stream marks epoch %d version %d, which does not follow epoch %d version %d",
			cursor.Epoch, cursor.Version, s.state.Epoch, s.state.Version)
	}
	if err := f.write(&cursor); err != nil {
		return err
	}
	if f.next != nil {
		if err := f.swap(); err != nil {
			return err
		}
	} else if err := f.renew(cursor); err != nil {
		return err
	}
	f.complete()
	s.ack(cursor)
	return nil
}

// renew replaces the current configuration by one with the changes since the last mark.
func (f *follower) renew(cursor plane.Cursor) error {
	s := f.s
	next := *s.current.Load()
	changed := f.catalog
	if changed {
		_, loaded, err := s.index.Load().load()
		if err != nil {
			return err
		}
		next = *loaded
		f.catalog = false
	}
	next.Cursor = cursor
	s.current.Store(&next)
	if changed {
		s.catalogChanged(&next)
	}
	return nil
}

// swap puts the finished index in the place of the one in service.
func (f *follower) swap() error {
	s, x := f.s, f.next
	if err := x.db.Sync(); err != nil {
		return fmt.Errorf("sync new index: %w", err)
	}
	x.full, x.db.NoSync, x.db.NoGrowSync = false, false, false
	st, current, err := x.load()
	if err != nil {
		return err
	}
	if err := os.Rename(s.nextPath(), s.path); err != nil {
		return fmt.Errorf("swap index: %w", err)
	}
	if err := syncDir(filepath.Dir(s.path)); err != nil {
		return err
	}
	f.next, f.catalog = nil, false
	old := s.index.Load()
	s.serve(x, st, current)
	s.catalogChanged(current)
	s.allChanged()
	s.o.Log.Info("configuration replaced as a whole", slog.Uint64("epoch", st.Epoch), slog.Uint64("version", uint64(st.Version)), slog.Int64("keys", st.Keys))
	if old != nil {
		return old.close()
	}
	return nil
}

// complete notes that the node has everything.
func (f *follower) complete() {
	f.s.fresh.Store(f.s.o.Now().UnixNano())
	f.s.online.Store(true)
	f.wait.reset()
}

// ack has a cursor acknowledged in place of an older one that is still waiting.
func (s *Source) ack(cursor plane.Cursor) {
	select {
	case <-s.acks:
	default:
	}
	s.acks <- cursor // the only sender: there is room now
}

// acknowledge tells the control plane what is in force. It keeps trying with the newest cursor.
func (s *Source) acknowledge(ctx context.Context) {
	for {
		select {
		case cursor := <-s.acks:
			for s.sendAck(ctx, cursor) != nil {
				select {
				case cursor = <-s.acks:
				case <-time.After(ackRetry):
				case <-ctx.Done():
					return
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Source) sendAck(ctx context.Context, cursor plane.Cursor) error {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	body, err := json.Marshal(plane.Ack{Cursor: cursor, KeysHeld: s.held.Load(), Build: s.o.Build})
	if err != nil {
		return fmt.Errorf("encode acknowledgement: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	status, answer, err := s.o.Link.Send(ctx, plane.AckPath, header, body)
	if err == nil && (status < 200 || status > 299) {
		err = fmt.Errorf("control plane answers %d to an acknowledgement: %s", status, bytes.TrimSpace(answer))
	}
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("acknowledgement failed", slog.Any("error", err), slog.Uint64("version", uint64(cursor.Version)))
	}
	return err
}
