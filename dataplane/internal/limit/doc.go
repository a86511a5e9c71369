// Package limit admits calls or refuses them by the limits that the control plane published for their caller.
//
// This limiter is exact for one node: in any window of 60 seconds a node admits at most Max calls of a bucket, and at most
// Max in any UTC day for daily limits. Calls of the same bucket that other nodes admit are not counted here, which the mode
// "node" of a [Verdict] says. It does not know keys or plans: a caller brings its cells, made once per principal by
// [Limiter.Cells].
//
// Concurrency: everything is safe for concurrent use. An admission locks the caller's cells, three at most in practice, in
// an order that is the same for all callers, and neither allocates nor waits for anything else.
//
// Time: the time of a call is the reading of the clock that it is admitted with; readings that arrive out of order count as of
// the newest. Windows are measured with the monotonic clock, so a step of the wall clock neither frees nor blocks anything. Days
// follow the wall clock; a step back over midnight keeps the count.
//
// Failure: counts of the day are written to the data directory every second and when the limiter stops. After a crash a node
// resumes with counts at most as old as the last completed write, so the day can be under-counted by what the node admits in
// one [persistEvery] plus the time of one write. If the disk fails, the limiter goes on from memory, says so in the log and
// tries again. Windows of a minute are not kept: a restarted node may admit up to Max again at once.
package limit
