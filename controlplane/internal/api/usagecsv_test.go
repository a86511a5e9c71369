package api

import (
	"encoding/csv"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"modelgate.internal/shared/wire"
)

func TestUsageAsCSV(t *testing.T) {
	c := wire.Counters{Calls: 3, Errors: 1, TokensIn: 20, TokensOut: 40}
	took := wire.Latency{Took: wire.Percentiles{Calls: 2, P50: 210, P95: 510}}
	u := wire.Usage{
		Totals: c, Latency: took, Series: []wire.UsagePoint{{At: time.Date(2026, 3, 14, 0, 0, 0, 0, time.FixedZone("", 3600)), Counters: c}},
		ByKey: []wire.KeyUsage{{KeyID: "key-1", Counters: c}}, ByModel: []wire.ModelUsage{{Model: "=HYPERLINK(\"x\")", Counters: c}},
		ByTask: []wire.TaskUsage{{Task: "a,b", Counters: c}}, ByStatus: []wire.StatusUsage{{Status: 200, Counters: c}},
		BySource: []wire.SourceUsage{{Source: "provider", Counters: c}},
	}
	w := httptest.NewRecorder()
	if err := writeUsageCSV(w, u, []wire.AppGroup{{AppID: "app-1", Counters: c}}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"total", ""},
		{"time", "2026-03-14T00:00:00+01:00"},
		{"app", "app-1"},
		{"key", "key-1"},
		{"model", "'=HYPERLINK(\"x\")"},
		{"task", "a,b"},
		{"status", "200"},
		{"source", "provider"},
	}
	if len(rows) != len(want)+1 || !slices.Equal(rows[1], []string{"total", "", "3", "1", "20", "40", "", "", "210", "510"}) {
		t.Fatalf("%q", rows)
	}
	for i, row := range rows[1:] {
		if row[0] != want[i][0] || row[1] != want[i][1] || row[2] != "3" || row[5] != "40" {
			t.Errorf("row %d: %q, want %q", i, row, want[i])
		}
	}
}
