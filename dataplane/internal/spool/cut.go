package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// Calls that a crash cut are found in the journal that the process left, and become records of a segment of their own. Its
// incarnation is made of theirs and its order is that of the slots, so that doing it again, after a crash in the midst of it,
// gives the same records the same numbers.

// life is what the files say of a process that ended without closing its journal.
type life struct {
	incarnation string
	boot        uint64
	journals    []string
	segments    []string
}

// running is a call found in a journal.
type running struct {
	ends   uint64 // seq of its record, 0 if none was about to be written
	before uint64 // what was appended before it began
	record plane.UsageRecord
}

// countCut writes a segment for each process that left running calls, and removes its journal. What cannot be read is set aside.
// Without room for the segment the journal stays, for the next start.
func (s *Spool) countCut() error {
	lives, err := s.lives()
	if err != nil {
		return err
	}
	for _, l := range lives {
		if err := s.countLife(l); err != nil {
			s.o.Log.Error("calls cut by a crash cannot be counted now, the next start tries again",
				slog.String("incarnation", l.incarnation), slog.Any("error", err))
		}
	}
	return nil
}

func (s *Spool) countLife(l *life) error {
	calls, err := s.cutCalls(l)
	if err != nil {
		return err
	}
	if len(calls) > 0 {
		if err := s.writeCut(l.incarnation, calls); err != nil {
			return err
		}
		s.stats.cut.Add(uint64(len(calls)))
		s.o.Log.Warn("calls cut by a crash are counted", slog.String("incarnation", l.incarnation), slog.Int("calls", len(calls)))
	}
	for _, path := range l.journals {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove journal: %w", err)
		}
	}
	return syncDir(s.dir)
}

// lives groups journals and segments by the process that wrote them.
func (s *Spool) lives() ([]*life, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("recover usage log: %w", err)
	}
	var all []*life
	by := map[string]*life{}
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(s.dir, entry.Name())
		switch {
		case strings.HasPrefix(name, journalPrefix) && strings.HasSuffix(name, journalSuffix+".new"):
			if err := os.Remove(path); err != nil { // it was being made
				return nil, fmt.Errorf("recover usage log: %w", err)
			}
		case strings.HasPrefix(name, journalPrefix) && strings.HasSuffix(name, journalSuffix):
			incarnation, boot, err := journalHead(path)
			if errors.Is(err, errDamaged) {
				if err := s.moveAside(path, err); err != nil {
					return nil, err
				}
				continue
			}
			if err != nil {
				return nil, err
			}
			l := by[incarnation]
			if l == nil {
				l = &life{incarnation: incarnation, boot: boot}
				by[incarnation], all = l, append(all, l)
			}
			l.journals = append(l.journals, path)
		}
	}
	for _, entry := range entries {
		if incarnation, _, ok := strings.Cut(entry.Name(), "-"); ok && strings.HasSuffix(entry.Name(), segmentSuffix) && by[incarnation] != nil {
			by[incarnation].segments = append(by[incarnation].segments, filepath.Join(s.dir, entry.Name())) // in order
		}
	}
	return all, nil
}

func journalHead(path string) (incarnation string, boot uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("open journal: %w", err)
	}
	defer f.Close()
	var head [segmentHeaderBytes]byte
	n, err := f.ReadAt(head[:], 0)
	if n < len(head) || string(head[:8]) != journalMagic || crc32.Checksum(head[:60], castagnoli) != binary.LittleEndian.Uint32(head[60:]) {
		return "", 0, fmt.Errorf("%w: header of %s: %w", errDamaged, filepath.Base(path), err)
	}
	return strings.TrimRight(string(head[16:16+incarnationBytes]), "\x00"), binary.LittleEndian.Uint64(head[8:]), nil
}

// cutCalls returns the calls of a life that have no record.
func (s *Spool) cutCalls(l *life) ([]running, error) {
	var calls []running
	for _, path := range l.journals {
		found, damaged, err := readJournal(path, usage.Seed(l.incarnation))
		if err != nil {
			return nil, err
		}
		if damaged > 0 {
			s.o.Log.Error("notes of running calls are damaged, a copy is kept", slog.String("file", path), slog.Int("calls", damaged))
			s.keepAside(path)
		}
		calls = append(calls, found...)
	}
	if len(calls) == 0 {
		return nil, nil
	}
	written, recorded, err := s.recorded(l, calls)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(calls, func(c running) bool {
		return c.ends != 0 && c.ends <= written || recorded[identity(&c.record)]
	}), nil
}

