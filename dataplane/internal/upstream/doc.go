// Package upstream asks model servers and turns their answers into ours: one file per dialect, over a transport of our
// own.
//
// [Set] follows the configuration and holds one upstream per spec; [ChatServer] is the dialect of OpenAI's chat
// completions, [Service] every other: one HTTP exchange whose meaning the dialect's file knows, also as a stream of one event.
// A whole answer is asked for without streaming. A stream is copied from the upstream's events into ours
// without decoding the text: an event that repeats an earlier one but for its text is recognized by comparing bytes, others
// are scanned by a strict scanner, and whatever that refuses goes to encoding/json, which alone decides what an event
// means.
//
// Events of a native service are passed on one by one, after whoever asked has looked at each. Of an upload the body is sent while
// it arrives.
//
// The package does not choose an upstream, try another one, or limit calls to what an upstream can bear; it sends every
// call once. It offers the model no tools of its own; a [Raw] chat, which is one in OpenAI's own words, offers those of its
// caller, and its chunks are rewritten by encoding/json rather than copied.
//
// Concurrency: Set, ChatServer and Service may be used by many goroutines, a stream by one. A stream needs no goroutine of its own,
// and while it waits for a plain connection it holds no buffer. The end of its context interrupts every wait.
//
// An error of a server is taken for what it says: one that speaks of the request is a 400 with its reason, whatever its status;
// 503 stays 503; any other is a 502 with the reason. Reasons are cleaned of addresses, files and secrets, and short.
//
// When the upstream is down, slow, refuses the call or answers nonsense before the first text, the caller gets an error
// with a detail for the client. After the first text the stream ends with an outcome that says how; it never looks like
// success. Details name the upstream's ID, never its address or its credential.
package upstream
