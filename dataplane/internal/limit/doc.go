// Package limit admits calls or refuses them by the limits that the control plane published for their caller, exactly over all nodes of
// the cluster: it spends tokens that the quota ledger leased to this node (see package quota).
//
// It does not know keys or plans: a caller brings its cells, made once per principal by [Limiter.Cells]. It counts nothing itself.
//
// Calls without a key are limited by address instead, by [Peers], which shares nothing with the rest.
//
// Concurrency: everything is safe for concurrent use. A call that finds its tokens here, or a refusal of a moment ago, takes no lock
// and allocates nothing; others wait for the ledger, with the call's context and client.MaxWait at most.
//
// Time: windows are those of the ledger's clock. The time of a call only serves to tell when something frees.
//
// Failure: without a lease and without an answer of the ledger a call is refused with 503 and Retry-After 1, never admitted. A call that
// is refunded stays counted if the ledger has learned of it, which happens after 20 ms at the earliest.
package limit
