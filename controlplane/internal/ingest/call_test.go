package ingest_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/plane"
)

// TestTheLogHasEveryCallOnce sends records in overlapping uploads to two replicas and reads the log of an app page by page.
func TestTheLogHasEveryCallOnce(t *testing.T) {
	f := newFixture(t, true)
	records := traffic(rand.New(rand.NewPCG(1, 2)), 600, 2, f.now)
	app := records[0].AppID
	for from := 0; from < len(records); from += 200 {
		if _, err := f.take(from/200%2, "i", encode(records[max(0, from-50):from+200])); err != nil {
			t.Fatal(err)
		}
	}
	var want []plane.UsageRecord // the newest first
	for _, r := range slices.Backward(records) {
		if r.AppID == app {
			want = append(want, r)
		}
	}
	l := &ledger.Ledger{Store: storetest.Open(t, f.url)}
	q := ledger.CallQuery{AppID: app, Limit: 37}
	read := 0
	for more := true; more; {
		page, err := l.AppCalls(t.Context(), q, f.now)
		if err != nil || page.LeftOut != 0 || page.KeptDays != 3 {
			t.Fatal(page.LeftOut, page.KeptDays, err)
		}
		for _, got := range page.Requests {
			if read == len(want) {
				t.Fatalf("%+v is one too many", got)
			}
			r := want[read]
			if got.ID != r.RequestID || !got.At.Equal(r.At) || got.KeyID != r.KeyID || got.Status != r.Status || got.End != r.End ||
				got.TookMS != r.Took.Milliseconds() || !firstAfter(got.TTFTMS, r.TTFT) || got.TokensIn != r.TokensIn || got.TokensOut != r.TokensOut ||
				got.Source != r.Source || got.Endpoint != "agent" || got.Model != r.Model || got.Task != r.Task || got.Hint != nil {
				t.Fatalf("call %d is %+v, want %+v", read, got, r)
			}
			read++
		}
		if more = page.NextCursor != nil; more {
			q.Cursor = *page.NextCursor
		}
	}
	if read != len(want) {
		t.Errorf("the log has %d calls, want %d", read, len(want))
	}
	for name, c := range map[string]struct {
		query ledger.CallQuery
		keep  func(r plane.UsageRecord) bool
	}{
		"key":    {ledger.CallQuery{KeyID: want[0].KeyID}, func(r plane.UsageRecord) bool { return r.KeyID == want[0].KeyID }},
		"status": {ledger.CallQuery{StatusFrom: 400, StatusTo: 500}, func(r plane.UsageRecord) bool { return r.Status == 429 }},
		"model":  {ledger.CallQuery{Model: "Nova"}, func(plane.UsageRecord) bool { return false }},
		"time": {ledger.CallQuery{From: want[9].At, To: want[3].At}, func(r plane.UsageRecord) bool {
			return !r.At.Before(want[9].At) && r.At.Before(want[3].At)
		}},
	} {
		n := 0
		for _, r := range want {
			if c.keep(r) {
				n++
			}
		}
		c.query.AppID, c.query.Limit = app, len(want)
		page, err := l.AppCalls(t.Context(), c.query, f.now)
		if err != nil || len(page.Requests) != n || (n == 0) != (name == "model") {
			t.Errorf("by %s: %d calls, want %d; %v", name, len(page.Requests), n, err)
		}
	}
}

// TestTheLogOfBusyAppsHasFailedCallsFirst: what it has and what it says it has not are all calls.
func TestTheLogOfBusyAppsHasFailedCallsFirst(t *testing.T) {
	f := newFixture(t, false)
	records := traffic(rand.New(rand.NewPCG(1, 3)), ingest.CallsMax*3, 4, f.now)
	for i := range records {
		records[i].At = f.now.Add(-time.Duration(len(records)-i) * time.Millisecond)
	}
	if _, err := f.take(0, "i", encode(records)); err != nil {
		t.Fatal(err)
	}
	all, failed, apps := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for i := range records {
		r := &records[i]
		all[r.AppID]++
		if r.Status >= 400 || r.End == plane.EndUpstreamCut {
			failed[r.AppID]++
		}
		apps[r.AppID] = r.AppID != ""
	}
	l := &ledger.Ledger{Store: storetest.Open(t, f.url)}
	for app, has := range apps {
		if !has { // Darwin tokens have no log
			continue
		}
		page, err := l.AppCalls(t.Context(), ledger.CallQuery{AppID: app, Limit: ingest.CallsMax}, f.now)
		if err != nil {
			t.Fatal(err)
		}
		kept := int64(len(page.Requests))
		broke := f.number(`SELECT count(*) FROM usage_calls WHERE app_id = $1 AND (status >= 400 OR end_reason = 'upstream_cut')`, app)
		if kept != ingest.CallsMax/4 || kept+page.LeftOut != all[app] || broke != failed[app] {
			t.Errorf("app %s: %d calls and %d left out of %d, %d failed of %d", app, kept, page.LeftOut, all[app], broke, failed[app])
		}
	}
	if n := f.number(`SELECT count(*) FROM usage_calls WHERE app_id = $1`, "00000000-0000-0000-0000-000000000000"); n != 0 {
		t.Errorf("%d calls of no app are in the log", n)
	}
}

// firstAfter reports whether an entry says when the first event of a call came, or nothing where none did.
func firstAfter(ms *int64, ttft time.Duration) bool {
	if ttft == 0 {
		return ms == nil
	}
	return ms != nil && *ms == ttft.Milliseconds()
}
