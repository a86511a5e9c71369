package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// The journal has the calls that are running, so that the next process can count those that this one did not live to end. A file
// is slots of journalSlotBytes, little endian. The first is the header,
//
//	magic (8) | hash of the machine's boot (8) | incarnation (24) | zeros (20) | CRC32C of the 60 bytes before (4) | zeros
//
// the others have a call each:
//
//	seq of the record that ends it, 0 while it runs (8) | events sent so far (8) | frame of package usage, numbered by what was
//	appended before it
//
// A slot whose frame has the length 0 is free. Files are named calls-<incarnation>-<number>.journal.
const (
	journalMagic  = "mgcalls1"
	journalPrefix = "calls-"
	journalSuffix = ".journal"

	slotEnds  = 0
	slotSent  = 8
	slotFrame = 16
)

// journal is that of this process.
type journal struct {
	dir, incarnation string
	seed             uint32
	boot             uint64
	slots            int // of a file, with its header

	mu     sync.Mutex
	files  []*journalFile
	free   []*Ticket // the last is taken first, so that few pages are in use
	open   int       // calls that are running
	synced time.Time
	closed bool
}

type journalFile struct {
	path string
	data []byte
	all  []Ticket
}

// Ticket is a call that is running, in the journal.
type Ticket struct {
	j    *journal
	slot []byte
}

func newJournal(dir, incarnation string) *journal {
	return &journal{dir: dir, incarnation: incarnation, seed: usage.Seed(incarnation), boot: bootID(), slots: journalSlots}
}

// begin notes a call. The frame's number is what was appended before it: the record that ends it has a higher one.
func (j *journal) begin(r *plane.UsageRecord, appended uint64) (*Ticket, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, ErrClosed
	}
	if len(j.free) == 0 {
		if err := j.grow(); err != nil {
			return nil, err
		}
	}
	last := len(j.free) - 1
	o := j.free[last]
	j.free = j.free[:last]
	j.open++
	o.store(slotEnds, 0)
	o.store(slotSent, 0)
	if usage.SizeMax(r) > journalSlotBytes-slotFrame {
		shorter := *r
		for _, text := range [...]*string{
			&shorter.RequestID, &shorter.AccountID, &shorter.DeveloperID, &shorter.AppID, &shorter.KeyID, &shorter.Endpoint,
			&shorter.Model, &shorter.Task, &shorter.Backend, &shorter.End, &shorter.Source,
		} {
			*text = (*text)[:min(len(*text), journalTextBytes)]
		}
		r = &shorter
	}
	usage.Put(o.slot[slotFrame:], j.seed, appended, r)
	return o, nil
}

// Sent notes how many events the client was sent so far. It costs a store into the mapping. It must not be called after the call
// has ended.
func (o *Ticket) Sent(events int64) { o.store(slotSent, uint64(events)) }

// ending notes that the record with the given seq, which is written next, ends the call.
func (o *Ticket) ending(seq uint64) { o.store(slotEnds, seq) }

// done frees the slot of a call whose record is written.
func (o *Ticket) done() {
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&o.slot[slotFrame])), 0) //nolint:gosec // aligned
	j := o.j
	j.mu.Lock()
	defer j.mu.Unlock()
	j.free = append(j.free, o)
	j.open--
}

// store is one aligned store, of one goroutine. Who reads it does so after the process has died.
func (o *Ticket) store(at int, v uint64) { binary.LittleEndian.PutUint64(o.slot[at:], v) }

// grow adds a file of free slots. Its blocks are allocated, so that writing to the mapping cannot fail for lack of space.
func (j *journal) grow() error {
	path := filepath.Join(j.dir, fmt.Sprintf("%s%s-%d%s", journalPrefix, j.incarnation, len(j.files), journalSuffix))
	made, err := makeSpare(path+".new", int64(j.slots*journalSlotBytes))
	if err != nil {
		return fmt.Errorf("note a running call: %w", err)
	}
	head := made.data[:segmentHeaderBytes]
	copy(head, journalMagic)
	binary.LittleEndian.PutUint64(head[8:], j.boot)
	copy(head[16:16+incarnationBytes], j.incarnation)
	binary.LittleEndian.PutUint32(head[60:], crc32.Checksum(head[:60], castagnoli))
	if err := os.Rename(made.path, path); err != nil {
		return errors.Join(fmt.Errorf("note a running call: %w", err), made.unmap(), os.Remove(made.path))
	}
	f := &journalFile{path: path, data: made.data, all: make([]Ticket, j.slots-1)}
	for i := range slices.Backward(f.all) {
		at := (i + 1) * journalSlotBytes
		f.all[i] = Ticket{j: j, slot: f.data[at : at+journalSlotBytes : at+journalSlotBytes]}
		j.free = append(j.free, &f.all[i])
	}
	j.files = append(j.files, f)
	return nil
}

// sync makes durable what was noted until now, at most every so often: a process's death does not need it.
func (j *journal) sync(every time.Duration) error {
	j.mu.Lock()
	now := time.Now()
	if now.Sub(j.synced) < every {
		j.mu.Unlock()
		return nil
	}
	j.synced = now
	files := j.files // is only appended to
	j.mu.Unlock()
	for _, f := range files {
		if err := unix.Msync(f.data, unix.MS_SYNC); err != nil {
			return fmt.Errorf("sync running calls: %w", err)
		}
	}
	return nil
}

// close removes the files if no call is running, and reports whether that is so. Otherwise the next process counts what runs.
func (j *journal) close() (idle bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.open > 0 {
		return false, nil
	}
	for _, f := range j.files {
		err = errors.Join(err, os.Remove(f.path), unix.Munmap(f.data))
	}
	j.files, j.free = nil, nil
	return true, err
}

// bootID names this run of the machine, 0 where it has no name. Within one, files have what a process stored before it died.
func bootID() uint64 {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(text) == 0 {
		return 0
	}
	return uint64(crc32.Checksum(text, castagnoli))<<32 | uint64(crc32.ChecksumIEEE(text))
}
