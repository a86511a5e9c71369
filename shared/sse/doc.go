// Package sse writes and reads Server-Sent Events as the contract shapes them: every event is one line "data: <payload>"
// and an empty line, silence is broken by a comment line, and a stream ends with "data: [DONE]".
// A stream of plain text has events of several such lines where the text has line breaks.
//
// [Writer] gathers events and hands them over in one Write per Flush, so that everything one upstream read brought leaves
// in one system call. [Reader] parses the general format (comments, multi-line data, CR, LF and CRLF) within a stated
// size. Neither is safe for concurrent use: a stream has one goroutine.
//
// Source of the format: WHATWG HTML, section 9.2 "Server-sent events".
package sse
