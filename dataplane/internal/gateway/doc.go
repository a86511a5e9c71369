// Package gateway is the way of a request through the data plane: identify, authenticate, admit, handle, encode, meter, log.
// [Gateway.serve] is that way on one page.
//
// It owns what all operations have in common: the route table, the headers of every answer, the life of a call's context, and
// the account of how the call ended. It does not parse bodies and chooses no upstream; the handlers of package api do.
//
// A call's context ends with the first of: the client leaving, the key being revoked or expiring, the total deadline, the node
// giving up waiting for it while it drains, or the answer being finished. context.Cause tells which.
//
// A call under an Idempotency-Key is claimed before it is admitted, see package replay: a replay costs nothing, and is no usage. Its
// result is kept before it is recorded and before its end leaves.
//
// A body that the listener has not read is read here, on behalf of the account that the credential belongs to, and without its content
// coding.
//
// Concurrency: a [Gateway] is immutable after New and safe for concurrent use; a request is served by one goroutine from its
// first byte to its last.
//
// Failure: without a configuration or an index of keys, calls that need a key are 503. When usage can no longer be recorded,
// calls that would have to be counted are refused with 503. Failures of ours before the first event give the caller's quota
// back.
package gateway
