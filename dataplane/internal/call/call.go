package call

import (
	"context"
	"errors"
	"io"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
	"modelgate.internal/shared/wire"
)

// Why a call's context ended early; read with context.Cause.
var (
	ErrClientGone = errors.New("client left")
	ErrRevoked    = errors.New("key revoked")
	ErrDraining   = errors.New("node is shutting down")
	ErrDeadline   = errors.New("total deadline passed")
	// ErrNotAsked ends the handler of a dry run at the point where it would ask a server.
	ErrNotAsked = errors.New("dry run: no server is asked")
)

// Call is one request to the API.
type Call struct {
	Ctx      context.Context // ends with the client's departure, revocation, the total deadline or the node; see the causes
	ID       string          // request id, sent back as X-Request-Id
	Endpoint string          // operation id of the contract, "agent"
	Started  time.Time
	Param    string // what the path has in the place of its parameter
	Body     []byte // nil for operations that take an upload
	// Upload is the body of operations that take one, bit by bit as it arrives; nil for others. Its errors are answers: return
	// them. It may be left unread. It must not be read after the handler has returned, except by the stream it returned.
	Upload       io.Reader
	UploadLength int64  // bytes of the upload as stated by the client, -1 if it did not
	ContentType  string // of the upload, as the client sent it
	// Unstreamable is a client that cannot be answered bit by bit.
	Unstreamable bool
	Caller       *Caller        // nil on operations without a credential
	Config       *plane.Current // the configuration in force when the call began
	// Trace is of a dry run: the handler routes the call, says where it would go, asks no upstream and returns an empty answer.
	Trace *wire.DryRun
	// Need is what a dry run would reserve of its caller's limits of model tokens, set by the handler.
	Need limit.Need
	// Journal is nil for calls that are not counted.
	Journal Journal
	Running Running // nil until Begin
	// Tokens are what the call may use of its caller's limits of model tokens; nil if there are none.
	Tokens *limit.Tokens
	Facts  Facts // what the meter and the canonical log line report; the handler fills it as it learns
}

// Caller is an authenticated principal.
type Caller struct {
	*plane.Principal
	// Revoked ends when the key is revoked or expires. It is shared by all calls of the key.
	Revoked context.Context
	// Cells are the counters of the caller's limits, for limit.Limiter.Admit.
	Cells *limit.Cells
}

// Journal notes calls that cost something from now on, so that a crash of the node does not lose them.
type Journal interface {
	Begin(c *Call) (Running, error)
}

// Running is a call in the journal.
type Running interface {
	// Sent notes how many events the client was sent so far.
	Sent(events int64)
}

// Begin notes the call before an upstream is asked. Its error is an answer.
func (c *Call) Begin() (err error) {
	if c.Journal != nil && c.Running == nil {
		c.Running, err = c.Journal.Begin(c)
	}
	return err
}

// Facts are the parts of the usage record that only a handler knows.
type Facts struct {
	Model    string
	Task     string
	Backend  string        // "upstream", "simulator"
	Upstream string        // ID of the upstream that answered, or was asked last
	Attempts int           // at upstreams, the first included; 0 when none was asked
	Prompt   int64         // tokens of the prompt, estimated; 0 where nobody has
	Waited   time.Duration // spent waiting for the upstream until it answered or its first event was there
}

// Answer is what a handler returns: a whole body, or a stream. Exactly one of Body and Stream is set.
type Answer struct {
	Body   []byte // JSON
	Stream Stream
	Media  bool  // the body is mostly an image or sound in base64, which does not compress
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
	// Limit is the name of the limit of model tokens that ended the stream, when the end is plane.EndLimit.
	Limit string
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
