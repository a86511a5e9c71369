// Package replay makes a call under an Idempotency-Key happen once among all nodes. The control plane decides who makes it and
// keeps the result; this package asks it.
//
// [Keeper.Claim] says whether to make the call, to wait for another that is being made, or to answer with a result that is kept. A
// call that is to be made holds a [Held], which renews the claim until it is ended. Only results of calls that ended well are kept:
// anything else frees the key, so that the next request runs anew.
//
// It reads no bodies, charges nothing and knows nothing of HTTP.
//
// Concurrency: a [Keeper] is safe for concurrent use. A [Held] belongs to one call; its renewal runs beside it. Run owns what runs
// beside calls, and ends after them.
//
// Failure: while the control plane is away nothing can be claimed, which is a 503; calls that run go on, and their results are
// offered for keepingMax before the answer leaves without being kept. A node that dies loses its claims after
// [plane.ReplayLease]. A claim that ran out while the control plane was away can be lost to the next request.
package replay
