// Package fast answers chat completions from prebuilt bytes with as little CPU as Go allows, so that a benchmark on
// one machine measures the gateway and not the simulator. It reads HTTP/1.1 itself, one goroutine per connection.
//
// # What it does not do
//
// It judges nothing: no key, no model, no messages, no scenarios. It looks for "stream":true and
// "include_usage":true in the body and answers a stream or a JSON object of the configured size. It speaks
// HTTP/1.1 only (505 otherwise) and keeps counters, not a journal. Every path but POST /v1/chat/completions is
// answered by the fallback handler, in full.
//
// # Shape of a stream
//
// The head and the role-only event leave at once. Content events follow on a fixed schedule from the arrival of the
// request (first delay, then one batch per interval), so a late write does not shift the later ones. The finish
// event, the usage event if asked for, "[DONE]" and the last chunk leave in one write. With Stamp the content of
// each event starts with the Unix time in nanoseconds, 19 digits, taken just before the write.
//
// # Concurrency
//
// A Server is used by one Serve call; its counters may be read from any goroutine.
//
// # Failure
//
// While it waits for the schedule, a connection is also read, so a caller that leaves is counted at once even if
// the stream is silent; without an interval only the failing write tells. A request that cannot be read gets a 4xx
// and the connection is closed.
package fast
