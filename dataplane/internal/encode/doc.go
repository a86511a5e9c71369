// Package encode writes answers: a whole answer as JSON, a stream as Server-Sent Events, an error as {"detail": ...}, or
// as {"error": ...} for the clients of OpenAI's API.
//
// A stream is written by the server's own goroutine. What one read of the upstream brought leaves in one chunk; the last
// events share their chunk with the terminal ones: an error event if the stream did not end well, and [DONE]. Before a
// terminal event leaves, the end of the call is reported, so that nothing was answered that is not recorded.
//
// Whole answers can be compressed, by a [Compressor]; streams cannot.
//
// The package decides no status and knows no routes.
//
// Concurrency: a body belongs to one call. Failure: when the client cannot be written to, the stream is closed, which cancels
// the upstream, and the end is reported; a panic of a stream ends it with an error event.
package encode
