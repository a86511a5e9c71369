package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"modelgate.internal/shared/plane"
)

// tail is the newest part of the history in memory, shared by all streams of a process.
type tail struct {
	bounds  bounds
	reading chan struct{} // held while the log is read

	mu      sync.Mutex
	life    int          // counts the histories that were followed
	known   bool         // cursor is valid
	cursor  plane.Cursor // everything up to here may be sent and marked: a commit ended here
	fresh   time.Time    // when the database last confirmed the cursor
	ring    []entry      // consecutive versions, the last one being cursor.Version
	bytes   int          // of the ring's lines
	advance chan struct{}
}

// bounds are the limits that tests make small.
type bounds struct{ pageRows, ringChanges, ringBytes int }

// entry is a change as it goes over the wire.
type entry struct {
	version plane.Version
	line    []byte
}

// view is what the tail knows at one moment.
type view struct {
	life    int
	cursor  plane.Cursor
	fresh   time.Time
	advance <-chan struct{} // closed when any of this changes for a newer cursor or another history
}

func newTail() *tail {
	return &tail{
		bounds:  bounds{PageRowsMax, RingChangesMax, RingBytesMax},
		reading: make(chan struct{}, 1), advance: make(chan struct{}),
	}
}

func (t *tail) view() view {
	t.mu.Lock()
	defer t.mu.Unlock()
	return view{t.life, t.cursor, t.fresh, t.advance}
}

// since returns the entries behind a version up to the cursor, and false when they are no longer in memory.
func (t *tail) since(v view, after plane.Version) ([]entry, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life != v.life || len(t.ring) == 0 || after+1 < t.ring[0].version {
		return nil, false
	}
	from := int(after + 1 - t.ring[0].version)
	to := int(v.cursor.Version + 1 - t.ring[0].version)
	return t.ring[from:to:to], true // never overwritten: the ring only grows at its end and is cut at its beginning
}

// read brings the tail up to what is committed now.
func (t *tail) read(ctx context.Context, log Log, now func() time.Time) error {
	select {
	case t.reading <- struct{}{}:
		defer func() { <-t.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	at := now() // before the question, so that fresh is never too new
	cursor, err := log.Cursor(ctx)
	if err != nil {
		return fmt.Errorf("read the newest version: %w", err)
	}
	had := t.view()
	switch {
	case !t.known || cursor.Epoch != had.cursor.Epoch || cursor.Version < had.cursor.Version:
		t.restart(cursor, at)
		return nil
	case cursor.Version == had.cursor.Version:
		t.confirm(at)
		return nil
	case cursor.Version-had.cursor.Version > plane.Version(t.bounds.ringChanges):
		t.put(nil, cursor, at)
		return nil
	}
	entries, err := t.readLog(ctx, log, had.cursor.Version, cursor.Version)
	if err != nil {
		return err
	}
	t.put(entries, cursor, at)
	return nil
}

// readLog returns the changes with after < version <= upTo, or nothing when the log no longer has all of them.
func (t *tail) readLog(ctx context.Context, log Log, after, upTo plane.Version) ([]entry, error) {
	var entries []entry
	for after < upTo {
		page, err := t.readPage(ctx, log, after, upTo)
		if err != nil {
			return nil, err
		}
		if page == nil {
			return nil, nil
		}
		entries = append(entries, page...)
		after = page[len(page)-1].version
	}
	return entries, nil
}

// readPage returns the next changes behind a version, at least one, or nil when the log no longer has the first of them.
func (t *tail) readPage(ctx context.Context, log Log, after, upTo plane.Version) ([]entry, error) {
	changes, err := log.ChangesBetween(ctx, after, upTo, t.bounds.pageRows)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	entries := make([]entry, 0, len(changes))
	for i := range changes {
		if changes[i].Version != after+1+plane.Version(i) {
			return nil, nil
		}
		line, err := encode(plane.Message{Change: &changes[i]})
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{changes[i].Version, line})
	}
	if len(entries) == 0 {
		return nil, nil
	}
	return entries, nil
}

func (t *tail) restart(cursor plane.Cursor, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.life++
	t.known, t.cursor, t.fresh, t.ring, t.bytes = true, cursor, at, nil, 0
	t.wake()
}

func (t *tail) confirm(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh = at
}

// put adds entries that lead up to cursor. Without any the streams have to read the log.
func (t *tail) put(entries []entry, cursor plane.Cursor, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(entries) == 0 {
		t.ring, t.bytes = nil, 0
	}
	t.ring = append(t.ring, entries...)
	for _, e := range entries {
		t.bytes += len(e.line)
	}
	for len(t.ring) > t.bounds.ringChanges || t.bytes > t.bounds.ringBytes {
		t.bytes -= len(t.ring[0].line)
		t.ring = t.ring[1:]
	}
	t.cursor, t.fresh = cursor, at
	t.wake()
}

// wake tells all streams. mu is held.
func (t *tail) wake() {
	close(t.advance)
	t.advance = make(chan struct{})
}

// encode returns a message as a line.
func encode(m plane.Message) ([]byte, error) { return appendLine(nil, m) }

// appendLine appends a message as a line. The record of a key, of which there may be millions, is put together here instead of
// by encoding/json, which would read the text of the database twice more only to copy it.
func appendLine(to []byte, m plane.Message) ([]byte, error) {
	begin := len(to)
	if c := m.Change; c != nil && c.Kind == plane.KindKey && !c.Gone && plain(c.ID) && oneLine(c.Body) {
		to = append(to, `{"change":{"version":`...)
		to = strconv.AppendUint(to, uint64(c.Version), 10)
		to = append(to, `,"kind":"`+plane.KindKey+`","id":"`...)
		to = append(append(to, c.ID...), `","body":`...)
		to = append(append(to, c.Body...), `}}`...)
	} else {
		line, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encode a config message: %w", err)
		}
		to = append(to, line...)
	}
	if n := len(to) - begin; n >= plane.MessageBytesMax {
		return nil, fmt.Errorf("encode a config message: it has %d bytes, and nodes take fewer than %d", n, plane.MessageBytesMax)
	}
	return append(to, '\n'), nil
}

// plain reports whether an ID is the same as JSON: letters and digits.
func plain(id string) bool {
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// oneLine reports whether a record that the database returned, which is JSON, is a single line.
func oneLine(body []byte) bool { return len(body) > 0 && bytes.IndexByte(body, '\n') < 0 }
