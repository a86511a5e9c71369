package upstream

import (
	"context"

	"modelgate.internal/dataplane/internal/call"
)

// Upstream is a chat model server.
type Upstream interface {
	// Ask returns the whole answer. The upstream is asked without streaming.
	Ask(ctx context.Context, c *Chat) (Whole, error)
	// Open returns once the first event is ready, the upstream failed, or KeepAlive passed in silence; in the last case the
	// stream goes on waiting in Relay. Errors are *apierr.Error: 502 for an unreachable upstream or an invalid answer, 503
	// when it may not or cannot be asked now, 429 passed on with its Retry-After.
	Open(ctx context.Context, c *Chat) (call.Stream, error)
}

// Budget is what a stream may use of somebody's model tokens. It is used by the stream's goroutine.
type Budget interface {
	// Use says how many tokens the stream has used so far. An error ends it.
	Use(total int64) error
	// Reached names the limit that ended the stream; "" if none did.
	Reached() string
}

// Chat is one prompt, free of any dialect. The text fields are JSON string literals with their quotes, taken from the
// request body as they were written there, so that nothing is decoded and encoded again; they are valid until the call
// ends.
type Chat struct {
	Prompt      []byte
	System      []byte // nil when there is none
	Turns       []Turn // prior turns, oldest first
	Image       []byte // JSON string literal of base64 without a data: prefix; nil when there is none
	Temperature []byte // JSON number; nil leaves it to the upstream
	MaxTokens   int64  // 0 leaves it to the upstream
	Budget      Budget // of a stream, which ends where that does; nil is without end
	// Raw is the chat in OpenAI's own words; the other fields are not used then. Nil for one of ours.
	Raw *Raw
}

// Turn is a prior turn of the conversation; both fields are JSON string literals.
type Turn struct {
	Role, Content []byte
}

// Whole is an answer that was not streamed.
type Whole struct {
	Text []byte // JSON string literal with its quotes; of a raw chat the whole answer, a JSON object
	Use  call.Usage
}
