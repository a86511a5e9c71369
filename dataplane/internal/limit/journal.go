package limit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

// journal keeps the daily counts on disk: a header, then records that are appended as counts change; the last record of a
// bucket counts. A record is
//
//	crc32c of the rest (4) | length of the bucket (2) | day (8) | count (8) | bucket      little endian
//
// The file is rewritten when it has grown well beyond its live records. It is used by one goroutine.
type journal struct {
	path string
	file *os.File
	size int64
	live map[string]day
	base int64 // bytes of the last rewrite
}

const journalHeader = "modelgate day counts 1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal returns the journal at path and the counts it holds. A damaged file is set aside under another name; damage is
// then its description and the counts are those before it.
func openJournal(path string, today int64) (j *journal, damage, failed error) {
	j = &journal{path: path, live: map[string]day{}}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read counts of the day: %w", err)
	}
	if len(data) > 0 {
		if damage = j.load(data); damage != nil {
			if err := os.Rename(path, path+".damaged"); err != nil {
				return nil, nil, fmt.Errorf("set damaged counts aside: %w", err)
			}
		}
	}
	if err := j.rewrite(today); err != nil {
		return nil, nil, err
	}
	return j, damage, nil
}

// load reads records up to the end or the first damage.
func (j *journal) load(data []byte) error {
	rest, ok := bytes.CutPrefix(data, []byte(journalHeader))
	if !ok {
		return errors.New("not a journal of day counts")
	}
	for len(rest) > 0 {
		record, n, ok := cutRecord(rest)
		if !ok {
			return fmt.Errorf("%d of %d bytes are damaged, starting at %d", len(rest), len(data), len(data)-len(rest))
		}
		bucket := string(record[18:])
		j.live[bucket] = day{
			number: int64(binary.LittleEndian.Uint64(record[2:])),
			count:  int64(binary.LittleEndian.Uint64(record[10:])),
		}
		rest = rest[n:]
	}
	return nil
}

// cutRecord returns the first record without its checksum, and its whole length.
func cutRecord(b []byte) (record []byte, n int, ok bool) {
	if len(b) < journalRecordBytes {
		return nil, 0, false
	}
	n = journalRecordBytes + int(binary.LittleEndian.Uint16(b[4:]))
	if len(b) < n {
		return nil, 0, false
	}
	record = b[4:n]
	return record, n, crc32.Checksum(record, castagnoli) == binary.LittleEndian.Uint32(b)
}

func appendRecord(b []byte, bucket string, d day) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(bucket)))
	b = binary.LittleEndian.AppendUint64(b, uint64(d.number))
	b = binary.LittleEndian.AppendUint64(b, uint64(d.count))
	b = append(b, bucket...)
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

// write makes the changed counts durable. After an error the caller gives the same counts again.
func (j *journal) write(changed map[string]day, today int64) error {
	if len(changed) == 0 {
		return nil
	}
	var b []byte
	for bucket, d := range changed {
		j.live[bucket] = d
		b = appendRecord(b, bucket, d)
	}
	if j.file == nil || j.size+int64(len(b)) > 2*j.base+journalSlackBytes {
		return j.rewrite(today)
	}
	if _, err := j.file.Write(b); err != nil {
		_ = j.close() // its tail is unknown now: the next write makes a new file
		return fmt.Errorf("append counts of the day: %w", err)
	}
	j.size += int64(len(b))
	if err := j.file.Sync(); err != nil {
		_ = j.close()
		return fmt.Errorf("sync counts of the day: %w", err)
	}
	return nil
}

// rewrite replaces the file by one with the live records of today and later.
func (j *journal) rewrite(today int64) error {
	b := []byte(journalHeader)
	for bucket, d := range j.live {
		if d.number < today || d.count == 0 {
			delete(j.live, bucket)
			continue
		}
		b = appendRecord(b, bucket, d)
	}
	next := j.path + ".next"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create counts of the day: %w", err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(next, j.path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(j.path))
	}
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("rewrite counts of the day: %w", err)
	}
	_ = j.close()
	j.file, j.size, j.base = f, int64(len(b)), int64(len(b))
	return nil
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	if err != nil {
		return fmt.Errorf("close counts of the day: %w", err)
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	return errors.Join(err, dir.Close())
}
