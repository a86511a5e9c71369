// Package ingest takes the usage records of the nodes and counts each exactly once.
//
// A node numbers its records without gaps and sends them in order, as often as it takes until they are acknowledged. One
// transaction moves the node's number forward and adds the records behind the old number to the rollups, so a record that
// comes twice, to one replica or to two at once, counts once. An upload of many keys takes several transactions, each of which
// counts whole records; one that breaks off between them goes on when the node sends it again. A gap is refused with
// the number that is expected. A record that cannot be counted is kept with the reason, counted as rejected, and does
// not hold up those behind it.
//
// The package does not talk HTTP (see nodeapi), does not authenticate (see node) and does not answer questions about usage
// (see ledger).
//
// Concurrency: a Receiver is safe for concurrent use. Uploads are decoded a few at a time and applied one at a time, since
// applying them at once would only make their transactions collide.
//
// Failure: while the database is away nothing is acknowledged and the nodes keep their records. If the outcome of a commit is
// unknown, the node sends the records again and the number says whether they are counted already.
package ingest
