package store

import "time"

// Bounds of the way to the database.
const (
	ConnectTimeout   = 2 * time.Second      // to open a connection
	PingTimeout      = time.Second          // for a connection that was idle to show that its server lives; else another is used
	QueryTimeout     = 5 * time.Second      // for a statement outside of a transaction
	TxTimeout        = 10 * time.Second     // for a transaction with its restarts
	StatementTimeout = TxTimeout            // for a statement, by the server's own clock; migrations have no bound
	IdleInTxTimeout  = TxTimeout            // for a pause within a transaction, by the server's own clock
	TxAttemptsMax    = 25                   // transactions that one piece of work gets while it keeps colliding with others or losing its connection
	TxRestartsMax    = 3                    // further runs within each of them, without a pause; CockroachDB only
	ReadAttemptsMax  = 5                    // runs of a single statement that keeps colliding or losing its connection
	TxBackoffMin     = 2 * time.Millisecond // pause before the second run; doubles
	TxBackoffMax     = 200 * time.Millisecond
	RetryAfter       = 2 * time.Second // what callers are told while the database is away

	SketchBytes = 1536 // of a rollup's two sketches; longer ones are compacted. A row stays below what is stored out of line
	PruneRows   = 2000 // old rows of a table that one statement deletes; the next page is another transaction

	KeyReadsKept        = 400 * 24 * time.Hour // how long it is kept who read a key
	RetiredKeysMax      = 1000                 // keys whose ended values go in one round of housekeeping
	RetiredScenesMax    = 1000                 // scenes whose old calibrations go in one round of housekeeping
	HousekeepingTimeout = time.Minute          // one round of it
	HousekeepingEvery   = 10 * time.Minute     // how often ended sessions are removed
)
