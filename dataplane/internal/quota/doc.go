// Package quota is the exact rate-limit ledger: tokens of limits are leased to nodes through raft and spent by one atomic operation.
// DESIGN.md states the protocol, its proof and its bounds.
//
// Nothing calls it yet: calls are judged by package limit, per node, until the gateway is wired to this one. What exists is ledger (the
// replicated state), client (the node), replica (the ledger on raft) and sim (the proof by simulation). What does not exist is
// the network between nodes and leader, its authentication, membership commands, and metrics.
//
// This package itself holds documentation only. Concurrency and failure are described where they happen, in the packages below.
package quota
