package transport

import (
	"bytes"
	"io"
	"net/http/httputil"
	"strings"
	"testing"
)

// decodeIn decodes raw, which arrives in pieces of the given size and whose reader keeps what it is given, or lets go of it
// at once. It returns the body, whether it ended, and what was left behind the end.
func decodeIn(d body, raw []byte, size int, keep bool) (out []byte, done bool, left int, err error) {
	buf := make([]byte, 0, len(raw))
	v := view{}
	for len(raw) > 0 && d.state != ended {
		n := min(size, len(raw))
		buf = append(buf[:v.hi], raw[:n]...)
		raw = raw[n:]
		v.hi += n
		if v, err = d.decode(buf, v); err != nil {
			return nil, false, 0, err
		}
		if !keep {
			out = append(out, buf[v.lo:v.mid]...)
			v.lo = v.mid
		}
	}
	return append(out, buf[v.lo:v.mid]...), d.state == ended, v.hi - v.mid + len(raw), nil
}

func TestDechunk(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		left           int
	}{
		{"one", "5\r\nhello\r\n0\r\n\r\n", "hello", 0},
		{"several", "5\r\nhello\r\n1\r\n,\r\nA\r\n0123456789\r\n0\r\n\r\n", "hello,0123456789", 0},
		{"extensions", "5;a=b\r\nhello\r\n1 ;c\r\n!\r\n0;last\r\n\r\n", "hello!", 0},
		{"trailers", "1\r\na\r\n0\r\nX: y\r\nZ: w\r\n\r\n", "a", 0},
		{"leading zeros", "0005\r\nhello\r\n000\r\n\r\n", "hello", 0},
		{"bytes behind the end", "1\r\na\r\n0\r\n\r\nHTTP/1.1", "a", 8},
		{"empty", "0\r\n\r\n", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for size := 1; size <= len(test.in); size++ {
				for _, keep := range []bool{false, true} {
					got, done, left, err := decodeIn(body{state: chunkSize}, []byte(test.in), size, keep)
					if err != nil || !done || string(got) != test.want || left != test.left {
						t.Fatalf("in pieces of %d, keep %v: got %q, ended %v, %d left, %v", size, keep, got, done, left, err)
					}
				}
			}
		})
	}
}

func TestChunksThatAreRefused(t *testing.T) {
	for name, in := range map[string]string{
		"no size":                    "\r\nhello\r\n",
		"not hex":                    "xyz\r\n",
		"sign":                       "+5\r\nhello\r\n",
		"prefix":                     "0x5\r\nhello\r\n",
		"negative":                   "-1\r\n",
		"overflow":                   "ffffffffffffffff\r\n",
		"over the limit":             "ffffffffffff\r\n",
		"space before the size":      " 5\r\nhello\r\n",
		"space behind the size":      "5 \r\nhello\r\n",
		"bare line feed":             "5\nhello\r\n",
		"line feed in extension":     "5;a\nb\r\nhello\r\n",
		"carriage return in the ext": "5;a\rb\r\nhello\r\n",
		"chunk too long":             "4\r\nhello\r\n",
		"no line end behind a chunk": "5\r\nhelloX",
		"line feed behind a chunk":   "5\r\nhello\n0\r\n\r\n",
		"endless extension":          "5;" + strings.Repeat("x", chunkLineMax+8),
		"long extension":             "5;" + strings.Repeat("x", chunkLineMax+8) + "\r\n",
		"endless trailer":            "0\r\n" + strings.Repeat("X: y\r\n", trailerBytesMax/4+1),
		"long trailer line":          "0\r\n" + strings.Repeat("x", trailerBytesMax+1),
		"bare line feed in trailer":  "0\r\nX: y\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 3, len(in)} {
				if got, done, _, err := decodeIn(body{state: chunkSize}, []byte(in), size, true); err == nil {
					t.Errorf("in pieces of %d: accepted as %q, ended %v", size, got, done)
				}
			}
		})
	}
}

func TestCountedBody(t *testing.T) {
	got, done, left, err := decodeIn(start(&Head{Length: 5}), []byte("helloHTTP"), 3, true)
	if err != nil || !done || string(got) != "hello" || left != 4 {
		t.Errorf("got %q, ended %v, %d left, %v", got, done, left, err)
	}
	if _, done, _, _ = decodeIn(start(&Head{Length: 5}), []byte("hell"), 3, true); done {
		t.Error("a body that is too short has ended")
	}
}

// FuzzChunked holds that whatever is accepted is what net/http reads, however the bytes arrive.
func FuzzChunked(f *testing.F) {
	for _, seed := range []string{
		"5\r\nhello\r\n0\r\n\r\n", "5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n", "1\r\na\r\n0\r\n\r\nrest",
	} {
		f.Add([]byte(seed), 1, true)
		f.Add([]byte(seed), 7, false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, size int, keep bool) {
		size = max(1, size%64)
		got, done, _, err := decodeIn(body{state: chunkSize}, raw, size, keep)
		whole, wholeDone, _, wholeErr := decodeIn(body{state: chunkSize}, raw, max(1, len(raw)), !keep)
		if done != wholeDone || (err == nil) != (wholeErr == nil) || !bytes.Equal(got, whole) {
			t.Fatalf("%q: in pieces of %d %q, %v, %v; at once %q, %v, %v", raw, size, got, done, err, whole, wholeDone, wholeErr)
		}
		if err != nil || !done {
			return
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: got %q, net/http has %q, %v", raw, got, want, err)
		}
	})
}
