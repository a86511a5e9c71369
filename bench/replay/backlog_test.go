package replay

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// A segment file, as dataplane/internal/spool/DESIGN.md has it. A node sets files aside that are not of this form, which the test sees.
const (
	segmentBytes = 4 << 20
	headerBytes  = 64
	magic        = "mgspool1"
	incarnation  = "0123456789abcdef01234567"
)

// fill writes segments of the calls of the last day of 100 apps with 3 keys each. It returns how many records they have.
func fill(t *testing.T, dir string, bytes int64) uint64 {
	t.Helper()
	data, seq := make([]byte, segmentBytes), uint64(1)
	for range bytes / segmentBytes {
		clear(data)
		header(data, seq)
		path, at := filepath.Join(dir, fmt.Sprintf("%s-%016x.segment", incarnation, seq)), headerBytes
		for ; len(data)-at >= usage.RecordBytesMax; seq++ {
			at += usage.Put(data[at:at+usage.RecordBytesMax], usage.Seed(incarnation), seq, record(seq))
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return seq - 1
}

func header(data []byte, first uint64) {
	copy(data, magic)
	binary.LittleEndian.PutUint64(data[8:], first)
	copy(data[16:], incarnation)
	binary.LittleEndian.PutUint32(data[60:], crc32.Checksum(data[:60], crc32.MakeTable(crc32.Castagnoli)))
}

func record(seq uint64) *plane.UsageRecord {
	app := seq * 2654435761 % 100
	return &plane.UsageRecord{
		RequestID: fmt.Sprintf("req_%020d", seq*6364136223846793005), At: time.Now().Add(-time.Duration(seq%86_400) * time.Second),
		AccountID: fmt.Sprintf("a0000000-0000-4000-8000-%012d", app), DeveloperID: fmt.Sprintf("d0000000-0000-4000-8000-%012d", app),
		AppID: fmt.Sprintf("b0000000-0000-4000-8000-%012d", app), KeyID: fmt.Sprintf("c0000000-0000-4000-8000-%012d", 3*app+seq%3),
		Endpoint: "agent", Model: "Darwin", Task: "conversation", Backend: "upstream", Status: 200, End: plane.EndDone,
		Source: plane.SourceProvider, TokensIn: int64(seq * 31 % 2000), TokensOut: int64(seq * 17 % 800),
		TTFT: time.Duration(seq%400) * time.Millisecond, Took: time.Duration(seq%9000) * time.Millisecond,
	}
}
