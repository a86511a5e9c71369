// Package crash kills node, control plane and database at random moments under load and then holds the usage ledger against what
// happened.
//
// It holds the test behind `make crash`. Callers take whole answers and streams, and leave streams after every number of events.
// Between the node and the control plane stands a tap, which reads every upload and delivers it once, twice in a row, twice at
// once, again much later, or without its answer. Each call carries an id that the model server sees in its prompt, so that three
// logs can be compared: the callers', the model server's, and the records that the node sent.
//
//   - An answer that its caller received whole has exactly one record, which says so.
//   - A call that the model server saw has exactly one record; one that a crash cut has the end node_crash and at least the events
//     that its caller had received. No call has two.
//   - What the portal shows is the sum of those records, by how they ended, and its drift is 0.
//
// The seed of a run is printed, and CRASH_SEED repeats its choices; what a kill interrupts is up to the machine. CRASH_KILLS sets
// how many kills there are (`make crash KILLS=200`); the default is short, for go test. CRASH_SABOTAGE=double has the tap deliver
// an upload under a second name, as if ingest did not recognize it, and CRASH_SABOTAGE=lose has it answer all of one
// incarnation itself: with either the run must fail. (It does not fail for one upload that is answered and not stored: the node sends
// that again when it hears of the gap.) A database that DATABASE_URL names is left alone.
package crash
