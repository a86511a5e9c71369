// Package spool keeps usage records on disk from the moment a call is counted until the control plane has them for good.
//
// Append copies a record into a preallocated, memory-mapped segment file: no system call, and a record that Append returned
// for survives the death of the process. Records reach the disk in groups; a power failure costs at most the last 20 ms.
// Begin and End bracket a call, so that one that a crash of the process cuts is counted by the next. A shipper uploads records in
// order and deletes only what was acknowledged. DESIGN.md has the formats and the protocol.
//
// Concurrency: everything is safe for concurrent use. Appends exclude each other for a fraction of a microsecond; creating
// files, syncing and shipping happen on goroutines of [Spool.Run].
//
// Failure: without the control plane records stay on disk, up to a bound. At the bound, when the file system is full or when
// it fails to sync, [Spool.Ready] returns an error and the gateway refuses calls with 503 rather than serve uncounted ones;
// room is kept for the calls that are still running. Damaged records are found by checksum, their files are set aside, and
// the log says which records are lost.
package spool
