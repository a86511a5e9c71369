// Package snapshot keeps a node's replica of the published configuration: keys on disk, models and upstreams in memory.
//
// A [Source] follows the control plane's change stream, makes each batch durable, puts it in force, and only then
// acknowledges it. A [Link] is the node's way to the control plane; it holds the node's identity. The package does not judge
// keys (package auth does) and does not choose upstreams.
//
// Concurrency: everything is safe for concurrent use; the stream is applied by one goroutine, [Source.Run].
//
// Failure: without the control plane the node serves by what is on its disk, also after a restart, for as long as it takes. A
// damaged index is set aside under another name and fetched anew; until that is done the node is not ready and knows no
// keys. If the disk refuses a batch, the batch is neither put in force nor acknowledged, and the stream is taken up again.
package snapshot
