// Package quota is the exact rate-limit ledger: tokens of limits are leased to nodes through raft and spent by one atomic operation.
// DESIGN.md states the protocol, its proof and its bounds.
//
// This package is the life of one node in it: identity and log on disk, the replica if the node is a voter, the lease client that every
// node has, the way to the leader, commands of operators, and metrics. The parts are ledger (the replicated state), replica (the ledger
// on raft), client (leases), identity (who is who), link (the network) and sim (the proof by simulation).
//
// A node alone needs no configuration: it makes a cluster of its own, of which it is the only voter. Other nodes join it later.
//
// Concurrency: a Node is safe for concurrent use; callers that were admitted need nothing from it but its [Node.Leases].
//
// Failure: without a leader leases go on for two seconds at most, then calls wait and get client.ErrUnavailable until there is
// one. A log that this build does not understand, or that belongs to another node, ends the process with an explanation.
package quota
