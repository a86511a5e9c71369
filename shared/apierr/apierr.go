package apierr

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is the coarse class of an error. Each kind has exactly one HTTP status.
type Kind uint8

// The kinds, in the order of their statuses.
const (
	Internal            Kind = iota // 500: a bug or a broken dependency of ours
	BadRequest                      // 400: malformed request, or no usable prompt
	Unauthorized                    // 401: credential missing or not valid
	Forbidden                       // 403: credential valid, but not for this
	NotFound                        // 404: no such thing, or not the caller's
	NotAllowed                      // 405: the path exists, the method does not
	Timeout                         // 408: the request did not arrive in time
	Conflict                        // 409: the state of the resource forbids it
	TooLarge                        // 413: body over its limit
	UnsupportedCoding               // 415: body in a content coding that is not read
	Invalid                         // 422: validation failed; Items say where
	Limited                         // 429: a rate limit or quota is used up
	HeaderTooLarge                  // 431: request head over its limit
	NotBuilt                        // 501: in the contract, not built yet
	BadGateway                      // 502: the upstream is unreachable or answered nonsense
	Unavailable                     // 503: not configured, or not able to answer now
	VersionNotSupported             // 505: not HTTP/1
)

// Status returns the HTTP status of the kind.
func (k Kind) Status() int {
	switch k {
	case BadRequest:
		return 400
	case Unauthorized:
		return 401
	case Forbidden:
		return 403
	case NotFound:
		return 404
	case NotAllowed:
		return 405
	case Timeout:
		return 408
	case Conflict:
		return 409
	case TooLarge:
		return 413
	case UnsupportedCoding:
		return 415
	case Invalid:
		return 422
	case Limited:
		return 429
	case HeaderTooLarge:
		return 431
	case NotBuilt:
		return 501
	case BadGateway:
		return 502
	case Unavailable:
		return 503
	case VersionNotSupported:
		return 505
	case Internal:
		return 500
	}
	return 500
}

// Item is one violation of a 422 answer. Type and Msg use the names of pydantic v2; Loc is the path to the value, made
// of strings and ints and starting with "body", "query" or "path".
type Item struct {
	Type  string         `json:"type"`
	Loc   []any          `json:"loc"`
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// Error is an error with an answer. The zero value is a 500.
type Error struct {
	Kind       Kind
	Detail     string        // for the client: what happened and what to do
	Items      []Item        // for Invalid: the violations, in document order
	RetryAfter time.Duration // when > 0, sent as Retry-After, rounded up to whole seconds
	Code       string        // what clients of OpenAI's API know it by; empty leaves it to the kind
	Param      string        // the member of the request that is at fault, in the same clients' words: "messages[0].role"
	quoted     string        // part of Detail
	cause      error
}

// New returns an error of the given kind whose detail is written to the client as it is.
func New(kind Kind, detail string) *Error { return &Error{Kind: kind, Detail: detail} }

// Violations returns a 422 with the given items.
func Violations(items ...Item) *Error {
	return &Error{Kind: Invalid, Detail: "Validation error", Items: items}
}

// Because returns a copy of e that wraps cause. The cause is for the log; it is never written to a client.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// After returns a copy of e that asks the client to wait d before trying again.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Coded returns a copy of e with the code that clients of OpenAI's API look for, and the member of the request that is at fault, or "".
// Other clients do not see them.
func (e *Error) Coded(code, param string) *Error {
	c := *e
	c.Code, c.Param = code, param
	return &c
}

// Quoting returns a copy of e whose detail goes on with the words of somebody else, a model server for example. The client gets them,
// the log only their length: they may repeat what the client sent.
func (e *Error) Quoting(words string) *Error {
	c := *e
	c.Detail, c.quoted = e.Detail+": "+words, words
	return &c
}

// Error returns the detail, without words that it quotes, followed by the causes, for the log.
func (e *Error) Error() string {
	detail := e.Detail
	if e.quoted != "" {
		detail = strings.ReplaceAll(detail, e.quoted, fmt.Sprintf("(%d bytes of its words)", len(e.quoted)))
	}
	if e.cause == nil {
		return detail
	}
	return detail + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an *Error of the same kind and detail, so that sentinels survive [Error.Because].
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Detail == e.Detail
}

// From returns the *Error inside err, or a 500 with a fixed text that wraps it. It returns nil for nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return New(Internal, "Internal error. The request id in X-Request-Id identifies it in our logs.").Because(err)
}

// Ours reports whether err is a failure on our side of the gateway (500, 502, 503), which must not cost the caller quota.
func Ours(err error) bool {
	if err == nil {
		return false
	}
	switch From(err).Kind {
	case Internal, BadGateway, Unavailable:
		return true
	default:
		return false
	}
}
