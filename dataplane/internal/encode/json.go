package encode

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"modelgate.internal/shared/apierr"
)

// JSON answers 200 with a body, which must stay as it is until the answer is written.
func JSON(res *fasthttp.Response, body []byte) {
	res.Header.SetContentType("application/json")
	res.SetBodyRaw(body)
}

// requestCodings are the content codings of requests that are read, as a 415 tells (RFC 9110, section 15.5.16).
const requestCodings = "gzip, identity"

// retrySecondsHeeded is the longest Retry-After that OpenAI's clients wait for. After a longer one they try again at once, in vain. A
// limit per minute that has just been used up says a second more, being rounded up: it says this to them, and at worst has them wait once
// more for the rest.
const retrySecondsHeeded = 60

// Error answers err in a form and returns the status.
func Error(res *fasthttp.Response, err error, form Form) int {
	status, body := form.errorOf(err)
	res.SetStatusCode(status)
	res.Header.SetContentType("application/json")
	res.SetBodyRaw(body)
	e := apierr.From(err)
	if seconds, ok := e.RetrySeconds(); ok {
		if form == OpenAI && seconds == retrySecondsHeeded+1 {
			seconds = retrySecondsHeeded
		}
		res.Header.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if form == OpenAI && e.Code == codeQuota {
		res.Header.Set("X-Should-Retry", "false") // OpenAI's clients would try again at once, having no patience until tomorrow
	}
	if e.Kind == apierr.Unauthorized {
		res.Header.Set("WWW-Authenticate", "Bearer")
	}
	if e.Kind == apierr.UnsupportedCoding {
		res.Header.Set("Accept-Encoding", requestCodings)
	}
	return status
}
