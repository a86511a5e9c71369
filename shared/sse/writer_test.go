package sse_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"modelgate.internal/shared/sse"
)

// counter is a destination that counts writes.
type counter struct {
	bytes.Buffer
	writes int
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	return c.Buffer.Write(p)
}

func TestEventsOfOneFlushAreOneWrite(t *testing.T) {
	var dst counter
	w := sse.NewWriter(&dst, make([]byte, 0, 256))
	w.DeltaRaw([]byte(`a\n\"b`))
	w.KeepAlive()
	w.Data([]byte(`{"type":"image"}`))
	w.Done()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "data: {\"type\":\"delta\",\"text\":\"a\\n\\\"b\"}\n\n: keep-alive\n\ndata: {\"type\":\"image\"}\n\ndata: [DONE]\n\n"
	if dst.String() != want || dst.writes != 1 {
		t.Errorf("got %q in %d writes", dst.String(), dst.writes)
	}
	if err := w.Flush(); err != nil || dst.writes != 1 || w.Buffered() != 0 {
		t.Errorf("an empty flush writes: %d writes, err %v", dst.writes, err)
	}
}

func TestPlainTextComesBackAsItWas(t *testing.T) {
	for _, text := range []string{
		"a", " led by a space", "ends\n", "\n", "a\n\nb", "data: x", "[DONE]", "a\n[DONE]\nb", "say [DONE] now", "\u00fc \U0001F600 \"q\" \\",
	} {
		var dst bytes.Buffer
		w := sse.NewWriter(&dst, nil)
		w.Plain()
		w.Text("")
		w.Text(text)
		escaped, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		w.DeltaRaw(escaped[1 : len(escaped)-1])
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(dst.String(), "data: [DONE]\n") {
			t.Errorf("%q looks like the end: %q", text, dst.String())
		}
		got, r := "", sse.NewReader(&dst, 1<<10)
		for {
			e, err := r.Next()
			if err != nil {
				break
			}
			got += string(e.Data)
		}
		if got != text+text {
			t.Errorf("got %q, want %q twice", got, text)
		}
	}
}

func TestTheErrorOfPlainTextHasAName(t *testing.T) {
	var dst bytes.Buffer
	w := sse.NewWriter(&dst, nil)
	w.Error([]byte("{}"))
	w.Plain()
	w.Text("a\r\nb")
	w.Error([]byte("{}"))
	if err := w.Flush(); err != nil || dst.String() != "data: {}\n\ndata: a\ndata: b\n\nevent: error\ndata: {}\n\n" {
		t.Errorf("got %q, %v", dst.String(), err)
	}
}

func TestWritingAnEventDoesNotAllocate(t *testing.T) {
	var dst bytes.Buffer
	dst.Grow(1 << 20)
	w := sse.NewWriter(&dst, make([]byte, 0, 1024))
	text := []byte("some token text")
	if n := testing.AllocsPerRun(1000, func() {
		w.DeltaRaw(text)
		w.Flush()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAFlushedWriterHoldsNoBuffer(t *testing.T) {
	var dst bytes.Buffer
	dst.Grow(1 << 20)
	var lender sse.Buffers
	text := []byte("some token text")
	n := testing.AllocsPerRun(1000, func() {
		w := lender.NewWriter(&dst)
		w.DeltaRaw(text)
		w.Flush()
	})
	if n > 1 { // the race detector has pools lose what they are given
		t.Errorf("%v allocations for a Writer, its buffer is not given back", n)
	}
	dst.Reset()
	w := lender.NewWriter(&dst)
	w.KeepAlive()
	w.Flush()
	w.Frames([]byte("data: 1\n\n"))
	w.Text("a")
	w.Done()
	w.Flush()
	if got, want := dst.String(), ": keep-alive\n\ndata: 1\n\ndata: a\n\ndata: [DONE]\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
