package transport

import "bytes"

// view divides a buffer: [lo:mid] is body that the reader has not digested, [mid:hi] has its framing still.
type view struct{ lo, mid, hi int }

// body takes the framing off an answer's body, in place.
type body struct {
	state   state
	left    int64 // bytes left of the chunk, or of the body
	trailer int   // bytes of trailer fields seen
}

// state is what a body expects next.
type state uint8

const (
	ended     state = iota
	counted         // left bytes of body
	untilEnd        // everything until the server closes
	chunkSize       // a chunk-size line
	chunkData       // left bytes of a chunk
	chunkEnd        // the CRLF behind a chunk
	trailer         // a trailer field or the empty line
)

// start returns the body that follows a head.
func start(h *Head) body {
	switch {
	case h.Chunked:
		return body{state: chunkSize}
	case h.Length > 0:
		return body{state: counted, left: h.Length}
	case h.Length == 0:
		return body{state: ended}
	default:
		return body{state: untilEnd}
	}
}

// decode moves everything that can be decoded in b[mid:hi] to the end of b[lo:mid], also when it finds an error behind it.
// Bytes behind the end of the body stay where they are.
func (d *body) decode(b []byte, v view) (view, error) {
	switch d.state {
	case ended:
		return v, nil
	case untilEnd:
		v.mid = v.hi
		return v, nil
	case counted:
		n := min(d.left, int64(v.hi-v.mid))
		v.mid += int(n)
		if d.left -= n; d.left == 0 {
			d.state = ended
		}
		return v, nil
	default:
		return d.dechunk(b, v)
	}
}

// dechunk is decode for chunks. When nothing is held back, the body of a single chunk is not moved at all.
func (d *body) dechunk(b []byte, v view) (view, error) {
	src := v.mid
	for src < v.hi && d.state != ended {
		raw := b[src:v.hi]
		if d.state == chunkData {
			n := int(min(d.left, int64(len(raw))))
			if v.lo == v.mid {
				v.lo, v.mid = src, src
			} else {
				copy(b[v.mid:], raw[:n])
			}
			v.mid += n
			src += n
			if d.left -= int64(n); d.left == 0 {
				d.state = chunkEnd
			}
			continue
		}
		n, err := d.line(raw)
		if err != nil {
			return v, err
		}
		if n == 0 {
			break
		}
		src += n
	}
	if v.lo == v.mid {
		return view{src, src, v.hi}, nil
	}
	if src > v.mid {
		v.hi = v.mid + copy(b[v.mid:], b[src:v.hi])
	}
	return v, nil
}

// line consumes one line of framing and returns its length, 0 while it is not complete.
func (d *body) line(raw []byte) (int, error) {
	if d.state == chunkEnd && raw[0] != '\r' {
		return 0, invalid("chunk longer than announced")
	}
	limit := chunkLineMax
	if d.state == trailer {
		limit = trailerBytesMax
	}
	i := bytes.IndexByte(raw, '\n')
	if i > limit || i < 0 && len(raw) > limit {
		return 0, invalid("line of chunk framing over its limit")
	}
	if i < 0 {
		return 0, nil
	}
	if i == 0 || raw[i-1] != '\r' {
		return 0, invalid("line feed without carriage return in the chunk framing")
	}
	line := raw[:i-1]
	switch d.state {
	case chunkEnd:
		if len(line) > 0 {
			return 0, invalid("chunk longer than announced")
		}
		d.state = chunkSize
	case chunkSize:
		size, err := parseChunkSize(line)
		if err != nil {
			return 0, err
		}
		d.left, d.state = size, chunkData
		if size == 0 {
			d.state = trailer
		}
	default: // trailer fields are dropped
		if d.trailer += len(line); d.trailer > trailerBytesMax {
			return 0, invalid("trailer over its limit")
		}
		if !cleanValue(line) {
			return 0, invalid("control character in a trailer")
		}
		if len(line) == 0 {
			d.state = ended
		}
	}
	return i + 1, nil
}

// parseChunkSize reads "1f" or "1f;extension".
func parseChunkSize(line []byte) (int64, error) {
	var size int64
	digits := 0
	for _, c := range line {
		d := hexDigit(c)
		if d < 0 {
			break
		}
		if size = size<<4 | int64(d); size > chunkSizeMax {
			return 0, invalid("chunk size over its limit")
		}
		digits++
	}
	if digits == 0 {
		return 0, invalid("chunk size is not a number")
	}
	extension := line[digits:]
	if len(extension) == 0 {
		return size, nil
	}
	if !cleanValue(extension) || !bytes.HasPrefix(bytes.TrimLeft(extension, " \t"), []byte{';'}) {
		return 0, invalid("malformed chunk size")
	}
	return size, nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
