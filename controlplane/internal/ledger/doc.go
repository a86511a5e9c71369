// Package ledger answers what was used: by an app, for its usage page, and by an account on a day, for its quota.
//
// All numbers of one answer are read at one moment from the rollups that ingest writes, so the parts add up to the totals.
// The package counts nothing itself and knows no plans.
//
// Concurrency: a Ledger is safe for concurrent use. Failure: while the database is away it answers 503.
package ledger
