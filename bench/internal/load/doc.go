// Package load makes HTTP/1.1 load on a gateway or proxy of this machine and measures what comes back. It speaks HTTP itself over
// plain connections, because its own cost has to be small: generator, proxy and model share the machine.
//
// [Unary] sends whole requests in a closed loop (each connection sends when its answer is there) or in an open one (at a
// rate, each latency counted from the moment the request was due, so a proxy that stalls pays for every request
// that it kept waiting). [Streams] holds many event streams open. [Leave] opens streams or calls and walks away from them.
//
// Delays of events come from the time that the simulator (mockmodel -fast -fast-stamp) writes into each event's text; both ends have
// to run on the same machine. The same stamps show events that arrive out of order, and their number shows lost and doubled ones.
//
// It does not start anything, knows no TLS and no HTTP/2, and refuses every target but loopback: this is no tool
// for other people's servers.
//
// Every run is bounded by number and by time; it uses one goroutine per connection and returns after all have ended. A run
// value may be used once at a time.
//
// Failing connections and wrong answers are results, not errors: they are counted by kind. An error means that the run could not be
// set up, or that a watched process has ended.
package load
