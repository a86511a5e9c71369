// Package fault plays scripted misbehaviour of an upstream over a real connection: answers that are slow, silent,
// cut, dripped, mis-framed, malformed or merely unusual but legal. Each is a named Scenario with parameters; the
// catalogue (List) documents them all and is what --scenarios and GET /_mock/scenarios print.
//
// # How it works
//
// A stream is a sequence of payloads, the answer's chunks and "[DONE]". A scenario edits that sequence and chooses
// how it is framed as SSE and which sink carries it: an ordinary net/http answer, or bytes written straight to the
// hijacked connection where net/http would refuse to do what the scenario needs.
//
// # What it does not do
//
// It does not choose scenarios per request; the server does, by model name, message or script. A scenario that
// concerns events only answers a call that did not ask for a stream normally.
//
// # Concurrency
//
// Scenarios are values without state. An Exchange belongs to one goroutine; on a hijacked connection a second one
// watches for the caller's departure and ends the Exchange's context.
//
// # Failure
//
// A run ends early with an error when the caller leaves or the server stops. Parameters are judged before anything
// is sent, so a wrong one is a 400 and not half an answer.
package fault
