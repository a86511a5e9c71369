// Package openai is the chat-completions protocol as the simulator speaks it: decoding and judging a request,
// composing the deterministic answer, and encoding that answer as one JSON object or as stream chunks.
//
// # What it does not do
//
// It knows nothing of HTTP connections, delays or faults, and it is not a model: the answer says that it is
// simulated and repeats what the last user message said. It answers one choice per request and refuses n > 1.
//
// # Token rule
//
// A token is a run of white space followed by a word. A word longer than MaxTokenRunes is cut into pieces of that
// many runes. White space at the end belongs to the last token. Joining the tokens of a text gives the text back.
// prompt_tokens is the number of tokens of all text in all messages plus PartTokens for every part that is not
// text (images, audio, files). completion_tokens is the number of text tokens, or for tool calls one for the name
// and one for each fragment of the arguments.
//
// # Tool rule
//
// Tools are called when tool_choice is "required" (the first tool) or names a tool, and under "auto" when the last
// message is the user's and contains "call NAME" for the name of an offered tool. Arguments are the smallest
// instance of the tool's parameter schema: default, const or the first enum value where the schema has one, the
// user's text for other strings, the minimum or 1 for numbers, true for booleans.
//
// # Concurrency
//
// Requests and answers are plain values; an Answer may be read from several goroutines once it is composed.
//
// # Failure
//
// Everything a client can do wrong is an *Error that carries the status and the protocol's error object.
package openai
