package spool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// Errors of a spool.
var (
	ErrFull   = errors.New("usage log is full")
	ErrClosed = errors.New("usage log is closed")

	errDamaged = errors.New("usage segment is damaged")
	errSlow    = fmt.Errorf("usage records are not on disk after %s", syncWait)
)

// Uploader takes records to the control plane; snapshot.Link is one. A status is never an error.
type Uploader interface {
	Send(ctx context.Context, path string, header http.Header, body []byte) (status int, answer []byte, err error)
}

// When records reach the disk.
const (
	SyncBatch  = "batch"  // in groups, within 20 ms: that much is at risk when the power goes
	SyncAnswer = "answer" // before Append returns, and so before a client sees the end of its answer
)

// Options configure a Spool.
type Options struct {
	DataDir      string // files are kept in spool below it
	DiskBytes    int64  // bound of all segment files; 0 means DiskBytesDefault
	SegmentBytes int64  // size of one file, 0 means 4 MiB; a multiple of the page size
	Sync         string // SyncBatch, also when empty, or SyncAnswer
	Uploader     Uploader
	Now          func() time.Time
	Log          *slog.Logger
}

// Spool is the node's log of usage records.
type Spool struct {
	o           Options
	dir         string
	lock        *os.File
	incarnation string
	seed        uint32
	segmentsMax int

	mu      sync.Mutex
	active  *segment
	spare   *segment   // nil until the keeper made one
	retired []*segment // complete, not yet synced and unmapped
	queue   []*segment // everything that may hold unacknowledged records, oldest first; the last is active
	seq     uint64
	dirty   bool
	closed  bool
	count   int  // files, with the spare
	making  int  // files the keeper is making now, among count; an append that cannot wait for one may exceed the bound by it
	spares  int  // made so far
	noRoom  bool // the file system refused a segment

	durable uint64        // seq of the last record that is on disk
	synced  chan struct{} // closed, and made anew, after each sync
	settled chan struct{} // closed when the syncing goroutine has ended

	wake   chan struct{}         // for the syncing goroutine
	want   chan struct{}         // for the goroutine that makes spares
	broken atomic.Pointer[error] // why records cannot be made durable; nil is well
	stats  counters
	ship   *shipper

	journal *journal
}

type counters struct{ appended, refused, acknowledged, lost, cut, damaged atomic.Uint64 }

// Stats are figures for metrics.
type Stats struct {
	Appended     uint64 // records, since the process started
	Refused      uint64 // records that Append had no room for
	Acknowledged uint64 // records stored by the control plane
	Lost         uint64 // records found to be destroyed by damage to files
	Cut          uint64 // calls of earlier processes that a crash cut, counted by this one
	Damaged      uint64 // files set aside, or copied, because of damage
	DiskBytes    int64
	Unshipped    uint64 // records of this process that are not acknowledged
	Backlog      int    // files with records that are not acknowledged
}

// Open takes the spool directory over: records of earlier processes are queued, and appending may begin at once. Files whose
// header is damaged are set aside. Only one process may have the directory open.
func Open(o Options) (*Spool, error) {
	if o.DiskBytes <= 0 {
		o.DiskBytes = DiskBytesDefault
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = segmentBytesDefault
	}
	incarnation, err := newIncarnation(o.Now())
	if err != nil {
		return nil, err
	}
	s := &Spool{
		o: o, dir: filepath.Join(o.DataDir, "spool"), incarnation: incarnation, seed: usage.Seed(incarnation),
		segmentsMax: max(int(o.DiskBytes/o.SegmentBytes), segmentsMin), wake: make(chan struct{}, 1), want: make(chan struct{}, 1),
		synced: make(chan struct{}), settled: make(chan struct{}),
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "damaged"), 0o700); err != nil {
		return nil, fmt.Errorf("make usage log: %w", err)
	}
	if s.lock, err = lockDir(s.dir); err != nil {
		return nil, err
	}
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	s.journal = newJournal(s.dir, incarnation)
	if s.ship, err = newShipper(s); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.rotate(); err != nil && !errors.Is(err, ErrFull) { // when full, the shipper has to make room first
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// newIncarnation names a life of this process; names sort by time.
func newIncarnation(now time.Time) (string, error) {
	var chance [6]byte
	if _, err := rand.Read(chance[:]); err != nil {
		return "", fmt.Errorf("name incarnation: %w", err)
	}
	return fmt.Sprintf("%012x%s", now.UnixMilli(), hex.EncodeToString(chance[:])), nil
}

// lockDir keeps other processes out of the directory until the file is closed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock usage log: %w", err)
	}
	for waited := time.Duration(0); ; waited += lockPoll {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if waited >= lockWait {
			_ = f.Close()
			return nil, fmt.Errorf("lock usage log %s: another process is using it: %w", dir, err)
		}
		time.Sleep(lockPoll)
	}
}

