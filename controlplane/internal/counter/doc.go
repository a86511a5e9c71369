// Package counter keeps the public counters: how often an event of a page or a demo happened, for display.
//
// Anybody may count and read without a credential, so the counters hold nothing private and nothing is decided by them.
// What anybody may do is bounded: the shape of names and the number of different ones (EventsMax, of which those of Known
// cannot be taken by others), and by Pace the requests of a network or a developer. The debug view and the reset need an operator's
// setting. The package knows neither HTTP nor SQL.
//
// All replicas share the counters through the [Store]. A Pace counts in the memory of one process. Counters and Pace are
// safe for concurrent use. When the database is away its 503 comes through; nothing is counted then.
package counter
