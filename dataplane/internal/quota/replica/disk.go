package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// disk is the log of a replica on disk, and its stable store. If raft-wal cannot begin a new segment, it refuses all further writes, although
// there may be space again. So after a write that failed the log is opened anew before the next one, as after a crash.
type disk struct {
	dir  string
	meta types.MetaStore

	mu     sync.Mutex // one writer at a time
	broken bool       // the newest write failed

	open sync.RWMutex // held by who uses log; for writing, to replace it
	log  *wal.WAL
}

// shared is the log's metadata store, which outlives a log that is closed to be opened again.
type shared struct{ types.MetaStore }

// Close implements types.MetaStore.
func (shared) Close() error { return nil }

func openDisk(dir string, meta types.MetaStore) (*disk, error) {
	d := &disk{dir: filepath.Join(dir, logDir), meta: meta}
	var err error
	if d.log, err = d.recover(); err != nil {
		return nil, fmt.Errorf("open log of the quota ledger: %w", err)
	}
	return d, nil
}

// recover opens the log by what is on disk.
func (d *disk) recover() (*wal.WAL, error) {
	if err := d.endSegment(); err != nil {
		return nil, err
	}
	return wal.Open(d.dir, wal.WithMetaStore(shared{d.meta}))
}

// endSegment begins the next segment if the newest one is full and raft-wal could not note that, or crashed before it did. It would open such a
// log (0.4.1), but never write to it.
func (d *disk) endSegment() error {
	state, err := d.meta.Load(d.dir)
	if err != nil || len(state.Segments) == 0 {
		return err
	}
	newest := &state.Segments[len(state.Segments)-1]
	if !newest.SealTime.IsZero() {
		return nil
	}
	w, err := segment.NewFiler(d.dir, fs.New()).RecoverTail(*newest)
	if errors.Is(err, os.ErrNotExist) {
		return nil // raft-wal makes the file
	}
	if err != nil {
		return err
	}
	full, index, err := w.Sealed()
	last := w.LastIndex()
	if err = errors.Join(err, w.Close()); err != nil || !full {
		return err
	}
	newest.SealTime, newest.MaxIndex, newest.IndexStart = time.Now(), last, index
	state.Segments = append(state.Segments, types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: last + 1, MinIndex: last + 1, SizeLimit: newest.SizeLimit, Codec: newest.Codec, CreateTime: time.Now(),
	})
	state.NextSegmentID++
	return d.meta.CommitState(state)
}

// FirstIndex implements raft.LogStore.
func (d *disk) FirstIndex() (uint64, error) {
	d.open.RLock()
	defer d.open.RUnlock()
	return d.log.FirstIndex()
}

// LastIndex implements raft.LogStore.
func (d *disk) LastIndex() (uint64, error) {
	d.open.RLock()
	defer d.open.RUnlock()
	return d.log.LastIndex()
}

// GetLog implements raft.LogStore.
func (d *disk) GetLog(index uint64, to *raft.Log) error {
	d.open.RLock()
	defer d.open.RUnlock()
	return d.log.GetLog(index, to)
}

// IsMonotonic implements raft.MonotonicLogStore.
func (d *disk) IsMonotonic() bool { return d.log.IsMonotonic() }

// StoreLog implements raft.LogStore.
func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	return d.write(func() error {
		err := d.log.StoreLogs(logs)
		d.broken = err != nil
		return err
	})
}

// DeleteRange implements raft.LogStore.
func (d *disk) DeleteRange(first, last uint64) error {
	return d.write(func() error { return d.log.DeleteRange(first, last) })
}

func (d *disk) write(change func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		if err := d.reopen(); err != nil {
			return fmt.Errorf("open log of the quota ledger again: %w", err)
		}
		d.broken = false
	}
	return change()
}

// reopen replaces the log. What raft was told is not stored may be in the file all the same, as a whole; it is taken out.
func (d *disk) reopen() error {
	last, err := d.log.LastIndex()
	if err != nil {
		return err
	}
	next, err := d.recover()
	if err != nil {
		return err
	}
	found, err := next.LastIndex()
	if err == nil && found > last {
		err = next.DeleteRange(last+1, found)
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	d.open.Lock()
	old := d.log
	d.log = next
	d.open.Unlock()
	return old.Close()
}

// Set implements raft.StableStore.
func (d *disk) Set(key, value []byte) error {
	d.open.RLock()
	defer d.open.RUnlock()
	return d.log.Set(key, value)
}

// Get implements raft.StableStore.
func (d *disk) Get(key []byte) ([]byte, error) {
	d.open.RLock()
	defer d.open.RUnlock()
	return d.log.Get(key)
}

// SetUint64 implements raft.StableStore.
func (d *disk) SetUint64(key []byte, value uint64) error {
	d.open.RLock()
	defer d.open.RUnlock()
	return d.log.SetUint64(key, value)
}

// GetUint64 implements raft.StableStore.
func (d *disk) GetUint64(key []byte) (uint64, error) {
	d.open.RLock()
	defer d.open.RUnlock()
	return d.log.GetUint64(key)
}

// Close closes the log, after the replica has stopped.
func (d *disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.log.Close(), d.meta.Close())
}