// recover queues the files of earlier processes. Their records are read when their turn to be shipped comes; calls that ended
// with such a process get theirs now.
func (s *Spool) recover() error {
	if err := s.countCut(); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("recover usage log: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(s.dir, entry.Name())
		if strings.HasPrefix(entry.Name(), sparePrefix) {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("recover usage log: %w", err)
			}
		}
		if !strings.HasSuffix(entry.Name(), segmentSuffix) {
			continue
		}
		segment, err := openSegment(path)
		if errors.Is(err, errDamaged) {
			if err := s.moveAside(path, err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		s.queue = append(s.queue, segment)
	}
	sort.Slice(s.queue, func(i, j int) bool { return s.queue[i].path < s.queue[j].path })
	s.count = len(s.queue)
	if s.count > 0 {
		s.o.Log.Info("usage records of earlier processes found", slog.Any("segments", s.count))
	}
	return nil
}

// Append writes a record and sets its Seq. When it returns nil the record survives the death of the process; within 20 ms, or
// at once with SyncAnswer, it also survives the loss of power. Texts are cut to 255 bytes. The error is ErrFull or ErrClosed, or of the file system when
// no segment could be made.
func (s *Spool) Append(r *plane.UsageRecord) error { return s.End(nil, r) }

// Begin notes a call that is about to cost something, with its record as far as it is known. If the process dies before End, the
// next one counts the call, once, as cut by the crash. The error is ErrClosed, or of the file system.
func (s *Spool) Begin(r *plane.UsageRecord) (*Ticket, error) {
	return s.journal.begin(r, s.stats.appended.Load())
}

// End is Append for a call that was begun, or not if o is nil. After it o must not be used any more.
func (s *Spool) End(o *Ticket, r *plane.UsageRecord) error {
	err := s.end(o, r)
	if o != nil {
		o.done()
	}
	if err == nil && s.o.Sync == SyncAnswer {
		err = s.await(r.Seq)
	}
	return err
}

func (s *Spool) end(o *Ticket, r *plane.UsageRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.active == nil || len(s.active.data)-s.active.tail < usage.RecordBytesMax {
		if err := s.rotate(); err != nil {
			s.stats.refused.Add(1)
			return err
		}
	}
	a := s.active
	r.Seq = s.seq + 1
	if o != nil {
		o.ending(r.Seq)
	}
	a.tail += usage.Put(a.data[a.tail:a.tail+usage.RecordBytesMax], s.seed, r.Seq, r)
	s.seq = r.Seq
	a.last = r.Seq
	s.stats.appended.Add(1)
	if !s.dirty {
		s.dirty = true
		nudge(s.wake)
	}
	return nil
}

// rotate puts the spare in the place of the active segment. The appends' lock must be held.
func (s *Spool) rotate() error {
	next := s.spare
	if next == nil { // the keeper was too slow, or this is the beginning
		if s.count-s.making >= s.segmentsMax {
			return ErrFull
		}
		var err error
		next, err = makeSpare(s.sparePath(), s.o.SegmentBytes)
		if s.noRoom = err != nil; s.noRoom {
			return err
		}
		s.count++
	}
	s.spare = nil
	if err := next.begin(s.dir, s.incarnation, s.seq+1); err != nil {
		s.count--
		s.noRoom = true
		_ = next.unmap()
		return err
	}
	if s.active != nil {
		s.active.sealed = true
		s.retired = append(s.retired, s.active)
	}
	s.active = next
	s.queue = append(s.queue, next)
	nudge(s.wake)
	nudge(s.want)
	return nil
}

// sparePath names a new file. The appends' lock must be held.
func (s *Spool) sparePath() string {
	s.spares++
	return filepath.Join(s.dir, sparePrefix+strconv.Itoa(s.spares))
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Ready returns nil if calls can be counted. Otherwise calls must be refused, with 503; those that are running find room.
func (s *Spool) Ready() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.spare != nil || (s.count < s.segmentsMax && !s.noRoom):
		return nil
	case s.active == nil || len(s.active.data)-s.active.tail < len(s.active.data)/reserveShare:
		return ErrFull
	}
	return nil
}

// Full reports whether calls must be refused because they could not be counted. It is cheap enough to be asked per call.
func (s *Spool) Full() bool { return s.Ready() != nil }

// Incarnation names this life of the process in uploads.
func (s *Spool) Incarnation() string { return s.incarnation }

// Stats returns figures for metrics.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Appended:     s.stats.appended.Load(),
		Refused:      s.stats.refused.Load(),
		Acknowledged: s.stats.acknowledged.Load(),
		Lost:         s.stats.lost.Load(),
		Cut:          s.stats.cut.Load(),
		Damaged:      s.stats.damaged.Load(),
		DiskBytes:    int64(s.count) * s.o.SegmentBytes,
		Unshipped:    s.seq - min(s.ship.acked.Load(), s.seq),
		Backlog:      len(s.queue),
	}
}
