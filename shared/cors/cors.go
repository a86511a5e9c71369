package cors

import "time"

const (
	// AskedBytesMax bounds the list of headers that is allowed by its own text. Clients ask for about 300 bytes.
	AskedBytesMax = 2 << 10
	// Age is how long a browser may remember a preflight.
	Age = 10 * time.Minute
	// Methods are those that are allowed. One that a path does not take is allowed too, so that a page can read the 405.
	Methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	// Headers are allowed where the browser asks for none that could be.
	Headers = "Authorization, X-API-Key, Content-Type, X-Request-Id, X-Dry-Run, Idempotency-Key"
	// Vary is what the answer to a preflight depends on.
	Vary = "Origin, Access-Control-Request-Headers"
)

// Allowed returns what Access-Control-Allow-Headers says to a browser that asks for a list of headers: that list if it is one,
// else [Headers].
func Allowed(asked []byte) []byte {
	if len(asked) <= AskedBytesMax && isList(asked) {
		return asked
	}
	return []byte(Headers)
}

// isList reports whether text is a list of header names: tokens with a comma between each two, and blanks beside commas only.
func isList(text []byte) bool {
	name, ended := false, false // of the name before i: whether it has begun, and whether a blank followed it
	for _, c := range text {
		switch {
		case c == ',':
			if !name {
				return false
			}
			name, ended = false, false
		case c == ' ' || c == '\t':
			ended = name
		case ended || !isToken(c):
			return false
		default:
			name = true
		}
	}
	return name
}

// isToken reports whether c may stand in a header's name (RFC 9110, section 5.6.2).
func isToken(c byte) bool {
	switch c {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
