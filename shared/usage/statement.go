package usage

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A statement is what the sender says the records of an upload add up to, so that the receiver can prove that it counted
// neither more nor less. It is made from the encoded records, without decoding them, and is checksummed with the prologue.
//
// Each line is account, developer, app and key as in a record (a length byte and the text each), then the UTC day, the calls and
// the tokens in and out as varints.

const (
	// StatementBytesMax bounds a statement.
	StatementBytesMax = 4 << 20

	daySeconds      = 86_400
	nanosPerDay     = daySeconds * 1_000_000_000
	textsOfRecord   = 11
	numbersOfRecord = 6
)

// StatedLine is what a key was used for on a UTC day.
type StatedLine struct {
	Account, App, Key          string
	Day                        int64 // start in Unix seconds
	Calls, TokensIn, TokensOut int64
}

// Statement adds up encoded records. The zero value is empty. It belongs to one goroutine.
type Statement struct {
	lines map[string]*counts
	id    []byte
}

type counts struct{ calls, in, out int64 }

// Reset empties the statement.
func (s *Statement) Reset() { clear(s.lines) }

// Add adds a record. Of a payload that does not decode nothing is added.
func (s *Statement) Add(payload []byte) {
	who, n, ok := sums(payload)
	if !ok {
		return
	}
	s.id = binary.AppendVarint(append(s.id[:0], who...), floorDay(n[0]))
	line := s.lines[string(s.id)]
	if line == nil {
		if s.lines == nil {
			s.lines = make(map[string]*counts)
		}
		line = &counts{}
		s.lines[string(s.id)] = line
	}
	line.calls++
	line.in += n[2]
	line.out += n[3]
}

// sums returns whose a record is, as it stands there, and its first numbers: time, status, tokens in and out.
func sums(payload []byte) (who []byte, numbers [4]int64, ok bool) {
	if len(payload) == 0 || payload[0] != recordForm {
		return nil, numbers, false
	}
	at, from, to := 1, 0, 0
	for i := range textsOfRecord {
		if i == 1 { // account, developer, app, key
			from = at
		}
		if at >= len(payload) {
			return nil, numbers, false
		}
		at += 1 + int(payload[at])
		if i == 4 {
			to = at
		}
	}
	if at > len(payload) {
		return nil, numbers, false
	}
	for i := range numbers {
		v, n := binary.Varint(payload[at:])
		if n <= 0 {
			return nil, numbers, false
		}
		numbers[i] = v
		at += n
	}
	return payload[from:to], numbers, true
}

// floorDay is the number of the UTC day of a time in Unix nanoseconds.
func floorDay(nanos int64) int64 {
	day := nanos / nanosPerDay
	if nanos%nanosPerDay < 0 {
		day--
	}
	return day
}

// append encodes the statement, in an order that depends on nothing but its lines.
func (s *Statement) append(b []byte) []byte {
	ids := make([]string, 0, len(s.lines))
	for id := range s.lines {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		c := s.lines[id]
		b = append(b, id...)
		b = binary.AppendVarint(b, c.calls)
		b = binary.AppendVarint(b, c.in)
		b = binary.AppendVarint(b, c.out)
	}
	return b
}

// parseStatement reads what append wrote.
func parseStatement(b []byte) ([]StatedLine, bool) {
	var lines []StatedLine
	for len(b) > 0 {
		var (
			l         StatedLine
			developer string
		)
		for _, text := range [...]*string{&l.Account, &developer, &l.App, &l.Key} {
			if len(b) == 0 || len(b) <= int(b[0]) {
				return nil, false
			}
			n := 1 + int(b[0])
			*text = string(bytes.ToValidUTF8(b[1:n], []byte("?")))
			b = b[n:]
		}
		for _, number := range [...]*int64{&l.Day, &l.Calls, &l.TokensIn, &l.TokensOut} {
			v, n := binary.Varint(b)
			if n <= 0 {
				return nil, false
			}
			*number = v
			b = b[n:]
		}
		l.Day *= daySeconds
		lines = append(lines, l)
	}
	return lines, true
}
