package ingest

import (
	"time"

	"modelgate.internal/shared/plane"
)

// Bounds of uploads besides plane.SegmentBytesMax and plane.SegmentRecordsMax.
const (
	DecodedBytesMax     = 64 << 20 // a segment without its compression
	RecordBytesMax      = 16 << 10 // one record as JSON
	WindowBytesMax      = 8 << 20  // memory of a zstd decoder
	ReadsMax            = 16       // uploads received at once; more wait
	DecodersMax         = 2        // uploads decoded at once; more wait
	RejectedBytesMax    = 1 << 20  // kept of a segment that cannot be read; the node still has all of it
	IncarnationBytesMax = 64
)

// What a record can say without being absurd.
const (
	TextBytesMax = 255                 // each text
	AgeMax       = 90 * 24 * time.Hour // of a record when it arrives
	AheadMax     = 24 * time.Hour      // of our clock
	TokensMax    = 1_000_000_000       // in or out, of one call
	TookMax      = 7 * 24 * time.Hour  // one call
	SeqMax       = 1 << 62
)

// Both bounds are the protocol's; this stops compiling when a record could not fit its segment.
const _ = uint(plane.SegmentBytesMax - RecordBytesMax)
