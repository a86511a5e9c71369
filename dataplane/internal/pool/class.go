package pool

import (
	"errors"
	"net"
	"time"

	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Classes that no fallback can name, because another server would not help or nobody waits for the answer.
const (
	failRejected plane.FailureClass = "rejected" // the upstream, or we, found fault with the request itself
	failEnded    plane.FailureClass = "ended"    // the call's context ended
)

// unusable is the error of a member that this node cannot ask, because its specification or credential is no good here. It
// counts against the member, or a policy that looks for idle members would always choose it.
type unusable struct{ error }

// Unusable is for the function given to [Pool.Do] when it could not ask the member, for a reason that lies with this node.
func Unusable(err error) error { return unusable{err} }

func (u unusable) Unwrap() error { return u.error }

// FailureClass makes it a refusal.
func (u unusable) FailureClass() plane.FailureClass { return plane.FailRefused }

// ResultOK is the result of an attempt that brought an answer, beside the failure classes, "rejected" and "ended".
const ResultOK = "ok"

// ClassOf says how an attempt failed. An error in the chain with a method FailureClass() plane.FailureClass decides itself;
// else the transport's phase does, then the kind of the *apierr.Error. What is not an upstream's or a network's failure is
// "rejected".
func ClassOf(err error) plane.FailureClass {
	if e, ok := errors.AsType[*upstream.UploadError](err); ok && e.Source {
		return failEnded // it says nothing about the upstream
	}
	if e, ok := errors.AsType[interface {
		error
		FailureClass() plane.FailureClass
	}](err); ok {
		return e.FailureClass()
	}
	if e, ok := errors.AsType[*transport.Error](err); ok {
		return phaseClass(e)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return plane.FailConnect
	}
	kind := apierr.From(err).Kind
	if kind == apierr.BadGateway || kind == apierr.Unavailable {
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			return plane.FailTimeout
		}
	}
	switch kind {
	case apierr.Limited:
		return plane.FailRateLimited
	case apierr.BadGateway:
		return plane.FailServerError
	case apierr.Unavailable:
		return plane.FailBusy
	default:
		return failRejected
	}
}

func phaseClass(e *transport.Error) plane.FailureClass {
	switch e.Phase {
	case transport.Busy:
		return plane.FailBusy
	case transport.Connect:
		return plane.FailConnect
	case transport.Invalid:
		return plane.FailInvalidAnswer
	default:
		if e.Timeout() {
			return plane.FailTimeout
		}
		return plane.FailServerError // broken off while it was asked, or before it answered in full
	}
}

// retryable reports whether a failure may be tried again in the same pool. An error in the chain with a method
// Retryable() bool can forbid it.
func retryable(class plane.FailureClass, err error) bool {
	if spent(err) {
		return false
	}
	switch class {
	case plane.FailConnect, plane.FailRateLimited, plane.FailServerError, plane.FailRefused, plane.FailBusy:
		e, ok := errors.AsType[interface {
			error
			Retryable() bool
		}](err)
		return !ok || e.Retryable()
	default:
		return false
	}
}

// spent reports whether the call cannot be made again anywhere, since the body of its upload was read.
func spent(err error) bool {
	_, ok := errors.AsType[*upstream.UploadError](err)
	return ok
}

// onlyElsewhere reports whether the same member would fail in the same way again.
func onlyElsewhere(class plane.FailureClass) bool {
	return class == plane.FailBusy || class == plane.FailRefused
}

// said reports whether the server answered with an error of its own, which it gives to the same request again. An error in the
// chain with a method Passing() bool can say that it will not last.
func said(class plane.FailureClass, err error) bool {
	if _, ok := errors.AsType[*transport.Error](err); ok || class != plane.FailServerError {
		return false
	}
	e, ok := errors.AsType[interface {
		error
		Passing() bool
	}](err)
	return !ok || !e.Passing()
}

// certain reports whether no request can bring the failure about. An error in the chain with a method Doubtful() bool can say
// that one can.
func certain(class plane.FailureClass, err error) bool {
	if class != plane.FailConnect && class != plane.FailRefused {
		return false
	}
	e, ok := errors.AsType[interface {
		error
		Doubtful() bool
	}](err)
	return !ok || !e.Doubtful()
}

// restOf is how long the server asked to be left alone. An error in the chain with a method Rest() time.Duration says it, else the
// answer's Retry-After does.
func restOf(err error) time.Duration {
	if e, ok := errors.AsType[interface {
		error
		Rest() time.Duration
	}](err); ok {
		return e.Rest()
	}
	return apierr.From(err).RetryAfter
}

// harmful reports whether a failure speaks against the server's health.
func harmful(class plane.FailureClass, err error) bool {
	switch class {
	case plane.FailConnect, plane.FailServerError, plane.FailRefused, plane.FailTimeout, plane.FailInvalidAnswer:
		return !provoked(err)
	default:
		return false
	}
}

// provoked reports whether a caller brought the failure about, which an error in the chain with a method Provoked() bool says.
// One caller could otherwise open the breaker for all others.
func provoked(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Provoked() bool
	}](err)
	return ok && e.Provoked()
}
