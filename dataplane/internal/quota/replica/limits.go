package replica

import "time"

// Bounds of a replica.
const (
	logsCached        = 16                   // newest entries that stay in memory, where replication and the ledger read them; of 0.1 MB each under full load
	tickGap           = 2 * time.Millisecond // at least, between two entries
	inFlightMax       = 4                    // entries that are proposed and not applied
	pendingRecordsMax = 16 * 4096            // records that wait for an entry
	applyTimeout      = 2 * time.Second      // for raft to take an entry
	barrierTimeout    = 5 * time.Second      // for a new leader to apply what is before its term
	heartbeat         = 500 * time.Millisecond
	election          = 500 * time.Millisecond
	leaderLease       = 400 * time.Millisecond
	diskRetry         = 250 * time.Millisecond // between two attempts to keep a term or a vote on a disk that is full
	commitTell        = 250 * time.Millisecond // after which followers of an idle leader are told what is committed; entries tell them sooner
	snapshotEntries   = 64 << 10
	trailingEntries   = 64 << 10
	snapshotsKept     = 2
)
