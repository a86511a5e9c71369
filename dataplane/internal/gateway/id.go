package gateway

import (
	"math/rand/v2"
	"time"

	"github.com/valyala/fasthttp"
)

// requestID returns the id that the client sent, if it is usable, or a new one.
func requestID(ctx *fasthttp.RequestCtx, now time.Time) string {
	if sent := ctx.Request.Header.Peek("X-Request-Id"); usable(sent) {
		return string(sent)
	}
	return newRequestID(now)
}

func usable(id []byte) bool {
	if len(id) == 0 || len(id) > requestIDMax {
		return false
	}
	for _, c := range id {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

// newRequestID returns 20 characters of Crockford's base32: the time in milliseconds, so that ids sort, and 50 random bits.
func newRequestID(now time.Time) string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var id [20]byte
	ms, random := uint64(now.UnixMilli()), rand.Uint64() //nolint:gosec // a name, not a secret
	for i := range 10 {
		id[9-i] = alphabet[ms&31]
		id[19-i] = alphabet[random&31]
		ms >>= 5
		random >>= 5
	}
	return string(id[:])
}
