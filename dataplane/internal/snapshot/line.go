package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// A joining node reads a million lines that are nearly all the same: a key and its principal. Two readers share them, as in
// package scan: the fast one takes exactly what the control plane writes for a key, copies nothing and gives up on anything
// else; the slow one is encoding/json, which alone decides what is wrong. What the fast one takes the slow one takes with the
// same values; a fuzz test holds them to it.

// parsed is a change. checked says that its body is known to be a principal.
type parsed struct {
	plane.Change
	checked bool
}

// Parts of a key's line, between which its version, ID and body stand.
const (
	lineVersion = `{"change":{"version":`
	lineID      = `,"kind":"` + plane.KindKey + `","id":"`
	lineBody    = `","body":`
	lineEnd     = `}}`
)

// readKey reads the line of a key. The ID and the body of the change are parts of the line.
func readKey(line []byte) (id, body []byte, version plane.Version, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(lineVersion))
	if !ok {
		return nil, nil, 0, false
	}
	digits, rest, ok := bytes.Cut(rest, []byte(lineID))
	if !ok {
		return nil, nil, 0, false
	}
	number, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || len(digits) > 1 && digits[0] == '0' {
		return nil, nil, 0, false
	}
	const idBytes = 2 * len(key.Digest{})
	if len(rest) < idBytes || !isHex(rest[:idBytes]) {
		return nil, nil, 0, false
	}
	id, rest = rest[:idBytes], rest[idBytes:]
	if body, ok = bytes.CutPrefix(rest, []byte(lineBody)); !ok {
		return nil, nil, 0, false
	}
	if body, ok = bytes.CutSuffix(body, []byte(lineEnd)); !ok || !isPrincipal(body) {
		return nil, nil, 0, false
	}
	return id, body, plane.Version(number), true
}

func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// readMessage reads a line that [readKey] gave up on.
func readMessage(line []byte) (m plane.Message, err error) {
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("decode config message: %w", err)
	}
	return m, nil
}

// isPrincipal reports whether a text is the usual JSON of a [plane.Principal].
func isPrincipal(text []byte) bool {
	s := scanner{text, 0}
	return simple(text) && s.object(s.principal) && s.i == len(s.b)
}

// simple reports whether a text has neither escapes nor control characters, so that a string in it ends at the next quote. It
// takes eight bytes at a time, by the tests for a byte below n and for a byte of zero in
// https://graphics.stanford.edu/~seander/bithacks.html: a byte at a time was a fifth of what a key costs.
func simple(text []byte) bool {
	const (
		ones, tops = 0x0101010101010101, 0x8080808080808080
		escapes    = '\\' * ones
	)
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		y := x ^ escapes
		if ((x-' '*ones)&^x|(y-ones)&^y)&tops != 0 {
			return false
		}
	}
	for _, c := range text {
		if c == '\\' || c < ' ' {
			return false
		}
	}
	return true
}

// scanner walks over a simple text of JSON (RFC 8259) without fractions and exponents. Every method skips spaces first and reports
// whether it found what it looks for.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) principal(name []byte) bool {
	switch string(name) {
	case "key_id", "app_id", "developer_id", "org_id", "kind":
		_, ok := s.text()
		return ok
	case "scope":
		return s.object(func(name []byte) bool {
			return (string(name) == "families" || string(name) == "tasks") && s.array(func() bool { _, ok := s.text(); return ok })
		})
	case "limits":
		return s.array(func() bool { return s.object(s.limit) })
	}
	return false
}

func (s *scanner) limit(name []byte) (ok bool) {
	switch string(name) {
	case "name", "bucket":
		_, ok = s.text()
	case "max", "window":
		ok = s.integer()
	case "daily":
		ok = s.word("true") || s.word("false")
	}
	return ok
}

// object reads an object; field reads the value of the field of a name.
func (s *scanner) object(field func(name []byte) bool) bool {
	if !s.word("{") {
		return false
	}
	if s.word("}") {
		return true
	}
	for {
		name, ok := s.text()
		if !ok || !s.word(":") || !field(name) {
			return false
		}
		if !s.word(",") {
			return s.word("}")
		}
	}
}

func (s *scanner) array(element func() bool) bool {
	if !s.word("[") {
		return false
	}
	if s.word("]") {
		return true
	}
	for element() {
		if !s.word(",") {
			return s.word("]")
		}
	}
	return false
}

// text reads a string of a simple text and returns what is between the quotes.
func (s *scanner) text() ([]byte, bool) {
	if !s.word(`"`) {
		return nil, false
	}
	n := bytes.IndexByte(s.b[s.i:], '"')
	if n < 0 {
		return nil, false
	}
	s.i += n + 1
	return s.b[s.i-n-1 : s.i-1], true
}

// integer reads a number of up to 18 digits, which always fits.
func (s *scanner) integer() bool {
	s.word("-")
	begin := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	digits := s.i - begin
	return digits == 1 || digits > 1 && digits <= 18 && s.b[begin] != '0'
}

func (s *scanner) word(w string) bool {
	for s.i < len(s.b) && s.b[s.i] == ' ' {
		s.i++
	}
	if len(s.b)-s.i >= len(w) && string(s.b[s.i:s.i+len(w)]) == w {
		s.i += len(w)
		return true
	}
	return false
}
