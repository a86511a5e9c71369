// Package listener accepts connections and turns bytes into requests: one fasthttp server per host, each with its own
// socket.
//
// It owns everything about a connection: sockets that are opened or inherited, limits on heads, bodies and times, the refusal
// of ambiguous framing, the write deadline of slow readers, and the [Watch] that notices clients who leave. It knows no
// routes and no credentials; requests go to a handler, and requests that cannot be parsed go to a function that answers an
// error in the contract's form.
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
