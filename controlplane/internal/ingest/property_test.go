package ingest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/sketch"
	"modelgate.internal/shared/plane"
)

// TestEveryRecordCountsOnce sends the records of several nodes in pieces that are doubled, overlapping, out of order and with
// gaps, to two replicas at once, from two senders for each node. Whatever arrives when, every record counts exactly once.
func TestEveryRecordCountsOnce(t *testing.T) {
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			deliver(t, seed)
		})
	}
}

func deliver(t *testing.T, seed uint64) {
	const nodes, each = 2, 300
	f := newFixture(t, true)
	var (
		senders sync.WaitGroup
		all     []plane.UsageRecord
	)
	dice := rand.New(rand.NewPCG(seed, 1))
	f.replicas[0].PartRows = 20 // the other one takes every upload in one part
	for n := range nodes {
		// The same apps on all nodes, so that their transactions collide; each node has records of its own.
		records := traffic(rand.New(rand.NewPCG(seed, 2)), each+n, 3, f.now)
		all = append(all, records...)
		incarnation := fmt.Sprintf("inc-%d", n)
		for s := range 2 {
			mine := rand.New(rand.NewPCG(seed, dice.Uint64()))
			senders.Go(func() { send(t, f, incarnation, records, mine, s) })
		}
	}
	senders.Wait()
	check(t, f, seed, all)
	checkEdges(t, f, all)
	if got := f.counter("modelgate_usage_records_total", "applied"); got != float64(len(all)) {
		t.Errorf("seed %d: %v records applied by the counters, not %d", seed, got, len(all))
	}
	if f.counter("modelgate_usage_segments_total", "duplicate") == 0 || f.counter("modelgate_usage_segments_total", "gap") == 0 {
		t.Errorf("seed %d: no duplicates or no gaps were tried", seed)
	}
}

// send delivers random pieces until everything is acknowledged, minding no answer but the last.
func send(t *testing.T, f *fixture, incarnation string, records []plane.UsageRecord, dice *rand.Rand, sender int) {
	acked := 0
	for i := 0; acked < len(records); i++ {
		from := max(0, min(len(records)-1, acked-20+dice.IntN(30)))
		to := min(len(records), from+1+dice.IntN(60))
		seq, err := f.take((i+sender)%2, incarnation, encode(records[from:to]))
		if gap, ok := errors.AsType[*ingest.GapError](err); ok {
			if gap.Expected != gap.Stored+1 || gap.Got != uint64(from+1) || gap.Got <= gap.Expected {
				t.Errorf("gap %+v for records from %d", gap, from+1)
			}
			seq = gap.Stored
		} else if err != nil {
			t.Errorf("take: %v", err)
			return
		} else if seq < uint64(to) {
			t.Errorf("acknowledged %d of records up to %d", seq, to)
		}
		acked = max(acked, int(seq))
	}
}

// check compares every table with the plain sum over the records.
func check(t *testing.T, f *fixture, seed uint64, all []plane.UsageRecord) {
	t.Helper()
	var calls, failures, in, out, quota int64
	apps, days := map[string]int64{}, map[string]int64{}
	for _, r := range all {
		calls++
		in += r.TokensIn
		out += r.TokensOut
		if r.Status >= 400 || r.End == plane.EndUpstreamCut || r.End == plane.EndNodeCrash {
			failures++
		}
		if !r.Sandbox && r.Status != 429 && r.Status != 502 {
			quota++
			days[r.AccountID+r.At.Format(time.DateOnly)]++
		}
		apps[r.AppID]++
	}
	for _, table := range []string{"usage_minute", "usage_hour", "usage_day"} {
		for column, want := range map[string]int64{"calls": calls, "errors": failures, "tokens_in": in, "tokens_out": out} {
			if got := f.number("SELECT COALESCE(sum(" + column + "), 0)::INT8 FROM " + table); got != want {
				t.Errorf("seed %d: %s.%s adds up to %d, want %d", seed, table, column, got, want)
			}
		}
	}
	if got := f.number("SELECT COALESCE(sum(calls), 0)::INT8 FROM usage_account_day"); got != quota {
		t.Errorf("seed %d: %d calls count against quotas, want %d", seed, got, quota)
	}
	if got := f.number("SELECT count(*) FROM usage_account_day"); got != int64(len(days)) {
		t.Errorf("seed %d: %d account days, want %d", seed, got, len(days))
	}
	checkSketches(t, f, seed, all)
	for table, unit := range map[string]int{"usage_minute": 60, "usage_hour": 3600, "usage_day": 86400} {
		if n := f.number("SELECT count(*) FROM "+table+" WHERE extract(epoch FROM bucket)::INT8 % $1 <> 0", unit); n != 0 {
			t.Errorf("seed %d: %d buckets of %s do not begin where they should", seed, n, table)
		}
	}
	if n := f.number(`SELECT count(*) FROM usage_day AS d WHERE d.calls <> (SELECT sum(h.calls) FROM usage_hour AS h
		WHERE (h.app_id, h.key_id, h.account_id, h.model, h.task, h.status, h.source, h.end_reason) = (d.app_id, d.key_id, d.account_id, d.model, d.task, d.status, d.source, d.end_reason)
		AND h.bucket >= d.bucket AND h.bucket < d.bucket + INTERVAL '24 hours')`); n != 0 {
		t.Errorf("seed %d: %d days differ from their hours", seed, n)
	}
	for app, want := range apps {
		if app == "" {
			app = "00000000-0000-0000-0000-000000000000"
		}
		if got := f.number("SELECT sum(calls)::INT8 FROM usage_day WHERE app_id = $1", app); got != want {
			t.Errorf("seed %d: app %s has %d calls, want %d", seed, app, got, want)
		}
	}
}

// checkSketches: every answer that was sent whole is in the sketches of each table once.
func checkSketches(t *testing.T, f *fixture, seed uint64, all []plane.UsageRecord) {
	t.Helper()
	var want sketch.Sketch
	for _, r := range all {
		if r.End == plane.EndDone && r.Status < 400 {
			want.Add(r.Took)
		}
	}
	for _, table := range []string{"usage_minute", "usage_hour", "usage_day"} {
		var (
			stored []byte
			got    sketch.Sketch
		)
		if err := f.db.QueryRow(t.Context(), "SELECT string_agg(took, ''::BYTEA) FROM "+table).Scan(&stored); err != nil {
			t.Fatal(err)
		}
		if err := got.Decode(stored); err != nil || !slices.Equal(got, want) {
			t.Errorf("seed %d: durations of %s are %v, want %v; %v", seed, table, got, want, err)
		}
	}
}

// checkEdges: what the nodes stated is kept once, whatever was sent again and in which pieces.
func checkEdges(t *testing.T, f *fixture, all []plane.UsageRecord) {
	t.Helper()
	var calls, in, out int64
	for _, r := range all {
		calls++
		in += r.TokensIn
		out += r.TokensOut
	}
	for column, want := range map[string]int64{"calls": calls, "tokens_in": in, "tokens_out": out} {
		if got := f.number("SELECT COALESCE(sum(" + column + "), 0)::INT8 FROM usage_edge_day"); got != want {
			t.Errorf("the nodes stated %s of %d, want %d", column, got, want)
		}
	}
}
