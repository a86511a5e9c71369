// Package audit knows who changed what: the records of every change and of every reading of a secret, and how to tell that
// nobody has altered them since.
//
// Records form chains, one for each account, each organization and one for the installation. A record carries the SHA-256
// of the one before it and of its own canonical form ([Record.Seal]), so altering, removing or inserting one breaks the
// chain from there on, which [Log.Verify] finds. What no chain can show is that somebody with the database rewrote all of
// it: keep an exported record elsewhere to hold the chain against.
//
// The store writes a record in the transaction of the change it tells of; package api says through the context who asks
// ([With]). Records hold no secrets: neither values of keys nor passwords nor tokens of links.
//
// Everything is safe for concurrent use. While the database is away everything fails with the store's 503.
package audit
