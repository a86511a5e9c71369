package listener

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"

	"modelgate.internal/shared/apierr"
)

var (
	errBothLengths = apierr.New(apierr.BadRequest, "Content-Length and Transfer-Encoding in one request are refused.")
	errFolded      = apierr.New(apierr.BadRequest, "Header lines that are continued on the next line are refused.")
	errVersion     = apierr.New(apierr.VersionNotSupported, "HTTP/1.1 and HTTP/1.0 are spoken here. Send the request in one of them.")
	errEncoding    = apierr.New(apierr.BadRequest, "Transfer-Encoding may only be chunked.")
)

// head is what a request's header lines say about its body and its connection.
type head struct {
	length  []byte // the stated length as it was sent; nil without one
	chunked bool
	expects bool // the client wants to be asked for the body: Expect: 100-continue
	coded   bool // there is a Content-Encoding
	closes  bool // the client wants the connection to be closed
}

// readHead reads header lines as they were sent. It refuses what the parser accepts but a proxy in front may read differently, which
// is how one request is smuggled inside another: both lengths at once, encodings besides chunked, and folded header lines (RFC 9112,
// sections 5.2, 6.1 and 6.3).
func readHead(raw []byte) (h head, err error) {
	for line := range bytes.Lines(raw) {
		switch line[0] {
		case ' ', '\t':
			return h, errFolded
		case 'c', 'C':
			switch {
			case hasName(line, "content-length:"):
				h.length = valueOf(line)
			case hasName(line, "content-encoding:"):
				h.coded = true
			case hasName(line, "connection:"):
				h.closes = h.closes || hasToken(valueOf(line), "close")
			}
		case 't', 'T':
			if hasName(line, "transfer-encoding:") {
				if !bytes.EqualFold(valueOf(line), []byte("chunked")) {
					return h, errEncoding
				}
				h.chunked = true
			}
		case 'e', 'E':
			if hasName(line, "expect:") {
				h.expects = bytes.EqualFold(valueOf(line), []byte("100-continue"))
			}
		}
	}
	if h.length != nil && h.chunked {
		return h, errBothLengths
	}
	return h, nil
}

// bodyLength returns the length of the body in bytes, or chunked. The server has parsed the stated one before.
func (h *head) bodyLength() int64 {
	switch {
	case h.chunked:
		return chunked
	case len(h.length) == 0:
		return 0
	}
	n, err := strconv.ParseInt(string(h.length), 10, 64)
	if err != nil {
		panic("BUG: listener: the server accepted the length " + strconv.Quote(string(h.length)))
	}
	return n
}

func valueOf(line []byte) []byte {
	_, value, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimSpace(value)
}

// hasToken reports whether a list has a token, in whatever case.
func hasToken(list []byte, token string) bool {
	for item := range bytes.SplitSeq(list, []byte(",")) {
		if bytes.EqualFold(bytes.TrimSpace(item), []byte(token)) {
			return true
		}
	}
	return false
}

func hasName(line []byte, name string) bool {
	if len(line) < len(name) {
		return false
	}
	for i := range len(name) {
		c := line[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// checkVersion refuses what is not HTTP/1. What is newer than HTTP/1.1 is answered as if it were that (RFC 9110, section 2.5).
func checkVersion(h *fasthttp.RequestHeader) error {
	v := h.Protocol()
	switch {
	case !bytes.HasPrefix(v, []byte("HTTP/1.")):
		return errVersion
	case string(v) != "HTTP/1.0":
		h.SetProtocol("HTTP/1.1")
	}
	return nil
}
