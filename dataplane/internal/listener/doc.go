// Package listener accepts connections and turns bytes into requests: one fasthttp server per host, each with its own
// socket.
//
// It owns everything about a connection: sockets that are opened or inherited, TLS, limits on heads, bodies and times, the refusal
// of ambiguous framing, the write deadline of slow readers, and the [Watch] that notices clients who leave. It knows no
// routes and no credentials; requests go to a handler, and requests that cannot be parsed go to a function that answers an
// error in the contract's form.
//
// Small bodies are read before the handler runs. Others are left on the connection until it is known who calls: the handler reads
// them, whole ([Conn.ReadBody]) or bit by bit ([Upload]). DESIGN.md says how the memory for them is shared. fasthttp can stream
// bodies itself, but would take what a handler leaves unread for the next request, and every waiting stream would hold a read
// buffer (11.5 KiB of heap instead of 3.3; see BenchmarkOpenStream).
//
// With a [Certificate] a server speaks TLS. A departure is still seen on the socket below. A waiting stream then holds 9.7 KiB
// of heap and 7.8 KiB of stack instead of 3.7 and 4.1, and writing an event of 60 bytes takes 1.6 us of CPU instead of 0.8
// (BenchmarkOpenStream and BenchmarkEvent on 2 cores).
//
// A client that closes its side of the connection counts as gone, also if it could still read: the call's context ends with
// call.ErrClientGone while the handler waits for an upstream. One epoll set and one goroutine watch all connections.
//
// Concurrency: a [Conn] is used by the goroutine that serves it, except for the watch and Close. Everything else is safe for
// concurrent use.
//
// Failure: without the epoll set the process does not start. When descriptors run out, accepting pauses and goes on. A panic
// in a handler is logged and answered with 500; the process lives.
package listener
