// Package publish tells the nodes what is in force: a snapshot for a node that has nothing usable, then every change in the
// order of the commits, within milliseconds. DESIGN.md has the protocol and why it is complete.
//
// Any replica serves any node. One tail per process follows the log and all streams share it; a stream that falls behind the
// tail reads the log itself. The package also brings the operator's models and upstreams into the log ([Publisher.Catalog])
// and keeps the log short ([Publisher.Keep]). It does not talk HTTP (see nodeapi), does not store acknowledgements (see node)
// and does not make changes of keys: whoever changes a key announces it in the same transaction.
//
// Concurrency: all methods are safe for concurrent use. A stream belongs to the goroutine that calls [Publisher.Stream].
//
// Failure: while the database is away, streams fall silent, so nodes see that they are out of touch, reconnect and get a 503;
// they go on serving. After the database is back the tail continues where it was. A node that stops reading is dropped
// when a write takes longer than the sink allows; it costs no memory beyond its own encoder. A history that starts over (a
// new epoch, or a version below one already seen) ends all streams, and the nodes fetch everything anew.
package publish
