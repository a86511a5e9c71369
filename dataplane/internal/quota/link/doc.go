// Package link connects the nodes of the quota ledger: one listener per node for raft, for the frames of nodes, for commands and for
// joining nodes, told apart by the protocol that TLS negotiates (ALPN). Everything is TLS 1.3 with certificates of package identity on
// both sides, except joining, where the newcomer has only its token.
//
// Addresses have the form NODE@HOST:PORT. Whoever dials one checks that the node of that ID answers; raft's own addresses have
// this form too, so raft is never led to another server by a reused address.
//
// [Server] is the listening side, [Courier] carries a node's frames to whoever leads: to its own replica by a call, to another one over
// a connection that it makes by asking its peers who leads. It does not decide anything about limits.
//
// Concurrency: everything exported may be called by any goroutine. A Server has two goroutines per connection of a node, a Courier two.
//
// Failure: a frame, reply or recall may be lost at any time; nodes repeat themselves. A connection that is silent, malformed, too fast or
// speaks for another node than its certificate is closed; what was refused is counted by reason.
package link
