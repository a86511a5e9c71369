package sse_test

import (
	"bytes"
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
