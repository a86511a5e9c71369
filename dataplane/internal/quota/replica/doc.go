// Package replica puts the quota ledger on hashicorp/raft: a replica of the log, the ledger as its state machine, and on the
// leader the gathering of frames into entries (group commit).
//
// It does not listen, dial, authenticate or elect members: transport and stores are given to it, and whoever hands over a frame has
// checked that its node is who it says. Nodes reach the leader by a layer above.
//
// Concurrency: Submit and Propose may be called by any goroutine and do not block on raft. One goroutine stamps and proposes, so
// stamps are in the order of the log; one more hands out replies in that order.
//
// Failure: frames of a leader that is lost are dropped without an answer, whether their entry is committed or not; nodes repeat
// themselves. More than pendingRecordsMax waiting records are refused with ErrBusy, so overload costs frames and not time. An entry
// that this build does not know stops the replica for good (Run returns the *ledger.HaltError). An error of the log store makes
// raft step down.
package replica
