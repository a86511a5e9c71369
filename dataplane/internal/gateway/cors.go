package gateway

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/cors"
	"modelgate.internal/shared/plane"
)

// allowOrigin opens an answer to pages of any origin. Credentials of the browser play no part: keys are sent explicitly. Answers without a
// key have it always, because a cache may keep one for a program and hand it to a page.
func allowOrigin(h *fasthttp.ResponseHeader) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, X-Config-Version, X-Modelgate-Backend, X-Limit-Mode, "+
		"RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Server-Timing, "+
		"X-Should-Retry, Idempotency-Replayed, Allow, WWW-Authenticate")
}

// asksForPage reports whether a request is a browser's question whether a page may send another one.
func asksForPage(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return ctx.IsOptions() && len(h.PeekBytes(originName)) > 0 && len(h.Peek("Access-Control-Request-Method")) > 0
}

// preflight answers OPTIONS. A page may also ask for a path that is not there, to read the 404; allow is empty then.
func (x *exchange) preflight(allow string) {
	x.ctx.SetStatusCode(fasthttp.StatusNoContent)
	h := &x.ctx.Response.Header
	if allow != "" {
		h.Set("Allow", allow)
	}
	h.Set("Vary", cors.Vary)
	if len(x.ctx.Request.Header.PeekBytes(originName)) > 0 {
		h.Set("Access-Control-Allow-Methods", cors.Methods)
		h.SetBytesV("Access-Control-Allow-Headers", cors.Allowed(x.ctx.Request.Header.Peek("Access-Control-Request-Headers")))
		h.Set("Access-Control-Max-Age", strconv.Itoa(int(cors.Age.Seconds())))
	}
	x.finish(fasthttp.StatusNoContent, &call.Outcome{End: plane.EndDone})
	x.headers()
}
