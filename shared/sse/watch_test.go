package sse_test

import (
	"testing"

	"modelgate.internal/shared/sse"
)

// writerFunc is a destination.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// What is told is at least what the reader has: it is told before the write, and counts every event but comments.
func TestWatchIsToldBeforeTheWrite(t *testing.T) {
	t.Parallel()
	var told, atWrite int64
	w := sse.NewWriter(writerFunc(func(p []byte) (int, error) { atWrite = told; return len(p), nil }), nil)
	w.Watch(func(events int64) { told = events })
	for _, step := range []struct {
		put  func()
		want int64
	}{
		{w.KeepAlive, 0},
		{func() { w.DeltaRaw([]byte("a")); w.DeltaRaw([]byte("b")) }, 2},
		{func() { w.Data([]byte(`{}`)) }, 3},
		{func() { w.Frames([]byte("data: 1\n\ndata: 2\n\n")) }, 5},
		{func() { w.Text("two\nlines") }, 6},
	} {
		step.put()
		if err := w.Flush(); err != nil || atWrite != step.want {
			t.Errorf("told of %d events at the write, want %d; %v", atWrite, step.want, err)
		}
	}
	w.Watch(nil)
	w.DeltaRaw(nil)
	if err := w.Flush(); err != nil || told != 6 {
		t.Errorf("told of %d events after the end; %v", told, err)
	}
}
