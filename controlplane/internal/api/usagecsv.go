package api

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/shared/wire"
)

const mediaCSV = "text/csv"

func wantsCSV(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Add("Vary", "Accept")
	return prefer(strings.Join(r.Header.Values("Accept"), ","), "application/json", mediaCSV) == mediaCSV
}

// writeUsageCSV answers with one row for the total, each point and each entry of the lists. Percentiles are empty where there was
// nothing to tell them of.
func writeUsageCSV(w http.ResponseWriter, u wire.Usage, apps []wire.AppGroup) error {
	t := usageTable{rows: [][]string{{
		"part", "name", "calls", "errors", "tokens_in", "tokens_out", "ttft_p50_ms", "ttft_p95_ms", "took_p50_ms", "took_p95_ms",
	}}}
	t.add("total", "", u.Totals, u.Latency)
	for _, p := range u.Series {
		t.add("time", p.At.Format(time.RFC3339), p.Counters, p.Latency)
	}
	for _, p := range apps {
		t.add("app", p.AppID, p.Counters, p.Latency)
	}
	for _, p := range u.ByKey {
		t.add("key", p.KeyID, p.Counters, p.Latency)
	}
	for _, p := range u.ByModel {
		t.add("model", p.Model, p.Counters, p.Latency)
	}
	for _, p := range u.ByTask {
		t.add("task", p.Task, p.Counters, p.Latency)
	}
	for _, p := range u.ByStatus {
		t.add("status", strconv.Itoa(p.Status), p.Counters, p.Latency)
	}
	for _, p := range u.BySource {
		t.add("source", p.Source, p.Counters, wire.Latency{})
	}
	var body bytes.Buffer
	if err := csv.NewWriter(&body).WriteAll(t.rows); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", mediaCSV+"; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Write(body.Bytes()) //nolint:errcheck // the client has gone
	return nil
}

type usageTable struct{ rows [][]string }

func (t *usageTable) add(part, name string, c wire.Counters, l wire.Latency) {
	row := []string{part, noFormula(name)}
	for _, n := range []int64{c.Calls, c.Errors, c.TokensIn, c.TokensOut} {
		row = append(row, strconv.FormatInt(n, 10))
	}
	for _, p := range []wire.Percentiles{l.TTFT, l.Took} {
		if p.Calls == 0 {
			row = append(row, "", "")
			continue
		}
		row = append(row, strconv.FormatInt(p.P50, 10), strconv.FormatInt(p.P95, 10))
	}
	t.rows = append(t.rows, row)
}
