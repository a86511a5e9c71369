package store

import "time"

// Bounds of the way to the database.
const (
	ConnectTimeout = 2 * time.Second      // to open a connection
	QueryTimeout   = 5 * time.Second      // for a statement outside of a transaction
	TxTimeout      = 10 * time.Second     // for a transaction with its restarts
	TxAttemptsMax  = 25                   // runs of one transaction that keeps colliding with others
	TxBackoffMin   = 2 * time.Millisecond // pause before the second run; doubles
	TxBackoffMax   = 200 * time.Millisecond
	RetryAfter     = 2 * time.Second // what callers are told while the database is away

	KeyReadsKept        = 400 * 24 * time.Hour // how long it is kept who read a key
	HousekeepingTimeout = time.Minute          // one round of it
	HousekeepingEvery   = 10 * time.Minute     // how often ended sessions are removed
)
