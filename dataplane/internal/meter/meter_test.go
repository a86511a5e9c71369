package meter

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

var began = time.Date(2026, 11, 21, 23, 59, 59, 0, time.UTC)

func finished(kind key.Kind, org string) *call.Call {
	return &call.Call{
		ID: "req-1", Endpoint: "agent", Started: began,
		Caller: &call.Caller{Principal: &plane.Principal{
			KeyID: "key-1", AppID: "app-1", DeveloperID: "dev-1", OrgID: org, Kind: kind,
		}},
		Facts: call.Facts{Model: "Darwin", Task: "conversation", Backend: "upstream", Upstream: "u1"},
	}
}

func TestRecord(t *testing.T) {
	usage := call.Usage{TokensIn: 3, TokensOut: 5, Source: plane.SourceProvider}
	want := plane.UsageRecord{
		RequestID: "req-1", At: began, AccountID: "dev-1", DeveloperID: "dev-1", AppID: "app-1", KeyID: "key-1", Endpoint: "agent",
		Model: "Darwin", Task: "conversation", Backend: "upstream", Status: 200, End: plane.EndDone, Source: plane.SourceProvider,
		TokensIn: 3, TokensOut: 5, TTFT: 200 * time.Millisecond, Took: 3 * time.Second,
	}
	for _, c := range []struct {
		name    string
		call    *call.Call
		status  int
		outcome call.Outcome
		now     time.Time
		change  func(*plane.UsageRecord)
	}{
		{"stream", finished(key.Live, ""), 200, call.Outcome{End: plane.EndDone, Usage: usage, First: began.Add(200 * time.Millisecond)}, began.Add(3 * time.Second), func(*plane.UsageRecord) {}},
		{"whole answer", finished(key.Live, ""), 200, call.Outcome{End: plane.EndDone, Usage: usage}, began.Add(3 * time.Second), func(r *plane.UsageRecord) { r.TTFT = 0 }},
		{"key of an organization's app", finished(key.Live, "org-1"), 200, call.Outcome{End: plane.EndDone, Usage: usage}, began.Add(3 * time.Second), func(r *plane.UsageRecord) { r.TTFT, r.AccountID = 0, "org-1" }},
		{"test key", finished(key.Test, ""), 200, call.Outcome{End: plane.EndDone, Usage: usage}, began.Add(3 * time.Second), func(r *plane.UsageRecord) { r.TTFT, r.Sandbox = 0, true }},
		{"refused", finished(key.Live, ""), 429, call.Outcome{End: plane.EndRefused}, began.Add(3 * time.Second), func(r *plane.UsageRecord) {
			r.TTFT, r.Status, r.End, r.Source, r.TokensIn, r.TokensOut = 0, 429, plane.EndRefused, plane.SourceNone, 0, 0
		}},
		{"clock set back during the call", finished(key.Live, ""), 200, call.Outcome{End: plane.EndDone, Usage: usage, First: began.Add(-time.Second)}, began.Add(-time.Second), func(r *plane.UsageRecord) { r.TTFT, r.Took = 0, 0 }},
	} {
		w := want
		c.change(&w)
		if got := record(c.call, c.status, &c.outcome, c.now); got != w {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.name, got, w)
		}
	}
}

// away is a control plane that does not answer.
type away struct{}

func (away) Send(context.Context, string, http.Header, []byte) (int, []byte, error) {
	return 0, nil, io.ErrUnexpectedEOF
}

func TestRecordGoesToTheSpool(t *testing.T) {
	s, err := spool.Open(spool.Options{DataDir: t.TempDir(), Uploader: away{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	m := New(s)
	out := &call.Outcome{End: plane.EndDone}
	if err := m.Record(&call.Call{}, 401, out, began); err != nil || s.Stats().Appended != 0 {
		t.Errorf("a call of nobody: %v, %+v", err, s.Stats())
	}
	c := finished(key.Live, "")
	if err := m.Record(c, 200, out, began); err != nil || s.Stats().Appended != 1 {
		t.Errorf("%v, %+v", err, s.Stats())
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = m.Record(c, 200, out, began) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// A call that was begun is counted by the next process if this one dies before Record, and not once more if it dies after it.
func TestBeginIsEndedByRecord(t *testing.T) {
	for _, ended := range []bool{false, true} {
		dir, dead := t.TempDir(), t.TempDir()
		open := func(dir string) *spool.Spool {
			s, err := spool.Open(spool.Options{DataDir: dir, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
		m := New(open(dir))
		c := finished(key.Live, "")
		c.Journal = m
		for range 2 { // a call that asks two upstreams
			if err := c.Begin(); err != nil {
				t.Fatal(err)
			}
		}
		if ended {
			if err := m.Record(c, 200, &call.Outcome{End: plane.EndDone}, began); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.CopyFS(dead, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		want := map[bool]uint64{false: 1, true: 0}[ended]
		if cut := open(dead).Stats().Cut; cut != want {
			t.Errorf("ended: %t: %d calls are taken for cut, want %d", ended, cut, want)
		}
		if !ended {
			_ = m.Record(c, 200, &call.Outcome{End: plane.EndDone}, began)
		}
	}
}
