// Package ledger answers what was used: by an app, for its usage page, and by an account on a day, for its quota.
//
// All numbers of one answer are read at one moment from the rollups that ingest writes, so the parts add up to the totals.
// Rows are added up here and not by the database, which would sort sketches on its disk to put them together. A chart by the hour or
// of a zone's days reads its points from rollups of an app that are split by nothing else, and its lists from whole UTC days and the
// hours around them. Percentiles are of sketches that are added up like the numbers. A day is a UTC day for quotas, closing and drift; the days of a
// chart are those of the time zone that was asked for.
//
// A [Closer] proves every minute, for today and the days before, that the rollups are what the nodes said they sent, and deletes
// minutes after 3 days and hours after 13 months. It holds a lease, so one replica does it.
//
// The package counts nothing itself and knows no plans.
//
// Concurrency: a Ledger is safe for concurrent use; a Closer belongs to one goroutine. Failure: while the database is away it
// answers 503, and the closing is tried again with the next round.
package ledger
