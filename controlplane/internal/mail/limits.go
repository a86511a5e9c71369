package mail

import "time"

// Bounds of sending.
const (
	SendTimeout  = 20 * time.Second // for the whole conversation about one mail
	PollEvery    = time.Second      // how often a replica looks for letters
	ClaimMax     = 20               // letters that a replica takes at a time
	ClaimFor     = ClaimMax*SendTimeout + time.Minute
	AttemptsMax  = 12
	BackoffMin   = 15 * time.Second // pause after the first failure; doubles
	BackoffMax   = time.Hour
	ReasonBytes  = 500                 // of what is kept of a failure
	DeadKept     = 30 * 24 * time.Hour // how long a dead letter is shown
	CountEvery   = 15 * time.Second    // how often the worker counts what waits, for the metrics
	ListedMax    = 100                 // dead letters shown at a time
	settleWithin = 10 * time.Second    // to note what became of a letter while the process stops
)
