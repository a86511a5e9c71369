// Package usage is the binary form of usage records: how a node keeps them on its disk and, byte for byte the same, how it
// sends them to the control plane. So a record is encoded once, by the call it counts, and decoded once, where it is added up.
//
// A record is framed with its length, its number and a checksum; [Put] writes one, [Cut] finds one. An upload is a prologue and
// frames, compressed as one zstd stream; [AppendPrologue] begins one, [Reader] reads one.
//
// The package keeps no files, sends nothing, and judges no record beyond its form.
//
// Concurrency: functions are safe for concurrent use; a Reader belongs to one goroutine.
//
// Failure: it depends on nothing. Bytes that were changed on the way are found by checksum and reported, never read as a record.
package usage
