package call

import (
	"context"
	"errors"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// Why a call's context ended early; read with context.Cause.
var (
	ErrClientGone = errors.New("client left")
	ErrRevoked    = errors.New("key revoked")
	ErrDraining   = errors.New("node is shutting down")
	ErrDeadline   = errors.New("total deadline passed")
)

// Call is one request to the API.
type Call struct {
	Ctx      context.Context // ends with the client's departure, revocation, the total deadline or the node; see the causes
	ID       string          // request id, sent back as X-Request-Id
	Endpoint string          // operation id of the contract, "agent"
	Started  time.Time
	Body     []byte
	// Unstreamable is a client that cannot be answered bit by bit.
	Unstreamable bool
	Caller       *Caller        // nil on operations without a credential
	Config       *plane.Current // the configuration in force when the call began
	Facts        Facts          // what the meter and the canonical log line report; the handler fills it as it learns
}

// Caller is an authenticated principal.
type Caller struct {
	*plane.Principal
	// Revoked ends when the key is revoked or expires. It is shared by all calls of the key.
	Revoked context.Context
	// Cells are the counters of the caller's limits, for limit.Limiter.Admit.
	Cells []*limit.Cell
}

// Facts are the parts of the usage record that only a handler knows.
type Facts struct {
	Model    string
	Task     string
	Backend  string        // "upstream", "simulator"
	Upstream string        // ID of the upstream that answered, or was asked last
	Attempts int           // at upstreams, the first included; 0 when none was asked
	Waited   time.Duration // spent waiting for the upstream until it answered or its first event was there
}

// Answer is what a handler returns: a whole body, or a stream. Exactly one of Body and Stream is set.
type Answer struct {
	Body   []byte // JSON
	Stream Stream
	Use    Usage // for a whole answer; a stream reports its own
}

// Usage counts the tokens of a call and says who counted, one of the plane.Source words.
type Usage struct {
	TokensIn, TokensOut int64
	Source              string
}

// Outcome is how a stream went.
type Outcome struct {
	End   string // one of the plane.End words
	Usage Usage
	First time.Time // when the first event was ready; zero if none was
	// Err is set when the stream did not end well. Its answer becomes the error event, unless the client is gone.
	Err error
}

// Stream is an answer that arrives bit by bit. It is used by one goroutine.
type Stream interface {
	// Relay copies the whole answer into w, flushing whatever one read of the upstream brought, and returns how it went. It
	// leaves the last events in w unflushed so that the caller's terminal event shares their write, and it writes neither an
	// error event nor [DONE]. It returns early when the context given at the opening ends.
	Relay(w *sse.Writer) Outcome
	// Close releases the upstream. A connection whose answer was not read to its end is closed, which cancels the work there.
	// It may be called at any time after Relay returned, or instead of Relay, and more than once.
	Close()
}
