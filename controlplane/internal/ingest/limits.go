package ingest

import (
	"time"

	"modelgate.internal/shared/usage"
)

// Bounds of uploads besides plane.SegmentBytesMax and plane.SegmentRecordsMax.
const (
	DecodedBytesMax     = 64 << 20 // a segment without its compression
	WindowBytesMax      = 8 << 20  // memory of a zstd decoder
	ReadsMax            = 16       // uploads received at once; more wait
	DecodersMax         = 2        // uploads decoded at once; more wait
	RejectedBytesMax    = 1 << 20  // kept of a segment that cannot be read; the node still has all of it
	IncarnationBytesMax = 64
	PartRowsMax         = 500  // rollups of a minute that one transaction adds to, and about as many of an hour, a day and a key
	CallsMax            = 2000 // entries that one upload adds to the log of calls; apps share them, each has at least one
)

// What a record can say without being absurd.
const (
	TextBytesMax = usage.TextBytesMax  // each text
	AgeMax       = 90 * 24 * time.Hour // of a record when it arrives
	AheadMax     = 24 * time.Hour      // of our clock
	TokensMax    = 1_000_000_000       // in or out, of one call
	TookMax      = 7 * 24 * time.Hour  // one call
	SeqMax       = 1 << 62
)

// How long rollups are kept; those of days are kept for good. Both are longer than what is promised (3 days, 13 months) by what a
// range needs that begins at midnight in another time zone.
const (
	MinutesKept = 4 * 24 * time.Hour
	HoursKept   = 402 * 24 * time.Hour
	CallsKept   = 3 * 24 * time.Hour // the log of calls
)
