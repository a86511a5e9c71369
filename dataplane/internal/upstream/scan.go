package upstream

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scanner walks JSON without decoding it. It is stricter than it would have to be: what it does not like it refuses by
// setting bad, and the slow path decides.
type scanner struct {
	b   []byte
	i   int
	bad bool
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// take consumes c if it comes next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// want consumes c or refuses.
func (s *scanner) want(c byte) {
	if !s.take(c) {
		s.bad = true
	}
}

// more reports whether another member or element follows, and consumes the comma before it or the closing bracket.
func (s *scanner) more(first *bool, closing byte) bool {
	if s.bad || s.take(closing) {
		return false
	}
	if !*first {
		s.want(',')
	}
	*first = false
	return !s.bad
}

// key returns the name of a member and consumes its colon. Names that encoding/json would match in another spelling are
// refused.
func (s *scanner) key() []byte {
	s.space()
	k := s.text()
	for _, c := range k {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			s.bad = true
		}
	}
	s.want(':')
	return k
}

// text returns the inside of a string literal.
func (s *scanner) text() []byte {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		s.bad = true
		return nil
	}
	from := s.i + 1
	n := stringEnd(s.b[from:])
	if n < 0 {
		s.bad = true
		return nil
	}
	s.i = from + n + 1
	return s.b[from : from+n]
}

// null reports whether null comes next, and consumes it.
func (s *scanner) null() bool {
	s.space()
	return s.word("null")
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i >= len(w) && string(s.b[s.i:s.i+len(w)]) == w {
		s.i += len(w)
		return true
	}
	return false
}

// skip consumes any value.
func (s *scanner) skip(depth int) {
	s.space()
	if s.bad || s.i >= len(s.b) || depth > nestingMax {
		s.bad = true
		return
	}
	first := true
	switch s.b[s.i] {
	case '"':
		s.text()
	case '{':
		s.i++
		for s.more(&first, '}') {
			s.space()
			s.text()
			s.want(':')
			s.skip(depth + 1)
		}
	case '[':
		s.i++
		for s.more(&first, ']') {
			s.skip(depth + 1)
		}
	case 't', 'f', 'n':
		if !s.word("true") && !s.word("false") && !s.word("null") {
			s.bad = true
		}
	default:
		s.number()
	}
}

// number consumes a number as RFC 8259 spells it.
func (s *scanner) number() {
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else {
		s.digits()
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		s.digits()
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		s.digits()
	}
}

func (s *scanner) digits() {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	s.bad = s.bad || s.i == from
}

// count returns a non-negative integer of at most 15 digits.
func (s *scanner) count() int64 {
	const digitsMax = 15
	s.space()
	from := s.i
	s.number()
	n := int64(0)
	for _, c := range s.b[from:s.i] {
		if c < '0' || c > '9' {
			s.bad = true
		}
		n = n*10 + int64(c-'0')
	}
	s.bad = s.bad || s.i-from > digitsMax
	return n
}

// end refuses anything but white space up to the end.
func (s *scanner) end() {
	s.space()
	s.bad = s.bad || s.i != len(s.b)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stringEnd returns the length of the inside of a string literal that begins at the start of b, without the quote that
// ends it. It returns -1 when there is no such quote, and for control characters, unknown escapes and invalid UTF-8. It
// looks at eight bytes at a time (Mycroft's zero-byte test; the lowest byte that it marks is always right).
func stringEnd(b []byte) int {
	i := 0
	var seen uint64
	for {
		for len(b)-i >= 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			quote, slash := x^(ones*'"'), x^(ones*'\\')
			stop := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x) & highs
			seen |= x
			if stop != 0 {
				i += bits.TrailingZeros64(stop) / 8
				break
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' && len(b)-i < 8 {
			seen |= uint64(b[i])
			i++
		}
		switch {
		case i >= len(b) || b[i] < ' ':
			return -1
		case b[i] == '"':
			if seen&highs != 0 && !utf8.Valid(b[:i]) {
				return -1
			}
			return i
		case b[i] == '\\':
			n := escape(b[i:])
			if n == 0 {
				return -1
			}
			i += n
		}
	}
}

// escape returns the length of the escape sequence at the start of b, 0 if there is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}
