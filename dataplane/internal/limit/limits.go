package limit

import "time"

const (
	// slotsPerWindow is the resolution of a sliding window: 250 ms of a minute. A call counts from its admission to the end of
	// the slot in which it leaves the window, so a window is at most 1/slotsPerWindow longer than stated, never shorter.
	slotsPerWindow = 240

	persistEvery       = time.Second
	sweepEvery         = 30 * time.Second
	bucketBytesMax     = 512     // of a bucket name; the control plane's are below 64
	journalSlackBytes  = 1 << 20 // growth of the journal over twice its live size before it is rewritten
	journalRecordBytes = 4 + 2 + 8 + 8
)
