package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"modelgate.internal/shared/sse"
)

// readAll returns the events of r as "name|id|data", and the error that ended them.
func readAll(r *sse.Reader) (events []string, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, fmt.Sprintf("%s|%s|%s", e.Name, e.ID, e.Data))
	}
}

func TestReader(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"one line", "data: a\n\n", []string{"||a"}},
		{"no space", "data:a\n\ndata:  b\n\n", []string{"||a", "|| b"}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"||a", "||b"}},
		{"cr", "data: a\r\rdata: b\r\r", []string{"||a", "||b"}},
		{"mixed line ends", "data: a\r\ndata: b\rdata: c\n\r\n", []string{"||a\nb\nc"}},
		{"several lines", "data: a\ndata: b\ndata\ndata: c\n\n", []string{"||a\nb\n\nc"}},
		{"empty lines of data", "data\ndata\n\n", []string{"||\n"}},
		{"empty data", "data:\n\n", []string{"||"}},
		{"fields between data", "data: a\nevent: change\nid: 7\ndata: a longer second line\n\n", []string{"change|7|a\na longer second line"}},
		{"id with zero is ignored", "id: 1\x002\ndata: a\n\n", []string{"||a"}},
		{"comments", ": hello\n\n:\ndata: a\n: bye\n\n", []string{"||a"}},
		{"unknown fields", "retry: 10\nfoo: bar\ndatax: a\n\ndata: b\n\n", []string{"||b"}},
		{"event without data", "event: ping\n\ndata: a\n\n", []string{"||a"}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"||a"}},
		{"only the first mark", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", []string{"||b"}},
		{"cut off event is dropped", "data: a\n\ndata: b\n", []string{"||a"}},
		{"colons in data", "data: {\"a\":1}\n\n", []string{`||{"a":1}`}},
		{"nothing", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for size := 1; size <= 3; size++ {
				src := iotest.OneByteReader(strings.NewReader(test.in))
				if size > 1 {
					src = &pieces{rest: []byte(test.in), size: size}
				}
				got, err := readAll(sse.NewReader(src, 1<<10))
				if !errors.Is(err, io.EOF) || !slices.Equal(got, test.want) {
					t.Errorf("in pieces of %d: got %q, %v, want %q", size, got, err, test.want)
				}
			}
		})
	}
}

func TestReaderRefusesLargeEvents(t *testing.T) {
	for _, in := range []string{
		"data: " + strings.Repeat("x", 100) + "\n\n",
		strings.Repeat("data: x\n", 20) + "\n",
		strings.Repeat("x", 1<<20),
	} {
		if got, err := readAll(sse.NewReader(strings.NewReader("data: a\n\n"+in), 64)); !errors.Is(err, sse.ErrTooLarge) || len(got) != 1 {
			t.Errorf("got %d events and %v", len(got), err)
		}
	}
}

func TestReaderPassesOnErrors(t *testing.T) {
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader("data: a\n\n"), iotest.ErrReader(broken))
	if got, err := readAll(sse.NewReader(src, 64)); !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReaderReadsWhatTheWriterWrites(t *testing.T) {
	var buf bytes.Buffer
	w := sse.NewWriter(&buf, nil)
	w.KeepAlive()
	w.DeltaRaw([]byte("x"))
	w.Done()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got, _ := readAll(sse.NewReader(&buf, 1<<10))
	if want := []string{`||{"type":"delta","text":"x"}`, "||[DONE]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// pieces is a reader that returns a fixed number of bytes a time.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// plainEvents is the format in the words of its specification, without regard to cost.
func plainEvents(in string) (events []string) {
	in = strings.TrimPrefix(in, "\xef\xbb\xbf")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var data, name, id string
	for line := range strings.Lines(in) {
		line, ended := strings.CutSuffix(line, "\n")
		if !ended {
			break
		}
		if line == "" {
			if data != "" {
				events = append(events, fmt.Sprintf("%s|%s|%s", name, id, strings.TrimSuffix(data, "\n")))
			}
			data, name, id = "", "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data += value + "\n"
		case "event":
			name = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		}
	}
	return events
}

// FuzzReader holds the reader, fed in pieces, against the format's own words.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\ndata: b\r\n\r\n", "data\r\rdata: x\rdata:y\r\r", ": c\nevent: e\nid: 1\ndata: 1\ndata: 2\n\n", "\xef\xbb\xbfdata: a\n\n", "data: a\n\r\n\rdata:b\r\n\r",
	} {
		f.Add(seed, 1)
		f.Add(seed, 4)
	}
	f.Fuzz(func(t *testing.T, in string, size int) {
		src := &pieces{rest: []byte(in), size: max(1, size%64)}
		got, err := readAll(sse.NewReader(src, 1<<20))
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if want := plainEvents(in); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	stream := []byte(strings.Repeat("data: {\"type\":\"delta\",\"text\":\"some token\"}\n\n", 1000))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r := sse.NewReader(bytes.NewReader(stream), 1<<20)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
