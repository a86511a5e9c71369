// Package recording reads recordings that clients upload: the audio while it arrives, and the fields beside it. A body is
// multipart/form-data with the file field "audio" (RFC 7578), or a JSON object with the audio as base64 in "audio_base64";
// the fields may stand before or behind the audio.
//
// The audio is never gathered: a [Recording] holds a few buffers of some KiB and the fields, which are bounded. The format of
// the audio is told by its first bytes and not looked into any further.
//
// It knows no HTTP, does not decode audio, and leaves it to package bind to say what is wrong with the fields.
//
// Concurrency: a Recording belongs to one goroutine. Failure: what is wrong with a body is an answer (413, 422, or whatever the
// body's reader gives), at the opening or, for what stands behind the audio, in place of the end of the audio.
package recording
