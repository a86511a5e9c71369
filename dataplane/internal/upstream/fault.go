package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// fault is why a call did not end well.
type fault struct {
	end    string // the plane.End word of a stream that had begun
	result string // the Result word
	answer *apierr.Error
	barred bool // the upstream refuses the gateway itself
	// provoked is what a caller can bring about on purpose: it must not count against the server.
	provoked bool
	doubtful bool          // barred, but perhaps only with this request
	passing  bool          // the upstream says that it will pass
	rest     time.Duration // that the upstream asked for
}

// Error makes a fault an error inside this package; callers get its answer.
func (f *fault) Error() string { return f.answer.Error() }

func (s *server) bad(result, format string, args ...any) *fault {
	detail := "Upstream " + s.id + " " + fmt.Sprintf(format, args...)
	return &fault{end: plane.EndUpstreamCut, result: result, answer: apierr.New(apierr.BadGateway, detail)}
}

// overlong is an answer that is larger than the gateway holds.
func (s *server) overlong(bytesMax int, advice string) *fault {
	f := s.bad(ResultInvalid, "sent an answer over %d MiB. %s", bytesMax>>20, advice)
	f.provoked = true
	return f
}

// late is a deadline of ours that has passed.
func (s *server) late(what string, limit time.Duration) *fault {
	f := s.bad(ResultTimeout, "%s within %s. Try again later.", what, limit)
	f.end = plane.EndDeadline
	return f
}

// ended is a context that ended, for whatever cause.
func (s *server) ended(cause error) *fault {
	f := &fault{result: ResultCancelled}
	switch {
	case errors.Is(cause, call.ErrRevoked):
		f.end = plane.EndRevoked
		f.answer = apierr.New(apierr.Unauthorized, "This API key was revoked while the answer was on its way.")
	case errors.Is(cause, call.ErrDraining):
		f.end = plane.EndDrained
		f.answer = apierr.New(apierr.Unavailable, "This gateway node is shutting down. Send the request again.").After(time.Second)
	case errors.Is(cause, call.ErrDeadline), errors.Is(cause, context.DeadlineExceeded):
		f.end, f.result = plane.EndDeadline, ResultTimeout
		f.answer = apierr.New(apierr.BadGateway, "Upstream "+s.id+" did not finish before the call's total deadline. Ask for fewer tokens.")
	default:
		f.end = plane.EndClientGone
		f.answer = apierr.New(apierr.Timeout, "The client closed the connection before the answer was complete.")
	}
	f.answer = f.answer.Because(cause)
	return f
}

// broken says what a failed exchange or a context that ended means for the caller.
func (s *server) broken(ctx context.Context, err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || ctx.Err() != nil {
		return s.ended(context.Cause(ctx))
	}
	f := s.exchange(e)
	f.answer = f.answer.Because(err)
	return f
}

// exchange says what a failed exchange means.
func (s *server) exchange(e *transport.Error) *fault {
	switch e.Phase {
	case transport.Busy:
		f := s.bad(ResultBusy, "has as many calls in progress as this node allows. Try again shortly.")
		f.answer.Kind = apierr.Unavailable
		f.answer = f.answer.After(busyRetry)
		return f
	case transport.Connect:
		if e.Timeout() || errors.Is(e, context.DeadlineExceeded) {
			f := s.bad(ResultUnreachable, "could not be reached within %s. Try again later.", s.timeouts.Connect)
			f.end = plane.EndDeadline
			return f
		}
		return s.bad(ResultUnreachable, "could not be reached. Try again later.")
	case transport.Send:
		if e.Timeout() {
			return s.late("did not accept the request", s.timeouts.Head)
		}
		return s.bad(ResultUnreachable, "closed the connection before the request was sent. Try again.")
	case transport.Await:
		if e.Timeout() {
			return s.late("did not begin to answer", s.timeouts.Head)
		}
		return s.bad(ResultUnreachable, "closed the connection without an answer. Try again.")
	case transport.Invalid:
		return s.bad(ResultInvalid, "sent an answer that breaks HTTP. This is for the gateway's operator to fix.")
	default:
		return s.bad(ResultCut, "broke off in the middle of its answer. Try again.")
	}
}

// content says what an event or an answer that is not understood means.
func (s *server) content(err error) *fault {
	var f *fault
	r, told := errors.AsType[*reported](err)
	switch {
	case told && r.blamesRequest():
		f = s.refused(s.passable(r.message))
	case told && r.away():
		f = s.away("reported that it cannot serve now", s.passable(r.message))
	case told && s.passable(r.message) != "":
		f = s.bad(ResultRefused, "reported an error")
		f.answer = f.answer.Quoting(s.passable(r.message))
	case told:
		f = s.bad(ResultRefused, "reported an error without saying which. Try again later.")
	case errors.Is(err, errTools):
		f = s.bad(ResultInvalid, "answered with a tool call although the request offered no tools. Rephrase the prompt or choose another model.")
		f.provoked = true
	case errors.Is(err, errText):
		f = s.bad(ResultInvalid, "sent text that is not valid UTF-8. Try again.")
	default:
		f = s.bad(ResultInvalid, "sent an answer that is not a chat completion. This is for the gateway's operator to fix.")
	}
	f.answer = f.answer.Because(err)
	return f
}