// recorded returns the number of the last record that the process wrote. If the machine went down with it, slots may be older
// than records; then it also returns which calls have one. Those were not uploaded yet, since the journal is synced before that.
func (s *Spool) recorded(l *life, calls []running) (written uint64, recorded map[string]bool, err error) {
	if len(l.segments) == 0 { // set aside as damaged: what had a number may be counted already
		return math.MaxUint64, nil, nil
	}
	rebooted := l.boot == 0 || l.boot != bootID()
	least := uint64(math.MaxUint64)
	for _, c := range calls {
		least = min(least, c.before)
	}
	recorded = map[string]bool{}
	seed := usage.Seed(l.incarnation)
	for _, path := range slices.Backward(l.segments) {
		segment, err := openSegment(path)
		if errors.Is(err, errDamaged) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return 0, nil, fmt.Errorf("read usage segment: %w", err)
		}
		runs, _ := scan(data, seed)
		written = max(written, segment.first-1)
		for _, r := range runs {
			written = max(written, r.last)
			for at := r.from; rebooted && at < r.to; {
				seq, payload, n, _ := usage.Cut(data[at:], seed)
				if record, err := usage.Decode(payload, seq); err == nil {
					recorded[identity(&record)] = true
				}
				at += n
			}
		}
		if !rebooted || segment.first <= least {
			break
		}
	}
	return written, recorded, nil
}

// identity is what a call and its record have in common. The id alone may be the client's choice.
func identity(r *plane.UsageRecord) string {
	return fmt.Sprintf("%s %s %d", r.RequestID[:min(len(r.RequestID), journalTextBytes)], r.KeyID, r.At.UnixNano())
}

// readJournal returns the calls of a file, as records of calls that were cut.
func readJournal(path string, seed uint32) (calls []running, damaged int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read journal: %w", err)
	}
	for at := journalSlotBytes; at+journalSlotBytes <= len(data); at += journalSlotBytes {
		slot := data[at : at+journalSlotBytes]
		if binary.LittleEndian.Uint32(slot[slotFrame:]) == 0 {
			continue
		}
		before, payload, _, ok := usage.Cut(slot[slotFrame:], seed)
		record, err := usage.Decode(payload, 0)
		if !ok || err != nil {
			damaged++
			continue
		}
		sent := binary.LittleEndian.Uint64(slot[slotSent:])
		cut(&record, int64(min(sent, math.MaxInt32)))
		calls = append(calls, running{ends: binary.LittleEndian.Uint64(slot[slotEnds:]), before: before, record: record})
	}
	return calls, damaged, nil
}

// cut makes the record of a call that a crash cut: what the client got is counted, and who got nothing has an error of ours.
func cut(r *plane.UsageRecord, sent int64) {
	r.End, r.Status, r.Source, r.TokensOut = plane.EndNodeCrash, 500, plane.SourceCounted, sent
	if sent > 0 {
		r.Status = 200
	}
}

// writeCut writes the segment of the calls that were cut.
func (s *Spool) writeCut(incarnation string, calls []running) error {
	name := cutIncarnation(incarnation)
	data := make([]byte, segmentHeaderBytes, segmentHeaderBytes+len(calls)*journalSlotBytes)
	putHeader(data, name, 1)
	seed := usage.Seed(name)
	frame := make([]byte, usage.RecordBytesMax)
	for i := range calls {
		n := usage.Put(frame, seed, uint64(i)+1, &calls[i].record)
		data = append(data, frame[:n]...)
		clear(frame[:n])
	}
	return replaceFile(filepath.Join(s.dir, segmentName(name, 1)), data)
}

// cutIncarnation is the name that the cut calls of an incarnation are shipped under. No process has such a name.
func cutIncarnation(incarnation string) string {
	return incarnation[:min(len(incarnation), incarnationBytes-1)] + "x"
}

// moveAside takes a file that cannot be read out of the way, for an operator.
func (s *Spool) moveAside(path string, why error) error {
	s.stats.damaged.Add(1)
	s.o.Log.Error("file of the usage log cannot be read, set aside", slog.String("file", path), slog.Any("error", why))
	if err := os.Rename(path, filepath.Join(s.dir, "damaged", filepath.Base(path))); err != nil {
		return fmt.Errorf("set damaged file aside: %w", err)
	}
	return nil
}

// keepAside keeps a damaged file for an operator, under another name, while what is whole of it is used.
func (s *Spool) keepAside(path string) {
	dir := filepath.Join(s.dir, "damaged")
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) < damagedFilesMax {
		err = os.Link(path, filepath.Join(dir, filepath.Base(path)))
	}
	switch {
	case err == nil:
		s.stats.damaged.Add(1)
	case !errors.Is(err, fs.ErrExist):
		s.o.Log.Warn("damaged file of the usage log cannot be kept", slog.String("file", path), slog.Any("error", err))
	}
}
