package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scanner walks over a JSON text (RFC 8259). Every method skips white space first and reports whether it found what it looks
// for.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\n', '\t', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) atEnd() bool {
	s.space()
	return s.i == len(s.b)
}

func (s *scanner) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) word(w string) bool {
	s.space()
	if len(s.b)-s.i >= len(w) && string(s.b[s.i:s.i+len(w)]) == w {
		s.i += len(w)
		return true
	}
	return false
}

// name reads the name of a field and its colon.
func (s *scanner) name() ([]byte, bool) {
	name, ok := s.plain()
	return name, ok && s.take(':')
}

// plain reads a string without escapes and returns what is between the quotes.
func (s *scanner) plain() ([]byte, bool) {
	literal, ok := s.text()
	if !ok || bytes.IndexByte(literal, '\\') >= 0 {
		return nil, false
	}
	return literal[1 : len(literal)-1], true
}

func (s *scanner) textOrNull() ([]byte, bool) {
	if s.word("null") {
		return nil, true
	}
	return s.text()
}

func (s *scanner) boolean() (value, ok bool) {
	if s.word("true") {
		return true, true
	}
	return false, s.word("false")
}

// text reads a string and returns it as it is written, with its quotes.
func (s *scanner) text() ([]byte, bool) {
	s.space()
	start := s.i
	if start >= len(s.b) || s.b[start] != '"' {
		return nil, false
	}
	s.i++
	high := false
	for {
		n, h := ordinary(s.b[s.i:])
		s.i += n
		high = high || h
		if s.i >= len(s.b) {
			return nil, false
		}
		switch s.b[s.i] {
		case '"':
			s.i++
			literal := s.b[start:s.i:s.i]
			return literal, !high || utf8.Valid(literal)
		case '\\':
			if !s.escape() {
				return nil, false
			}
		default: // a control character
			return nil, false
		}
	}
}

// Masks for 8 bytes at a time ("bit twiddling hacks", haszero and hasless).
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// ordinary returns how many bytes come before the first quote, backslash or control character, and whether any of them is
// outside ASCII. A byte may be flagged after another in the same word only, never before, so the first flag is right.
func ordinary(b []byte) (n int, high bool) {
	for len(b)-n >= 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote := w ^ (ones * '"')
		slash := w ^ (ones * '\\')
		stop := ((quote - ones) & ^quote) | ((slash - ones) & ^slash) | ((w - ones*0x20) & ^w)
		stop &= highs
		if stop != 0 {
			k := bits.TrailingZeros64(stop) / 8
			return n + k, high || w&(uint64(1)<<(8*k)-1)&highs != 0
		}
		high = high || w&highs != 0
		n += 8
	}
	for ; n < len(b); n++ {
		switch c := b[n]; {
		case c == '"' || c == '\\' || c < 0x20:
			return n, high
		case c >= utf8.RuneSelf:
			high = true
		}
	}
	return n, high
}

// escape reads one escape sequence. Half of a surrogate pair is left to the slow reader, which replaces it.
func (s *scanner) escape() bool {
	if len(s.b)-s.i < 2 {
		return false
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return true
	case 'u':
	default:
		return false
	}
	r, ok := s.unit()
	switch {
	case !ok || (r >= 0xDC00 && r < 0xE000):
		return false
	case r >= 0xD800 && r < 0xDC00:
		low, ok := s.unit()
		return ok && low >= 0xDC00 && low < 0xE000
	}
	return true
}

// unit reads \uXXXX.
func (s *scanner) unit() (r uint32, ok bool) {
	const length = len(`\uXXXX`)
	if len(s.b)-s.i < length || s.b[s.i] != '\\' || s.b[s.i+1] != 'u' {
		return 0, false
	}
	for _, c := range s.b[s.i+2 : s.i+length] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | uint32(c)
	}
	s.i += length
	return r, true
}

func digitsAt(b []byte) (n int) {
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

// numberEnds reports whether a number may end here. If not, the text goes on in a way that this scanner does not know, or is
// not JSON.
func (s *scanner) numberEnds() bool {
	if s.i >= len(s.b) {
		return true
	}
	switch s.b[s.i] {
	case ',', '}', ']', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}

// temperature reads a number from 0 to temperatureMax, written with one digit before the point.
func (s *scanner) temperature() ([]byte, bool) {
	const fractionDigitsMax = 16
	s.space()
	start := s.i
	if start >= len(s.b) || s.b[start] < '0' || s.b[start] > '0'+temperatureMax {
		return nil, false
	}
	s.i++
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		n := digitsAt(s.b[s.i:])
		if n == 0 || n > fractionDigitsMax {
			return nil, false
		}
		fraction := s.b[s.i : s.i+n]
		if s.b[start] == '0'+temperatureMax && len(bytes.Trim(fraction, "0")) > 0 {
			return nil, false
		}
		s.i += n
	}
	return s.b[start:s.i:s.i], s.numberEnds()
}

// maxTokens reads a whole number from 1 to maxTokensMax.
func (s *scanner) maxTokens() (int64, bool) {
	const digitsMax = 7 // of maxTokensMax
	s.space()
	n := digitsAt(s.b[s.i:])
	if n == 0 || n > digitsMax || s.b[s.i] == '0' {
		return 0, false
	}
	var value int64
	for _, c := range s.b[s.i : s.i+n] {
		value = value*10 + int64(c-'0')
	}
	s.i += n
	return value, value <= maxTokensMax && s.numberEnds()
}