// refused is a request that the upstream finds fault with, for the reason given if it gave one.
func (s *server) refused(why string) *fault {
	f := s.bad(ResultRefused, "refused the request")
	f.answer.Kind = apierr.BadRequest
	if why != "" {
		f.answer = f.answer.Quoting(why)
	} else {
		f.answer.Detail += " without saying why. " + s.hint()
	}
	return f
}

// away is an upstream that can serve nobody for the moment: it loads its model, or has too much to do.
func (s *server) away(what, why string) *fault {
	f := s.bad(ResultRefused, "%s. Try again after the time in Retry-After.", what)
	f.answer.Kind = apierr.Unavailable
	if why != "" {
		f.answer.Detail += " It said"
		f.answer = f.answer.Quoting(why)
	}
	f.answer = f.answer.After(awayRetry)
	f.passing = true
	return f
}

func (s *server) passable(message string) string {
	return passable(message, s.base.name, s.base.host, s.credential)
}

// refusal says what an error status of the upstream means, and reads what it has to say about it.
func (s *server) refusal(conn *transport.Conn) *fault {
	status, after := conn.Head.Status, retryAfter(conn.Head.RetryAfter, s.now())
	r := s.refusalReport(conn)
	message := s.passable(r.message)
	f := s.bad(ResultRefused, "answered with status %d. Try again later.", status)
	switch {
	case status == 400 || status == 422, status == 403 && r.forbids(), status >= 500 && status != 503 && r.blamesRequest():
		f = s.refused(message)
	case status == 401 || status == 403:
		f.barred, f.doubtful = true, status == 403 // which some give for what was asked
		f.answer.Detail = "The gateway's credential for upstream " + s.id + " was refused. This is for the gateway's operator to fix, not a fault of your key."
	case status == 402:
		f.barred = true
		f.answer.Detail = "The gateway's account at upstream " + s.id + " cannot pay for the call. This is for the gateway's operator to fix."
	case status == 404:
		f.barred, f.doubtful = true, !s.chat // whose path and model are always the same
		f.answer.Detail = "Upstream " + s.id + " does not know the model " + strconv.Quote(s.model) + " or its path. This is for the gateway's operator to fix."
	case status == 409 && s.native:
		f.answer.Kind = apierr.Conflict
		f.answer.Detail = "Upstream " + s.id + " refused the request because of what it holds"
		if message != "" {
			f.answer = f.answer.Quoting(message)
		}
	case status == 429:
		f.answer.Kind = apierr.Limited
		f.answer.Detail = "The rate limit of upstream " + s.id + " is used up; it is not the limit of your key. Try again later."
	case status == 413:
		f.answer.Kind = apierr.TooLarge
		f.answer.Detail = "The request is larger than upstream " + s.id + " accepts. Send less text or a smaller file."
	case status < 400:
		f.result = ResultInvalid
		f.answer.Detail = "Upstream " + s.id + " answered with status " + strconv.Itoa(status) + " instead of a completion. This is for the gateway's operator to fix."
	case status == 503:
		f = s.away("answered with status 503: it cannot serve now", message)
	case message != "":
		f.answer.Detail += " It said"
		f.answer = f.answer.Quoting(message)
	}
	f.rest = after
	f.answer = f.answer.After(cmp.Or(after, f.answer.RetryAfter)).Because(fmt.Errorf("status %d with a message of %d bytes", status, len(message)))
	return f
}

// hint says what to look at when an upstream refuses a request and does not say why.
func (s *server) hint() string {
	if s.chat {
		return "Check prompt, max_tokens and temperature against the model's bounds."
	}
	return "Check the fields of the body."
}

// refusalReport reads what the body of an error answer says, and gives up early.
func (s *server) refusalReport(conn *transport.Conn) *reported {
	if conn.Head.Encoded {
		return &reported{}
	}
	conn.SetDeadline(s.now().Add(errorBodyWait))
	for {
		body, err := conn.Next()
		if len(body) > errorBytesMax {
			return &reported{}
		}
		if err == nil {
			continue
		}
		return cmp.Or(reportedIn(body), &reported{})
	}
}

// retryAfter reads the two forms of a Retry-After: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		d = time.Duration(min(max(seconds, 0), int(retryAfterMax/time.Second))) * time.Second
	} else if at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), retryAfterMax)
}
