package spool

import "time"

const (
	// DiskBytesDefault bounds the spool when Options do not say.
	DiskBytesDefault = 10 << 30

	segmentBytesDefault = 4 << 20
	segmentsMin         = 3        // being filled, spare, being shipped
	reserveShare        = 2        // 1/reserveShare of the last segment is kept for running calls
	damagedFilesMax     = 16       // kept for an operator to look at
	uploadRecordsMax    = 25_000   // about a segment's, at most plane.SegmentRecordsMax; large uploads change fewer rows a record
	uploadRecordsMin    = 500      // what uploads that fail shrink to
	uploadBytes         = 4 << 20  // of records in an upload
	shipPerMille        = 5        // of the time of each processor: what shipping a backlog may take of it
	backlogBytes        = 16 << 20 // of segments that wait; fewer are shipped without a rest
	windowBytes         = 1 << 18  // that the compression looks back, two thirds of what it holds; records resemble their neighbours

	journalSlots     = 1024 // of a journal file, of which there are as many as there are running calls for
	journalSlotBytes = 1 << 10
	journalTextBytes = 64 // of each text of a call that does not fit otherwise

	syncEvery    = 10 * time.Millisecond  // gathering time of a group; with the sync itself below 20 ms
	noteEvery    = 250 * time.Millisecond // between two syncs of the journal
	syncWait     = 10 * time.Second       // for the sync that an answer waits for
	shipEvery    = 250 * time.Millisecond
	shipRestMax  = 15 * time.Second       // between two uploads while more is there; what the largest takes of one processor
	retryFirst   = 250 * time.Millisecond // back-off to the control plane, doubled up to retryMax, half of it jitter
	retryMax     = 15 * time.Second
	uploadWait   = 30 * time.Second // one upload
	drainWait    = 3 * time.Second  // last upload when the node stops
	shipTriesMax = 6                // of an operator's command, in a row, over about 8 s
	lockWait     = 5 * time.Second  // for another process of this node that is stopping
	lockPoll     = 50 * time.Millisecond
	spareRetry   = time.Second // after the file system refused a new segment
)
