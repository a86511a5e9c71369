// Package store is the only SQL of the control plane. It implements what the domain packages ask of storage and holds no
// rules of its own beyond what one transaction has to decide.
//
// Every statement is a named constant (see [Statements]) in one dialect that CockroachDB and PostgreSQL understand alike.
// Writes go through [Store.Tx], which restarts a colliding transaction as a whole. What the nodes must learn is announced
// in the transaction that makes it true (announce.go), so that there is no state between "done" and "published".
//
// All methods are safe for concurrent use. While the database is away they fail within seconds with a 503 that asks the
// client to come back; connections are made anew by themselves. When only the server of one connection dies, what it had
// not committed is done again with another server of the address. Every statement is bounded twice: by the context of its
// caller or its transaction, and by the server's own clock (limits.go), so that nothing goes on there for a caller who has
// gone. A commit whose outcome is unknown is an
// [AmbiguousCommitError], also a 503, and never retried here.
package store
