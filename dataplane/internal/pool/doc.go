// Package pool makes several upstreams serve as one. A [Pool] is itself an upstream.Upstream: it chooses a member for each
// attempt, tries again elsewhere when that is safe, falls back to other pools, and keeps a server that fails, asks for quiet
// or is full from being asked. An upstream that no pool names is a pool of one, so every call goes this one way, streamed or
// not. The [Set] holds the pools of a node and the state of the servers, which pools share: a server has one breaker, one
// count of calls and one latency however many pools it is in.
//
// It does not speak to servers (package upstream does), decide which pool serves a model (package route) or limit callers
// (package limit). State is this node's own.
//
// # The way of a call
//
// An attempt asks for a member. Members are sorted by what stands against them: nothing; a probe is due; all of its
// concurrency is in use; it asked for quiet by Retry-After; its health check fails; its breaker is open. A due probe takes
// the first attempt of one call; a further opinion about an open breaker is asked for only where no other member can
// serve. Otherwise the policy chooses among those that nothing stands against and that this call did not try yet, then
// among the tried ones after a back-off. If there is none, the call waits in the pool's queue for a member that is full
// or resting, unless nothing can come in time: the wait would outlast the context's deadline or the queue's longest
// wait, or the queue is full. The queue is served strictly in order of arrival, and nobody overtakes it.
//
// Panic mode: when health checks fail on every member that is left, the check is more likely wrong than every server, so the
// call goes to the least bad one, as if it were well. When all breakers are open the evidence is the calls themselves, so the
// call is refused with 503 and the time of the next probe as Retry-After; recovery costs up to three calls per back-off. A member
// whose health check turns good is probed at once.
//
// Failures are told apart by [ClassOf]. Connect errors, 429 and 5xx are tried again within the pool, and so is, but only at another
// member, what the same one would answer again: that it refuses the gateway's credential or does not know the model, or that
// this node may open no more connections to it. Who gave the same call two errors is not asked by it again. Time-outs,
// invalid answers and answers that broke off, be it inside their head, are not, because the server may have done the
// work and somebody pays for it twice, but a fallback may be configured for them. Nothing is tried again after the
// first event of a stream, and a call whose context ended is not tried at all. A stream that was silent until the
// gateway began to send keep-alive comments, and then failed without an event, is still before its first event: it is
// tried again from within Relay.
//
// The retry budget (Finagle's RetryBudget) is a credit: each call pays in BudgetPercent of an attempt, up to
// [budgetCreditMax] attempts, and MinPerSecond attempts a second are free. Further attempts at most take out what is there.
// The first attempt in a fallback is not charged: it shifts load rather than multiplying it, and the target's breakers, caps
// and own budget protect it. A fallback is taken when the latest error is of one of its classes; the error a call ends with
// is the latest one.
//
// # What is learned
//
// The breaker opens after so many failures in a row within a window, or so many streams in a row that broke off after their
// first event. It opens against everybody if the failures cannot be a request's fault or come from several accounts, else
// only against those that failed, which [From] tells. While it is open, probes decide, and a failed one doubles the back-off.
// DESIGN.md says which failures count for what, and why. Results of
// calls that began before the breaker's last change are not counted, nor is what a caller can bring about with a server that
// is well: a tool call where no tools were offered, an answer that is too large. A 429 is no failure: its Retry-After keeps the member
// out for that long, at most [restMax], or for [restDefault] if it has none. So does the Retry-After of a 5xx. Latency
// is a peak EWMA (Finagle's): a slow answer counts at once, fast ones wear it down over [latencyMemory], and a failure
// counts as slow. Whole answers and first events are kept apart.
//
// # Concurrency
//
// Everything may be used from many goroutines. One lock of the Set guards members and queues; it is held for the choice and
// the bookkeeping, never across a call. The Set starts no goroutine but in [Set.Run], for health checks, which it waits for.
// A waiting call is its own goroutine. [Set.Update] may come at any time: servers that stay keep their state and counts.
//
// # When dependencies fail
//
// The upstream is what this package is about. A clock that jumps does nothing: all arithmetic is monotonic if Now is. An
// Observer or Probe that blocks holds up calls or health checks.
//
// Sources: round robin is nginx's smooth weighted one; the power of two choices after Mitzenmacher, with the load of Finagle's
// PeakEwma; the breaker's states are Nygard's.
package pool
