package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrTooLarge is an event over its limit.
var ErrTooLarge = errors.New("event over its limit")

// Event is one event of a stream. The slices are valid until the reader or the buffer they came from moves on.
type Event struct {
	Name []byte // the "event" field, nil without one
	ID   []byte // the "id" field, nil without one
	Data []byte // the "data" fields, joined by line feeds; nil without one: nothing was sent, a comment perhaps
	// Error is the "error" field, which the format does not have and llama.cpp sends where a stream fails; nil without one.
	Error []byte
}

// Splitter finds the ends of events in a buffer that grows at its end. It looks at each byte once, however the bytes
// arrive. The zero value is ready.
type Splitter struct {
	line int // start of the unfinished line
	seen int // bytes looked at; there is no line end in [line:seen)
}

// Next returns the length of the first event in buf with the empty line that ends it, and 0 while it is not complete. buf
// must start where the last event ended and hold what it held at the last call. A carriage return at the end of buf ends
// its line; the line feed that may belong to it then looks like an empty event.
func (s *Splitter) Next(buf []byte) int {
	for {
		end, next := lineEnd(buf, s.seen)
		if end < 0 {
			s.seen = len(buf)
			return 0
		}
		if end == s.line {
			*s = Splitter{}
			return next
		}
		if next == len(buf) && buf[end] == '\r' { // a line feed may follow
			s.seen = end
			return 0
		}
		s.line, s.seen = next, next
	}
}

// lineEnd returns where the line that contains from ends and where the next one begins, or -1.
func lineEnd(buf []byte, from int) (end, next int) {
	rest := buf[from:]
	lf := bytes.IndexByte(rest, '\n')
	if lf >= 0 {
		rest = rest[:lf]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		end = from + cr
		if cr+1 == lf {
			return end, end + 2
		}
		return end, end + 1
	}
	if lf < 0 {
		return -1, -1
	}
	return from + lf, from + lf + 1
}

// Parse reads one event as [Splitter.Next] found it. Data of one line is not copied.
func Parse(block []byte) Event {
	var e Event
	lines := 0
	for from := 0; from < len(block); {
		end, next := lineEnd(block, from)
		if end < 0 {
			end, next = len(block), len(block)
		}
		name, value, _ := bytes.Cut(block[from:end:end], []byte{':'})
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(name) {
		case "data":
			switch lines++; lines {
			case 1:
				e.Data = value
			case 2:
				e.Data = slices.Concat(e.Data, []byte{'\n'}, value)
			default:
				e.Data = append(append(e.Data, '\n'), value...)
			}
		case "event":
			e.Name = value
		case "error":
			e.Error = value
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.ID = value
			}
		}
		from = next
	}
	if lines > 0 && e.Data == nil {
		e.Data = []byte{}
	}
	return e
}

// Reader reads the events of a stream.
type Reader struct {
	src      io.Reader
	max      int
	buf      []byte
	from     int // start of the next event in buf
	splitter Splitter
	began    bool
	err      error
}

// NewReader returns a Reader of src that refuses events of more than max bytes, everything on their lines counted.
func NewReader(src io.Reader, maxBytes int) *Reader { return &Reader{src: src, max: maxBytes} }

// Next returns the next event that carries data. Comments and empty events are skipped. At the end of the stream it
// returns io.EOF; an event that the end cut off is dropped, as the format demands. Other errors are those of the source
// and ErrTooLarge; all of them are final.
func (r *Reader) Next() (Event, error) {
	for {
		for r.skipMark() {
			n := r.splitter.Next(r.buf[r.from:])
			if n == 0 {
				break
			}
			block := r.buf[r.from : r.from+n]
			r.from += n
			if n > r.max {
				r.err = ErrTooLarge
				return Event{}, r.err
			}
			if e := Parse(block); e.Data != nil {
				return e, nil
			}
		}
		if r.err != nil {
			return Event{}, r.err
		}
		r.err = r.fill()
	}
}

// skipMark drops a byte order mark at the start of the stream and reports whether that is decided.
func (r *Reader) skipMark() bool {
	const mark = "\xef\xbb\xbf"
	if r.began {
		return true
	}
	if len(r.buf) < len(mark) && r.err == nil && mark[:len(r.buf)] == string(r.buf) {
		return false
	}
	r.began = true
	if bytes.HasPrefix(r.buf, []byte(mark)) {
		r.from = len(mark)
	}
	return true
}

// fill reads once.
func (r *Reader) fill() error {
	const firstBytes = 4 << 10
	held := len(r.buf) - r.from
	if held > r.max {
		return ErrTooLarge
	}
	if r.from > 0 {
		copy(r.buf, r.buf[r.from:])
		r.buf, r.from = r.buf[:held], 0
	}
	if len(r.buf) == cap(r.buf) {
		larger := make([]byte, held, max(firstBytes, 2*cap(r.buf)))
		copy(larger, r.buf)
		r.buf = larger
	}
	n, err := r.src.Read(r.buf[held:cap(r.buf)])
	r.buf = r.buf[:held+n]
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("read event stream: %w", err)
}
