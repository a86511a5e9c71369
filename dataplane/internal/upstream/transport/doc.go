// Package transport speaks HTTP/1.1 to one server over plain TCP or TLS, as a gateway needs it: a call can be cancelled at
// any moment, a stream that waits holds no buffer, and what one read brought is handed over at once.
//
// [Host] keeps the connections of one server: a LIFO of idle ones under caps on number and age. [Host.Exchange] takes or
// dials a connection, writes a prepared request and waits for the head of the answer; the [Conn] it returns hands out the
// body without its framing and goes back to the pool only after a clean end. The parser is strict: whatever two readers
// could understand differently (both lengths, folded lines, bare line feeds, odd digits) is refused.
//
// [Host.Upload] does the same for a request whose body comes in while it is sent, in one buffer of 64 KiB.
//
// It does not follow redirects, use proxies, decompress, speak HTTP/2, or know what an answer means.
//
// Concurrency: a Host may be used by many goroutines. A Conn belongs to one goroutine; only the end of its context reaches
// it from elsewhere. No goroutine runs for a connection, idle or busy, but the one that finishes an answer whose reader has
// seen enough, for at most a second.
//
// When the server is down, slow, silent, or breaks the protocol, the calls return an [Error] that says in which phase; a
// reused connection that dies before the first byte of an answer is replaced by a fresh one, once. When the context ends
// they return its cause.
//
// Source of the format: RFC 9112.
package transport
