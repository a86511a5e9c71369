package load

import (
	"bytes"
	"errors"
	"io"
)

// events reads the events of one stream and judges them.
type events struct {
	carry    []byte // the beginning of an event whose end has not come
	mark     []byte // what stood before the last stamp
	last     int64  // the last stamp
	stamped  int64  // events with text
	disorder int64  // stamps earlier than the one before
	errors   int64  // events that report an error
	late     int64  // events behind [DONE]
	done     bool
}

var (
	markGateway = []byte(`"text":"`)
	markChat    = []byte(`"content":"`)
	blankLine   = []byte("\n\n")
	dataField   = []byte("data:")
	doneText    = []byte("[DONE]")
	errorMarks  = [][]byte{[]byte(`"type":"error"`), []byte(`"error":`)}

	errEventLong = errors.New("an event is too long")
)

// feed takes a piece of the stream and appends the stamps of the events that it completes.
func (e *events) feed(p []byte, stamps []int64) ([]int64, error) {
	if len(e.carry) > 0 {
		e.carry = append(e.carry, p...)
		p = e.carry
	}
	for {
		i := bytes.Index(p, blankLine)
		if i < 0 {
			break
		}
		if stamp := e.event(p[:i]); stamp != 0 {
			stamps = append(stamps, stamp)
		}
		p = p[i+len(blankLine):]
	}
	if len(p) > eventBytesMax {
		return stamps, errEventLong
	}
	e.carry = append(e.carry[:0], p...) // p may lie in carry: append moves forward, which copy allows
	return stamps, nil
}

// event judges one event and returns its stamp, 0 if it has none.
func (e *events) event(p []byte) int64 {
	data, ok := bytes.CutPrefix(p, dataField)
	if !ok {
		return 0 // a comment, or a field that carries nothing
	}
	if e.done {
		e.late++
		return 0
	}
	stamp := e.stamp(data)
	if stamp == 0 {
		e.done = bytes.Equal(bytes.TrimSpace(data), doneText)
		for _, m := range errorMarks {
			if bytes.Contains(data, m) {
				e.errors++
				break
			}
		}
		return 0
	}
	if stamp < e.last {
		e.disorder++
	}
	e.last = stamp
	e.stamped++
	return stamp
}

// stamp finds the time at the beginning of an event's text.
func (e *events) stamp(data []byte) int64 {
	if e.mark != nil {
		if n := stampAfter(data, e.mark); n != 0 {
			return n
		}
	}
	for _, m := range [][]byte{markGateway, markChat} {
		if n := stampAfter(data, m); n != 0 {
			e.mark = m
			return n
		}
	}
	return 0
}

func stampAfter(data, mark []byte) int64 {
	i := bytes.Index(data, mark)
	if i < 0 || len(data) < i+len(mark)+stampDigits {
		return 0
	}
	var n int64
	for _, d := range data[i+len(mark):][:stampDigits] {
		if d < '0' || d > '9' {
			return 0
		}
		n = n*10 + int64(d-'0')
	}
	return n
}

// follow reads a stream to its end and calls read with the stamps that one read of the connection brought, before it waits for
// the next. Its error is nil if the body was whole.
func (e *events) follow(c *conn, read func(stamps []int64)) error {
	var stamps []int64
	flush := func() {
		if len(stamps) > 0 {
			read(stamps)
			stamps = stamps[:0]
		}
	}
	c.waits = flush
	defer flush()
	for {
		p, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if stamps, err = e.feed(p, stamps); err != nil {
			return err
		}
	}
}
