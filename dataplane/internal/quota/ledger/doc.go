// Package ledger is the replicated state of the exact rate limits: a deterministic machine that leases tokens of limits to nodes
// and settles them. It never counts requests.
//
// A token counts against its limit from the entry that grants it until one window after the entry that learns of its use, so
// at most the limit is admitted in any window (the proof is in DESIGN.md of package quota). [State.Apply] is a pure function of
// state and entry: integers only, no clock, no randomness, no order of a map. Time is the ledger clock ([Clock]): milliseconds
// since 1970 that the leader stamps into entries; clocks of nodes play no part.
//
// It does not replicate, store or send anything; package replica puts it on raft, package client is the side of the nodes.
//
// Concurrency: Apply, Snapshot and Restore are called by one goroutine at a time, as raft does. Capture.WriteTo runs beside Apply; a
// lock that is held for at most one entry or capturePartRecords records separates them. Encoding and decoding share nothing.
//
// Failure: an entry that this build does not understand makes Apply return a *HaltError and leaves the state as it was; the
// replica must stop, since skipping an entry would let replicas differ. Frames from nodes are checked by [DecodeFrame] before
// they are put into an entry, so a confused or hostile node cannot halt a ledger, and no counter it sends can mint a token.
package ledger
