// Package replay keeps who makes a call under an Idempotency-Key, and the results of such calls, for the nodes to replay.
//
// A node claims the key before it makes the call, renews the claim while the call runs, and ends it with the result, or without
// one, which frees the key. A claim that is not renewed for [plane.ReplayLease], because its node died or lost its way to the
// control plane, can be taken over by the next one. Times are the control plane's; its processes must agree on them within
// seconds. Results are sealed. The keys themselves never arrive here, only their hashes.
//
// It makes no calls and charges for nothing; whether a caller may see a result is the node's to decide.
//
// Concurrency: everything is safe for concurrent use, also by several processes; the database's transactions decide who was
// first. Failure: while the database is away every operation is a 503, and nodes refuse calls that carry the header.
package replay
