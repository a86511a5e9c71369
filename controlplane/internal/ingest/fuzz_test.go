package ingest

import (
	"math"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage/usagetest"
)

// FuzzDecode decodes what a node might send: arbitrary bytes, as they are and as the inside of a zstd stream.
func FuzzDecode(f *testing.F) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	records := []plane.UsageRecord{
		{
			Seq: 7, At: now, AccountID: "7d1f2a34-0000-4000-8000-000000000001", KeyID: "7d1f2a34-0000-4000-8000-000000000003",
			Status: 200, End: plane.EndDone, Source: plane.SourceProvider, TokensIn: 5, Took: time.Second,
		},
		{Seq: 8, At: time.Unix(0, math.MaxInt64), Status: -1, Model: "\x00"},
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(WindowBytesMax), zstd.WithDecoderMaxMemory(DecodedBytesMax))
	if err != nil {
		f.Fatal(err)
	}
	upload := usagetest.Upload(records)
	f.Add(upload)
	f.Add(upload[:len(upload)-20])
	f.Add(encoder.EncodeAll(upload, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, body := range [][]byte{data, encoder.EncodeAll(data, nil)} {
			s, err := decode(decoder, body, now)
			if err != nil {
				continue
			}
			if len(s.lines) == 0 || len(s.lines) > plane.SegmentRecordsMax || s.first == 0 || s.first > SeqMax {
				t.Fatalf("%d records from %d", len(s.lines), s.first)
			}
			for i := range s.lines {
				bad := s.lines[i].bad
				if bad != nil && (bad.Seq != s.first+uint64(i) || bad.Reason == "" || len(bad.Body) == 0) {
					t.Fatalf("record %d is set aside as %+v", s.first+uint64(i), bad)
				}
			}
			sum(s.lines, now, PartRowsMax)
		}
	})
}
