package transport

import (
	"bytes"
	"strings"
)

// Head is what matters of the head of an answer.
type Head struct {
	Status     int
	Length     int64  // of the body in bytes; -1 when only its end tells
	Chunked    bool   // the body comes in chunks
	Close      bool   // the server closes the connection after the body
	Encoded    bool   // the body has a content encoding other than identity
	RetryAfter string // as sent, "" without one
	media      [64]byte
	mediaLen   uint8
}

// Is reports whether the content type is the given media type, in lower case; parameters are ignored.
func (h *Head) Is(mediaType string) bool {
	return string(h.media[:h.mediaLen]) == mediaType
}

// MediaType returns the media type of the content type, in lower case; "" when there is none or it is over 64 bytes.
func (h *Head) MediaType() string { return string(h.media[:h.mediaLen]) }

// headScan finds the end of a head in a buffer that grows.
type headScan struct {
	line  int // start of the unfinished line
	lines int
}

// end returns the length of the head at the start of b, or 0 while it is not complete.
func (s *headScan) end(b []byte) (int, error) {
	for {
		i := bytes.IndexByte(b[s.line:], '\n')
		if i < 0 {
			if len(b) > headBytesMax {
				return 0, invalid("head over its limit in bytes")
			}
			return 0, nil
		}
		at := s.line + i
		if i == 0 || b[at-1] != '\r' {
			return 0, invalid("line feed without carriage return in the head")
		}
		s.line = at + 1
		if s.line > headBytesMax {
			return 0, invalid("head over its limit in bytes")
		}
		if i == 1 {
			return s.line, nil
		}
		if s.lines++; s.lines > headLinesMax {
			return 0, invalid("head over its limit in lines")
		}
	}
}

// framing gathers the fields that decide where the body ends.
type framing struct {
	old       bool // HTTP/1.0
	length    int64
	chunked   bool
	closing   bool
	keepAlive bool
}

// parseHead parses a complete head, the empty line included.
func parseHead(b []byte) (Head, error) {
	h := Head{Length: -1}
	f := framing{length: -1}
	line, rest := cutLine(b)
	if err := h.statusLine(line, &f); err != nil {
		return h, err
	}
	for {
		line, rest = cutLine(rest)
		if len(line) == 0 {
			break
		}
		if err := h.field(line, &f); err != nil {
			return h, err
		}
	}
	return h, h.frame(&f)
}

// cutLine returns the first line of b without its CRLF. The caller made sure that there is one.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 {
		return nil, nil
	}
	return b[:i-1], b[i+1:]
}

func (h *Head) statusLine(line []byte, f *framing) error {
	const want = len("HTTP/1.1 200")
	if len(line) < want || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' {
		return invalid("not an HTTP/1 status line")
	}
	for _, c := range line[9:want] {
		if c < '0' || c > '9' {
			return invalid("status is not a number")
		}
		h.Status = h.Status*10 + int(c-'0')
	}
	if h.Status < 100 || h.Status > 599 {
		return invalid("status out of range")
	}
	if len(line) > want && line[want] != ' ' || !cleanValue(line[want:]) {
		return invalid("malformed reason")
	}
	f.old = line[7] == '0'
	return nil
}

// field reads one field line.
func (h *Head) field(line []byte, f *framing) error {
	if line[0] == ' ' || line[0] == '\t' {
		return invalid("folded field line")
	}
	name, value, found := bytes.Cut(line, []byte{':'})
	if !found || !token(name) {
		return invalid("malformed field name")
	}
	value = bytes.Trim(value, " \t")
	if !cleanValue(value) {
		return invalid("control character in a field")
	}
	switch len(name) {
	case len("Connection"):
		if fold(name, "connection") {
			f.connection(value)
		}
	case len("Retry-After"):
		if fold(name, "retry-after") && len(value) <= len(h.media) {
			h.RetryAfter = string(value)
		}
	case len("Content-Type"):
		if fold(name, "content-type") {
			h.contentType(value)
		}
	case len("Content-Length"):
		if fold(name, "content-length") {
			return f.contentLength(value)
		}
	case len("Content-Encoding"):
		if fold(name, "content-encoding") && len(value) > 0 && !fold(value, "identity") {
			h.Encoded = true
		}
	case len("Transfer-Encoding"):
		if fold(name, "transfer-encoding") {
			if f.chunked || !fold(value, "chunked") {
				return invalid("transfer encoding other than chunked")
			}
			f.chunked = true
		}
	}
	return nil
}

func (f *framing) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte{','}) {
		option = bytes.Trim(option, " \t")
		f.closing = f.closing || fold(option, "close")
		f.keepAlive = f.keepAlive || fold(option, "keep-alive")
	}
}

func (f *framing) contentLength(value []byte) error {
	if f.length >= 0 {
		return invalid("two content lengths")
	}
	if len(value) == 0 || len(value) > 15 {
		return invalid("content length is not a number")
	}
	f.length = 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return invalid("content length is not a number")
		}
		f.length = f.length*10 + int64(c-'0')
	}
	return nil
}

func (h *Head) contentType(value []byte) {
	if i := bytes.IndexByte(value, ';'); i >= 0 {
		value = bytes.TrimRight(value[:i], " \t")
	}
	if len(value) > len(h.media) {
		value = nil
	}
	h.mediaLen = uint8(copy(h.media[:], value))
	for i, c := range h.media[:h.mediaLen] {
		if 'A' <= c && c <= 'Z' {
			h.media[i] = c + 'a' - 'A'
		}
	}
}

// frame decides where the body ends.
func (h *Head) frame(f *framing) error {
	if f.chunked && f.length >= 0 {
		return invalid("both a content length and a transfer encoding")
	}
	if f.chunked && f.old {
		return invalid("transfer encoding in HTTP/1.0")
	}
	h.Length, h.Chunked = f.length, f.chunked
	h.Close = f.closing || f.old && !f.keepAlive
	if h.Status < 200 || h.Status == 204 || h.Status == 304 {
		if f.chunked || f.length > 0 && h.Status != 304 {
			return invalid("a body where there can be none")
		}
		h.Length = 0
	}
	if h.Length < 0 && !h.Chunked {
		h.Close = true
	}
	return nil
}

// fold reports whether b equals lower, which is in lower case, without regard to ASCII case.
func fold(b []byte, lower string) bool {
	return len(b) == len(lower) && strings.EqualFold(string(b), lower)
}

// token reports whether b is a field name.
func token(b []byte) bool {
	for _, c := range b {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || '0' <= c && c <= '9' {
			continue
		}
		if strings.IndexByte("!#$%&'*+.^_`|~", c) < 0 {
			return false
		}
	}
	return len(b) > 0
}

// cleanValue reports whether b has no control character but tabs.
func cleanValue(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
