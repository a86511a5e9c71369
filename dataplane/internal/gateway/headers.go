package gateway

import (
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// headers sets the headers that every answer has, as far as the request got.
func (x *exchange) headers() {
	var scratch [256]byte
	b := scratch[:0]
	h := &x.ctx.Response.Header
	h.SetCanonical(requestIDName, append(b, x.ID...))
	h.SetCanonical(configVersionName, strconv.AppendUint(b, uint64(x.Config.Version), 10))
	if x.Facts.Backend != "" {
		h.SetCanonical(backendName, append(b, x.Facts.Backend...))
	}
	if x.judged {
		x.limitHeaders(h, b)
	}
	if x.once != nil && x.once.replayed() {
		h.SetCanonical(replayedName, append(b, "true"...))
	}
	if x.op != nil {
		until := x.ended
		if until.IsZero() { // a stream
			until = x.g.o.Now()
		}
		h.SetCanonical(timingName, appendTiming(b, until.Sub(x.Started)-x.Facts.Waited))
	}
	if x.op != nil && x.op.open || len(x.ctx.Request.Header.PeekBytes(originName)) > 0 {
		allowOrigin(h)
	}
}

// limitHeaders tells the state of the tightest limit, in the form of the IETF draft and in the older one.
func (x *exchange) limitHeaders(h *fasthttp.ResponseHeader, b []byte) {
	v := &x.verdict
	h.SetCanonical(limitModeName, append(b, v.Mode...))
	if v.Name == "" { // no limits
		return
	}
	reset := int64((v.Reset + time.Second - 1) / time.Second)
	item := append(b, '"')
	item = append(item, v.Name...)
	item = append(item, `";r=`...)
	item = strconv.AppendInt(item, v.Remaining, 10)
	item = append(item, ";t="...)
	h.SetCanonical(rateLimitName, strconv.AppendInt(item, reset, 10))
	h.SetCanonical(policyName, appendPolicies(b, x.Caller.Limits))
	h.SetCanonical(limitName, strconv.AppendInt(b, v.Limit, 10))
	h.SetCanonical(remainingName, strconv.AppendInt(b, v.Remaining, 10))
	h.SetCanonical(resetName, strconv.AppendInt(b, reset, 10))
}

// appendPolicies appends all limits of a caller: "key_per_minute";q=30;w=60, ...
func appendPolicies(b []byte, limits []plane.Limit) []byte {
	for i := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '"')
		b = append(b, limits[i].Name...)
		b = append(b, `";q=`...)
		b = strconv.AppendInt(b, limits[i].Max, 10)
		if limits[i].Window > 0 {
			b = append(b, ";w="...)
			b = strconv.AppendInt(b, int64(limits[i].Window/time.Second), 10)
		}
	}
	return b
}

// appendTiming appends the gateway's own time in milliseconds: what a call took without waiting for the upstream.
func appendTiming(b []byte, own time.Duration) []byte {
	b = append(b, "gateway;dur="...)
	return strconv.AppendFloat(b, max(own, 0).Seconds()*1000, 'f', 3, 64)
}

var errScheme = apierr.New(apierr.Unauthorized, `The Authorization header must have the form "Bearer <key>".`)

var errTwoCredentials = apierr.New(apierr.Unauthorized, "Send one Authorization header. Which of several counts, proxies would not agree on.")

// credential returns the key text of a request, empty if there is none. When both headers are sent, Authorization counts.
func credential(h *fasthttp.RequestHeader) ([]byte, error) {
	const scheme = "Bearer "
	auth := h.PeekBytes(authorizationName)
	if len(auth) == 0 {
		return h.PeekBytes(apiKeyName), nil
	}
	if len(h.PeekAll("Authorization")) > 1 {
		return nil, errTwoCredentials
	}
	if len(auth) <= len(scheme) || !equalFold(auth[:len(scheme)], scheme) {
		return nil, errScheme
	}
	text := auth[len(scheme):]
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	return text, nil
}

// Names of headers, in the form that the server keeps or sends them in. They are never written to.
var (
	authorizationName = []byte("Authorization")
	apiKeyName        = []byte("X-Api-Key")
	dryRunName        = []byte("X-Dry-Run")
	originName        = []byte("Origin")
	requestIDName     = []byte("X-Request-Id")
	configVersionName = []byte("X-Config-Version")
	backendName       = []byte("X-Modelgate-Backend")
	limitModeName     = []byte("X-Limit-Mode")
	rateLimitName     = []byte("RateLimit")
	policyName        = []byte("RateLimit-Policy")
	limitName         = []byte("X-RateLimit-Limit")
	remainingName     = []byte("X-RateLimit-Remaining")
	resetName         = []byte("X-RateLimit-Reset")
	replayedName      = []byte("Idempotency-Replayed")
	timingName        = []byte("Server-Timing")
)

func equalFold(b []byte, s string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		w := s[i]
		if 'A' <= w && w <= 'Z' {
			w += 'a' - 'A'
		}
		if c != w {
			return false
		}
	}
	return true
}

// allowOf returns the Allow header of a 405.
func allowOf(err error) (string, bool) {
	if e, ok := errors.AsType[*notAllowed](err); ok {
		return e.allow, true
	}
	return "", false
}
