package listener

import (
	"bytes"
	"strconv"

	"modelgate.internal/shared/apierr"
)

var (
	errBothLengths = apierr.New(apierr.BadRequest, "Content-Length and Transfer-Encoding in one request are refused.")
	errFolded      = apierr.New(apierr.BadRequest, "Header lines that are continued on the next line are refused.")
)

// checkFraming refuses what the parser accepts but a proxy in front may read differently, which is how one request is smuggled
// inside another: both lengths at once, and folded header lines (RFC 9112, sections 5.2 and 6.3). It needs the header lines as
// they were sent.
func checkFraming(raw []byte) error {
	var length, encoding bool
	for line := range bytes.Lines(raw) {
		switch line[0] {
		case ' ', '\t':
			return errFolded
		case 'c', 'C':
			length = length || hasName(line, "content-length:")
		case 't', 'T':
			encoding = encoding || hasName(line, "transfer-encoding:")
		}
	}
	if length && encoding {
		return errBothLengths
	}
	return nil
}

// framing says where a body ends.
type framing struct {
	length  int64 // bytes, or chunked
	expects bool  // the client wants to be asked for the body: Expect: 100-continue
}

// framingOf reads the framing from header lines that were parsed and checked before.
func framingOf(raw []byte) framing {
	var f framing
	for line := range bytes.Lines(raw) {
		_, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case hasName(line, "content-length:"):
			n, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				panic("BUG: listener: the server accepted the length " + strconv.Quote(string(value)))
			}
			f.length = n
		case hasName(line, "transfer-encoding:"):
			f.length = chunked
		case hasName(line, "expect:"):
			f.expects = bytes.EqualFold(value, []byte("100-continue"))
		}
	}
	return f
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
