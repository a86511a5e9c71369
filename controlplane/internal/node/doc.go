// Package node knows the data-plane nodes: how one joins, how it is recognized afterwards, when it was last heard of and
// which configuration it serves by.
//
// A node joins once with the token of the installation and gets an id and a secret. From then on the secret alone
// identifies it; only its SHA-256 is stored. A name keeps its id through any number of joins, since usage records are told
// apart by it. A name that is in use is not given to a second node. The package does not talk HTTP (see nodeapi) and does
// not publish anything (see publish).
//
// It also waits for the nodes to serve by a change ([Registry.Await]), for any number of requests at once. What that promises is in
// publish/DESIGN.md.
//
// Concurrency: everything is safe for concurrent use, also by several replicas on one database.
//
// Failure: while the database is away, nodes that were recognized within the last few seconds still are, and everyone else
// is answered 503, never 401, so no node throws its identity away. A withdrawn secret may be taken for that
// same time by the replicas that did not withdraw it.
package node
