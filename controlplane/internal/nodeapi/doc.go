// Package nodeapi is the internal listener's HTTP: the routes of plane/protocol.go by which nodes join, follow the
// configuration, acknowledge it, deliver usage, ask what was counted on a day and
// keep what is made under an Idempotency-Key. Joining wants the join token, everything else the secret of a node.
//
// It decides nothing itself: node, publish, ingest and replay do. It is meant for a listener of its own that developers cannot reach.
// The server around it ends idle connections and slow request heads; what a request may take after that is bounded here.
//
// Concurrency: the handler is safe for concurrent use. Failure: while the database is away every route answers 503 and
// open config streams fall silent. A node whose secret is withdrawn loses its open stream within RecheckEvery.
package nodeapi
