package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"modelgate.internal/shared/usage"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A segment file begins with
//
//	magic (8) | first seq (8) | incarnation (24) | zeros (20) | CRC32C of the 60 bytes before (4)
//
// and is named <incarnation>-<first seq, 16 hex digits>.segment.
const (
	segmentMagic       = "mgspool1"
	segmentHeaderBytes = 64
	incarnationBytes   = 24
	segmentSuffix      = ".segment"
	sparePrefix        = "spare-"
)

// segment is one file. first and incarnation never change; what is behind the appends' lock says so.
type segment struct {
	path        string
	incarnation string
	first       uint64
	data        []byte // the mapping; nil once it is complete and synced, and in files of earlier processes
	synced      int    // bytes known to be on disk; used by the keeper

	// The rest is guarded by Spool.mu.

	tail    int    // end of the records
	last    uint64 // seq of the last record, first-1 without any
	durable int    // end of the records that are on disk
	kept    uint64 // seq of the last of them
	sealed  bool   // nothing is appended any more
	suspect bool   // of an earlier process or found damaged: tail and last say nothing, it must be scanned
}

// makeSpare creates a file of zeros whose blocks are allocated, so that writing to its mapping cannot fail for lack of space.
func makeSpare(path string, size int64) (s *segment, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create segment: %w", err)
	}
	defer func() {
		_ = f.Close() // the mapping stays
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	if err := allocate(f, size); err != nil {
		return nil, fmt.Errorf("allocate segment: %w", err)
	}
	if err := f.Sync(); err != nil {
		return nil, fmt.Errorf("sync segment: %w", err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map segment: %w", err)
	}
	return &segment{path: path, data: data}, nil
}

func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}

// begin turns a spare into the segment that starts at first.
func (s *segment) begin(dir, incarnation string, first uint64) error {
	putHeader(s.data, incarnation, first)
	path := filepath.Join(dir, segmentName(incarnation, first))
	if err := os.Rename(s.path, path); err != nil {
		return fmt.Errorf("begin segment: %w", err)
	}
	s.path, s.incarnation, s.first = path, incarnation, first
	s.last, s.tail, s.kept, s.durable = first-1, segmentHeaderBytes, first-1, segmentHeaderBytes
	return nil
}

// putHeader writes the header of the segment that starts at first to the zeros it begins with.
func putHeader(data []byte, incarnation string, first uint64) {
	head := data[:segmentHeaderBytes]
	copy(head, segmentMagic)
	binary.LittleEndian.PutUint64(head[8:], first)
	copy(head[16:16+incarnationBytes], incarnation)
	binary.LittleEndian.PutUint32(head[60:], crc32.Checksum(head[:60], castagnoli))
}

func segmentName(incarnation string, first uint64) string {
	return fmt.Sprintf("%s-%016x%s", incarnation, first, segmentSuffix)
}

// openSegment opens a file of an earlier process.
func openSegment(path string) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	defer f.Close()
	var head [segmentHeaderBytes]byte
	n, err := f.ReadAt(head[:], 0)
	if n < len(head) || string(head[:8]) != segmentMagic ||
		crc32.Checksum(head[:60], castagnoli) != binary.LittleEndian.Uint32(head[60:]) {
		return nil, fmt.Errorf("%w: header of %s: %w", errDamaged, filepath.Base(path), err)
	}
	incarnation := head[16 : 16+incarnationBytes]
	for len(incarnation) > 0 && incarnation[len(incarnation)-1] == 0 {
		incarnation = incarnation[:len(incarnation)-1]
	}
	return &segment{
		path: path, incarnation: string(incarnation), first: binary.LittleEndian.Uint64(head[8:]), sealed: true, suspect: true,
	}, nil
}

// sync makes the bytes up to tail durable.
func (s *segment) sync(tail int) error {
	if s.data == nil || tail <= s.synced {
		return nil
	}
	from := s.synced &^ (os.Getpagesize() - 1)
	if err := unix.Msync(s.data[from:tail], unix.MS_SYNC); err != nil {
		return fmt.Errorf("sync segment: %w", err)
	}
	s.synced = tail
	return nil
}

func (s *segment) unmap() error {
	if s.data == nil {
		return nil
	}
	data := s.data
	s.data = nil
	if err := unix.Munmap(data); err != nil {
		return fmt.Errorf("unmap segment: %w", err)
	}
	return nil
}

// run is a part of a segment with whole records and contiguous seqs.
type run struct {
	from, to    int
	first, last uint64
}

// scan finds the whole records of a segment of an earlier process. torn is where nonsense without a record after it begins, 0
// if there is none: the end of a process or of the power. Two runs or more mean damage in the middle.
func scan(data []byte, seed uint32) (runs []run, torn int) {
	at := segmentHeaderBytes
	for at < len(data) {
		seq, _, n, ok := usage.Cut(data[at:], seed)
		if !ok {
			if torn == 0 && !zero(data[at:min(at+usage.FrameBytes, len(data))]) {
				torn = at
			}
			at += usage.Alignment
			for at < len(data) && zero(data[at:min(at+usage.Alignment, len(data))]) {
				at += usage.Alignment
			}
			continue
		}
		torn = 0
		if k := len(runs) - 1; k >= 0 && runs[k].to == at && runs[k].last+1 == seq {
			runs[k].to, runs[k].last = at+n, seq
		} else {
			runs = append(runs, run{from: at, to: at + n, first: seq, last: seq})
		}
		at += n
	}
	return runs, torn
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
