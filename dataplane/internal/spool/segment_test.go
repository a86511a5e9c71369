package spool

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// written returns a segment with n records and where each begins; the last offset is the end.
func written(t testing.TB, n int) (data []byte, offsets []int) {
	t.Helper()
	s, err := makeSpare(filepath.Join(t.TempDir(), "spare"), 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.begin(filepath.Dir(s.path), "incarnation", 1); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		offsets = append(offsets, s.tail)
		r := plane.UsageRecord{RequestID: "call", At: time.Unix(int64(i), 0), Status: 200, TokensOut: int64(i) << uint(i%40)}
		s.tail += usage.Put(s.data[s.tail:s.tail+usage.RecordBytesMax], usage.Seed("incarnation"), uint64(i+1), &r)
	}
	data = slices.Clone(s.data)
	if err := s.unmap(); err != nil {
		t.Fatal(err)
	}
	return data, append(offsets, s.tail)
}

// The power goes at every byte of the tail: what is cut off reads as zeros, as the file is preallocated, or as garbage.
func TestTornTailAtEveryByte(t *testing.T) {
	const records = 5
	data, offsets := written(t, records)
	seed := usage.Seed("incarnation")
	for cut := segmentHeaderBytes; cut <= offsets[records]; cut++ {
		whole := 0
		for whole < records && offsets[whole+1] <= cut {
			whole++
		}
		for name, fill := range map[string]func(int) byte{
			"zeros":   func(int) byte { return 0 },
			"ones":    func(int) byte { return 0xff },
			"garbage": func(i int) byte { return byte(i*37 + 11) },
		} {
			torn := slices.Clone(data)
			for i := cut; i < offsets[records]; i++ {
				torn[i] = fill(i)
			}
			runs, at := scan(torn, seed)
			got := 0
			for _, r := range runs {
				got += int(r.last - r.first + 1)
			}
			// A record whose bytes after the cut are the ones that were there anyway is whole.
			same := whole
			for same < records && slices.Equal(torn[offsets[same]:offsets[same+1]], data[offsets[same]:offsets[same+1]]) {
				same++
			}
			padding := name != "zeros" && got == whole+1 // garbage in the padding after a record does not matter
			if len(runs) > 1 || (got != whole && got != same && !padding) {
				t.Fatalf("cut at %d, %s: %d records in %d parts, want %d", cut, name, got, len(runs), whole)
			}
			if at != 0 && at < offsets[whole] {
				t.Fatalf("cut at %d, %s: torn at %d", cut, name, at)
			}
		}
		shorter := data[:cut] // a file that is really shorter
		if runs, _ := scan(shorter, seed); len(runs) > 1 || (len(runs) == 1 && int(runs[0].last) < whole) {
			t.Fatalf("cut off at %d: %+v, want %d", cut, runs, whole)
		}
	}
}

// One changed byte anywhere costs at most the record it is in.
func TestChangedByteCostsOneRecord(t *testing.T) {
	const records = 5
	data, offsets := written(t, records)
	for at := segmentHeaderBytes; at < offsets[records]; at++ {
		damaged := slices.Clone(data)
		damaged[at] ^= 0x10
		runs, _ := scan(damaged, usage.Seed("incarnation"))
		found := map[uint64]bool{}
		for _, r := range runs {
			for seq := r.first; seq <= r.last; seq++ {
				found[seq] = true
			}
		}
		for i := range records {
			hit := offsets[i] <= at && at < offsets[i+1]
			if !hit && !found[uint64(i+1)] {
				t.Fatalf("byte %d changed: record %d is lost, too", at, i+1)
			}
		}
		if len(found) < records-1 {
			t.Fatalf("byte %d changed: %d records left", at, len(found))
		}
	}
}

func TestRecordsOfAnotherIncarnationAreNotFound(t *testing.T) {
	data, _ := written(t, 5)
	if runs, _ := scan(data, usage.Seed("another")); len(runs) != 0 {
		t.Errorf("%+v", runs)
	}
}

func TestSegmentSizeThatIsNoFile(t *testing.T) {
	if _, err := makeSpare(filepath.Join(t.TempDir(), "none", "spare"), 16<<10); err == nil {
		t.Error("made a segment in a directory that is not there")
	}
	path := filepath.Join(t.TempDir(), "x.segment")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSegment(path); err == nil {
		t.Error("opened an empty file")
	}
}

func FuzzScan(f *testing.F) {
	data, offsets := written(f, 3)
	f.Add(data[:offsets[3]])
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, _ := scan(data, usage.Seed("incarnation"))
		for _, r := range runs {
			if r.from < segmentHeaderBytes || r.to > len(data) || r.last < r.first {
				t.Errorf("%+v of %d bytes", r, len(data))
			}
		}
	})
}
