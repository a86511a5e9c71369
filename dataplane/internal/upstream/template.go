package upstream

import "bytes"

// template is an event that a stream repeats with other text. Servers encode every chunk of a stream alike, so an event
// that differs from an accepted one in nothing but the inside of the content literal needs no parsing: it means the same.
// The zero value matches nothing.
type template struct {
	event  []byte // without the text
	prefix int    // length of what stands before the text
}

// match returns the text of the event at the start of buf, and the event's length, 0 if it is not like the template.
func (t *template) match(buf []byte) (text []byte, n int) {
	if t.prefix == 0 || len(buf) < len(t.event) || !bytes.Equal(buf[:t.prefix], t.event[:t.prefix]) {
		return nil, 0
	}
	text = buf[t.prefix:]
	end := stringEnd(text)
	if end < 0 || !bytes.HasPrefix(text[end:], t.event[t.prefix:]) {
		return nil, 0
	}
	return text[:end], end + len(t.event)
}

// learn takes over an accepted event: a block of one data line, and the data and the text within it.
func (t *template) learn(block, data, text []byte) {
	t.prefix = 0
	from := len("data:")
	if !bytes.HasPrefix(block, []byte("data:")) || len(block)-len(text) > templateBytesMax {
		return
	}
	if block[from] == ' ' {
		from++
	}
	if len(block) < from+len(data) || len(bytes.Trim(block[from+len(data):], "\r\n")) > 0 {
		return
	}
	from += cap(data) - cap(text) // text is a slice of data
	t.event = append(append(t.event[:0], block[:from]...), block[from+len(text):]...)
	t.prefix = from
}
