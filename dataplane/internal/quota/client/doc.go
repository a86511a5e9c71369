// Package client is the side of the quota ledger that runs in every node: it holds leased tokens in cells and decides requests by
// them, without I/O, lock or allocation.
//
// [Core] is the node as a step function: what it does depends on its inputs and the clock it was given only, so the simulation
// drives the same code. Its hot half ([Core.Try], [Core.TryAll], [Core.Hold], [Core.Settle], [Core.Refund]) may be called by any
// goroutine; its other half (Frame, Receive, Recall, Leave, Due) by one at a time. [Node] is the thin wrapper with the goroutine, the
// timers and the waiting callers.
//
// It does not send anything: a node hands its frames to a function and is given the replies. It never reads a wall clock and
// knows no plans.
//
// Failure: without replies the leases run out 0.98 of the session's life after the newest acknowledged frame was sent. From then on
// nothing is admitted; callers wait MaxWait at most and get ErrUnavailable. A stopped process (SIGSTOP, a paused virtual machine)
// finds its tokens void when it goes on, since the clock is read after a token was taken.
package client
