package spool

import "time"

const (
	// DiskBytesDefault bounds the spool when Options do not say.
	DiskBytesDefault = 10 << 30

	segmentBytesDefault = 4 << 20
	segmentsMin         = 3         // being filled, spare, being shipped
	recordBytesMax      = 4 << 10   // one record with its header; fourteen texts and numbers
	textBytesMax        = 255       // of one text in a record; longer ones are cut
	reserveShare        = 2         // 1/reserveShare of the last segment is kept for running calls
	damagedFilesMax     = 16        // kept for an operator to look at
	uploadRecordsMax    = 5_000     // at most plane.SegmentRecordsMax
	readBytes           = 256 << 10 // one read of a segment

	syncEvery    = 10 * time.Millisecond // gathering time of a group; with the sync itself below 20 ms
	shipEvery    = 250 * time.Millisecond
	retryFirst   = 250 * time.Millisecond // back-off to the control plane, doubled up to retryMax, half of it jitter
	retryMax     = 15 * time.Second
	uploadWait   = 30 * time.Second // one upload
	drainWait    = 3 * time.Second  // last upload when the node stops
	lockWait     = 5 * time.Second  // for another process of this node that is stopping
	lockPoll     = 50 * time.Millisecond
	spareRetry   = time.Second // after the file system refused a new segment
	bytesPerWord = 8
)
