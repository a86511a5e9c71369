package client

import "time"

// Times of the node.
const (
	MaxWait         = 2 * time.Second         // a caller waits this long for a lease
	leaveWait       = 1500 * time.Millisecond // a node that stops waits this long until what it gave back is accepted
	urgentGap       = 2 * time.Millisecond    // between frames while callers wait
	reportGap       = 20 * time.Millisecond   // between frames that only report use
	retryFirst      = 100 * time.Millisecond  // after which an unanswered frame is repeated; doubles ...
	retryMost       = 500 * time.Millisecond  // ... up to this
	retrySlow       = 1500 * time.Millisecond // the same of a ledger that is seen to take long: twice what it took, up to this
	denyMost        = 250 * time.Millisecond  // a refusal is repeated from memory this long
	pendWait        = 30 * time.Millisecond   // for tokens that other nodes were asked to return
	idleReturn      = 250 * time.Millisecond  // tokens of a limit without use are returned
	reserveFor      = 10 * time.Second        // but the one for the next call, which goes back after this long without use
	heldReturn      = 2 * time.Second         // and so are those that an unfinished lease leaves over
	debtRetry       = 250 * time.Millisecond  // after which what is owed is asked for again
	recallRest      = time.Second             // nothing is asked for ahead of need this long after a recall
	aheadFor        = 200 * time.Millisecond  // of use at the current rate is leased ahead ...
	refillBelow     = 100 * time.Millisecond  // ... when less than this is left
	keptFor         = 10 * time.Second        // a cell that was reported is not forgotten: several times as long as the ledger knows its holder
	scanGap         = 10 * time.Millisecond   // between looks for idle cells
	seedRetry       = 500 * time.Millisecond  // after which the count of a day is asked for again, if nothing came
	seedAgain       = 15 * time.Second        // and after it came, since older calls may have become known
	keepAliveDivide = 4                       // a silent node sends a frame every TTL/4
)

// Amounts of the node.
const (
	keptScanned   = 64   // cells reported lately that are looked at per frame, beside one for each of its records
	aheadDivisor  = 32   // at most this part of a limit is leased ahead of need, which bounds what a crash strands
	recordsMax    = 4096 // per frame; more wait for the next one
	scanCells     = 1024 // looked at for idleness per scan
	deadlineParts = 98   // of 100 of the session's life: the rest absorbs the drift of the node's clock
)
