package snapshot

import "time"

const (
	answerBytesMax  = 64 << 10         // of any answer but the config stream
	streamWindowMax = 8 << 20          // memory of the stream's zstd decoder, in bytes
	batchChangesMax = 20_000           // changes held in memory before they are written
	batchBytesMax   = 16 << 20         // bodies of keys held in memory before they are written
	mappedBytes     = 1 << 30          // of an index that is being filled; a million keys are about as much
	joinTimeout     = 10 * time.Second // one attempt to join
	ackTimeout      = 5 * time.Second  // one attempt to acknowledge
	ackRetry        = time.Second
	retryFirst      = 100 * time.Millisecond // back-off to the control plane, doubled up to retryMax, half of it jitter
	retryMax        = 5 * time.Second
	openTimeout     = 5 * time.Second // for the lock of the index file: another process of this node may be stopping
)
