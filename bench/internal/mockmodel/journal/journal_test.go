package journal

import (
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

func TestEndings(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*Entry)
		want Outcome
	}{
		{"done", func(e *Entry) { e.End(Done) }, Done},
		{"fault", func(e *Entry) { e.Closing(); e.Left(); e.End(Fault) }, Fault},
		{"left before the end", func(e *Entry) { e.Left(); e.Closing(); e.End(Done) }, ClientGone},
		{"left while closing", func(e *Entry) { e.Closing(); e.Left(); e.End(Done) }, Done},
		{"left afterwards", func(e *Entry) { e.End(Done); e.Left(); e.End(Fault); e.Status(9) }, Done},
	} {
		j := New(4, func() time.Time { return time.Unix(7, 0) })
		e := j.Begin(httptest.NewRequest("POST", "/x?y=1", nil))
		if j.Open() != 1 {
			t.Errorf("%s: %d open", tc.name, j.Open())
		}
		e.Status(200)
		tc.do(e)
		views, last := j.Since(0)
		if len(views) != 1 || last != 1 || j.Open() != 0 {
			t.Fatalf("%s: %d kept, %d open", tc.name, len(views), j.Open())
		}
		v := views[0]
		if v.Outcome != tc.want || (v.CancelledAt != nil) != (tc.want == ClientGone) || v.Status != 200 || v.Path != "/x?y=1" || v.EndedAt == nil {
			t.Errorf("%s: %+v", tc.name, v)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	j := New(8, time.Now)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				e := j.Begin(httptest.NewRequest("GET", "/", nil))
				e.Events(1)
				j.Since(0)
				e.End(Done)
				j.Reset()
			}
		})
	}
	wg.Wait()
	if _, last := j.Since(0); last != 800 || j.Open() != 0 {
		t.Errorf("last %d, open %d", last, j.Open())
	}
}
