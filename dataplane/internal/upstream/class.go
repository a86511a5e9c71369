package upstream

import (
	"errors"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// classed is a cause that tells the pools how a call failed.
type classed struct {
	class    plane.FailureClass
	cause    error
	final    bool          // another attempt could cost the answer twice
	provoked bool          // a caller can bring it about
	doubtful bool          // the request may be at fault, though the class says the server is
	passing  bool          // the server says that it will pass
	rest     time.Duration // that the server asked for
}

func (c *classed) Error() string {
	if c.cause == nil {
		return string(c.class)
	}
	return string(c.class) + ": " + c.cause.Error()
}

func (c *classed) Unwrap() error { return c.cause }

// FailureClass is what a pool looks for in the chain of an error.
func (c *classed) FailureClass() plane.FailureClass { return c.class }

// Retryable is false where the server had begun to answer: it has worked, and would be paid twice.
func (c *classed) Retryable() bool { return !c.final }

// Provoked reports whether a caller can bring the failure about with any server that is well, so that it says nothing about
// this one.
func (c *classed) Provoked() bool { return c.provoked }

// Doubtful reports whether the request may have brought about a failure whose class no request brings about as a rule.
func (c *classed) Doubtful() bool { return c.doubtful }

// Passing reports whether the same request may well succeed in a moment.
func (c *classed) Passing() bool { return c.passing }

// Rest is how long the server asked to be left alone. The answer's Retry-After may be a guess of ours.
func (c *classed) Rest() time.Duration { return c.rest }

// classed returns the answer of the fault with its failure class, where it has one: the caller's own faults and calls that
// were cancelled have none.
func (f *fault) classed() error {
	var class plane.FailureClass
	switch {
	case f.result == ResultCancelled || f.answer.Kind == apierr.BadRequest || f.answer.Kind == apierr.TooLarge || f.answer.Kind == apierr.Conflict:
		return f.answer
	case f.barred:
		class = plane.FailRefused
	case f.answer.Kind == apierr.Limited:
		class = plane.FailRateLimited
	case f.result == ResultBusy:
		class = plane.FailBusy
	case f.result == ResultTimeout:
		class = plane.FailTimeout
	case f.result == ResultInvalid:
		class = plane.FailInvalidAnswer
	case f.result == ResultUnreachable:
		return f.answer // the transport's error in its chain tells more
	default:
		class = plane.FailServerError
	}
	return f.answer.Because(&classed{
		class: class, cause: errors.Unwrap(f.answer), final: f.result == ResultCut, provoked: f.provoked,
		doubtful: f.doubtful, passing: f.passing, rest: f.rest,
	})
}
