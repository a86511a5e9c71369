package spool

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
)

type nobody struct{}

func (nobody) Send(context.Context, string, http.Header, []byte) (int, []byte, error) {
	return http.StatusServiceUnavailable, nil, nil
}

// With usage_sync = answer a record is on disk when Append returns, also where a segment became full meanwhile.
func TestAnAnswerWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	s, err := Open(Options{
		DataDir: t.TempDir(), SegmentBytes: 16 << 10, Sync: SyncAnswer, Uploader: nobody{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Run(ctx) }()
	for i := range 200 {
		r := &plane.UsageRecord{RequestID: strconv.Itoa(i), End: plane.EndDone}
		if err := s.Append(r); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		durable := s.durable
		s.mu.Unlock()
		if durable < r.Seq {
			t.Fatalf("record %d was appended, %d are on disk", r.Seq, durable)
		}
	}
	cancel()
	<-ended
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The process dies when the record of a call is written and its slot is not free yet.
func TestACallWhoseRecordIsWrittenIsNotCut(t *testing.T) {
	t.Parallel()
	o := Options{DataDir: t.TempDir(), SegmentBytes: 16 << 10, Uploader: nobody{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &plane.UsageRecord{RequestID: "a"}
	ticket, err := s.Begin(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.end(ticket, r); err != nil {
		t.Fatal(err)
	}
	dead := t.TempDir()
	if err := os.CopyFS(dead, os.DirFS(o.DataDir)); err != nil {
		t.Fatal(err)
	}
	ticket.done()
	o.DataDir = dead
	next, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if cut := next.Stats().Cut; cut != 0 {
		t.Errorf("%d calls are taken for cut", cut)
	}
	if err := errors.Join(s.Close(), next.Close()); err != nil {
		t.Error(err)
	}
}
