package publish

import "time"

// Bounds of publishing.
const (
	PollEvery       = 50 * time.Millisecond // how often the log is looked at without a wake-up
	PollRetryMax    = time.Second           // pause after a failed look, doubled up to this
	failuresQuiet   = 3                     // failed looks in a row before it is logged: one may just have met a transaction
	FreshFor        = 4 * time.Second       // after the last successful look streams say nothing
	PageRowsMax     = 1000                  // rows read at once
	RingChangesMax  = 1 << 16               // recent changes held for all streams
	RingBytesMax    = 32 << 20              // encoded size of those
	StreamsMax      = 1024                  // config streams of one process
	streamWindow    = 256 << 10             // memory of a stream's zstd encoder, in bytes; nodes take up to 8 MiB
	LogKept         = 24 * time.Hour        // history that is kept
	LogVersionsMax  = 1_000_000             // versions of history that are kept, whatever their age
	LogPageRowsMax  = 10_000                // rows deleted at once
	KeepEvery       = 10 * time.Minute      // how often old history is deleted
	keepLeaseFor    = 5 * time.Minute       // a replica that dies while it deletes is replaced after this
	CatalogItemsMax = 10_000                // models, upstreams, pools and skills, each
	RecordBytesMax  = 64 << 10              // of one of them as JSON
)
