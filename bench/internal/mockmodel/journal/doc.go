// Package journal remembers the requests that the simulator received, so that a test of a gateway can ask what the
// upstream really saw: how many attempts, with which body, how much was answered, and when the caller left.
//
// # What it does not do
//
// It keeps no secrets: the values of headers that carry credentials are replaced by "[redacted]". It keeps nothing
// on disk, and it forgets: the newest Size requests are kept, and of each at most MaxBodyBytes of the body.
//
// # Concurrency
//
// A Journal and its Entries may be used from any goroutine; one lock guards them all. That is too much for a load
// benchmark, which is why the fast mode keeps counters only.
//
// # Failure
//
// Nothing here can fail. Calls on an entry that has ended change nothing.
package journal
