package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/sketch"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// open returns a ledger, the store behind it and a connection to its database.
func open(t *testing.T) (*ledger.Ledger, *store.Store, *pgx.Conn) {
	t.Helper()
	url := storetest.Database(t)
	s := storetest.Open(t, url)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return &ledger.Ledger{Store: s}, s, db
}

// put stores rollups as ingest does: what it gives by the hour also by the minute and the day.
func put(t *testing.T, s *store.Store, hours []ingest.Rollup) {
	t.Helper()
	d := ingest.Delta{Next: 2, Minutes: hours, Hours: hours}
	days := map[ingest.RollupID]*ingest.Rollup{}
	edges := map[ingest.EdgeID]*ingest.EdgeDay{}
	for _, r := range hours {
		id := r.RollupID
		id.Bucket -= id.Bucket % 86400
		if days[id] == nil {
			days[id] = &ingest.Rollup{RollupID: id}
		}
		days[id].Calls += r.Calls
		days[id].Errors += r.Errors
		days[id].TokensIn += r.TokensIn
		days[id].TokensOut += r.TokensOut
		days[id].Took.Merge(r.Took)
		edge := ingest.EdgeID{App: id.App, Bucket: id.Bucket, Key: id.Key, Account: id.Account}
		if edges[edge] == nil {
			edges[edge] = &ingest.EdgeDay{EdgeID: edge}
		}
		edges[edge].Calls += r.Calls
		edges[edge].TokensIn += r.TokensIn
		edges[edge].TokensOut += r.TokensOut
	}
	for _, r := range days {
		d.Days = append(d.Days, *r)
	}
	for _, e := range edges {
		d.Edges = append(d.Edges, *e)
	}
	if _, err := s.ApplyUsage(t.Context(), uuid.NewString(), "i", now, func(uint64) (*ingest.Delta, error) { return &d, nil }); err != nil {
		t.Fatal(err)
	}
}

func TestUsageAddsUp(t *testing.T) {
	l, s, _ := open(t)
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 1))
	app, other := uuid.New(), uuid.New()
	keys := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	hour := now.Truncate(time.Hour)
	rollups := map[ingest.RollupID]ingest.Rollup{}
	for range 400 {
		r := ingest.Rollup{
			RollupID: ingest.RollupID{
				App: []uuid.UUID{app, app, app, other}[dice.IntN(4)], Bucket: hour.Add(-time.Duration(dice.IntN(24*40)) * time.Hour).Unix(),
				Key: keys[dice.IntN(3)], Account: uuid.Nil, Model: []string{"Darwin", "Nova", ""}[dice.IntN(3)],
				Task: []string{"chat", "code"}[dice.IntN(2)], Status: []int{200, 429, 502}[dice.IntN(3)], Source: "provider",
				End: []string{"done", "failed"}[dice.IntN(2)],
			},
			Calls: 1 + dice.Int64N(100), Errors: dice.Int64N(2), TokensIn: dice.Int64N(1000), TokensOut: dice.Int64N(1000),
		}
		rollups[r.RollupID] = r
	}
	var list []ingest.Rollup
	for _, r := range rollups {
		list = append(list, r)
	}
	put(t, s, list)
	for days, points := range map[int]int{1: 16, 2: 40, 3: 64, 4: 4, 30: 30, 400: 400} {
		var want wire.Counters
		from := now.Truncate(24*time.Hour).AddDate(0, 0, 1-days).Unix()
		for _, r := range list {
			if r.App == app && r.Bucket >= from {
				add(&want, wire.Counters{Calls: r.Calls, Errors: r.Errors, TokensIn: r.TokensIn, TokensOut: r.TokensOut})
			}
		}
		u, err := l.AppUsage(t.Context(), app.String(), ledger.Question{Days: days}, now)
		if err != nil {
			t.Fatal(err)
		}
		if u.Totals != want || u.Drift != 0 || len(u.Series) != points || u.Days != days {
			t.Errorf("seed %d, %d days: totals %+v, want %+v; %d points, want %d; drift %d", seed, days, u.Totals, want, len(u.Series), points, u.Drift)
		}
		var sums [6]wire.Counters
		for i, p := range u.Series {
			add(&sums[0], p.Counters)
			if i > 0 && !p.At.After(u.Series[i-1].At) {
				t.Errorf("points out of order: %s after %s", p.At, u.Series[i-1].At)
			}
		}
		for _, p := range u.ByKey {
			add(&sums[1], p.Counters)
		}
		for _, p := range u.ByModel {
			add(&sums[2], p.Counters)
		}
		for _, p := range u.ByTask {
			add(&sums[3], p.Counters)
		}
		for _, p := range u.ByStatus {
			add(&sums[4], p.Counters)
			if p.Ends["done"]+p.Ends["failed"] != p.Calls {
				t.Errorf("seed %d: the ends of %d calls with status %d are %v", seed, p.Calls, p.Status, p.Ends)
			}
		}
		for _, p := range u.BySource {
			add(&sums[5], p.Counters)
		}
		for i, sum := range sums {
			if sum != want {
				t.Errorf("seed %d, %d days: part %d adds up to %+v, want %+v", seed, days, i, sum, want)
			}
		}
	}
}

// Points and lists are read from rollups of different lengths when days begin elsewhere or are cut into hours.
func TestHoursAndDaysAddUpToTheSame(t *testing.T) {
	l, s, _ := open(t)
	app, account, key := uuid.New(), uuid.New(), uuid.New()
	hour := now.Truncate(time.Hour)
	var list []ingest.Rollup
	for age := range 24 * 33 {
		var took sketch.Sketch
		took.Add(time.Duration(1+age) * time.Second)
		list = append(list, ingest.Rollup{
			RollupID: ingest.RollupID{App: app, Account: account, Key: key, Bucket: hour.Add(time.Duration(2-age) * time.Hour).Unix(), Status: 200},
			Calls:    int64(1 + age), TokensIn: int64(age), Took: took,
		})
	}
	put(t, s, list)
	for _, q := range []ledger.Question{
		{Days: 1, Unit: ledger.Hour},
		{Days: 30, Unit: ledger.Hour},
		{Days: 30, Unit: ledger.Hour, Zone: "America/New_York"},
		{Days: 30, Unit: ledger.Day, Zone: "America/New_York"}, // the clock is put forward within
		{Days: 30, Unit: ledger.Day, Zone: "Asia/Tokyo"},
		{Days: 1, Unit: ledger.Day, Zone: "Asia/Tokyo"},
		{Days: 2, Unit: ledger.Day, Zone: "Pacific/Kiritimati"},
	} {
		u, err := l.AppUsage(t.Context(), app.String(), q, now)
		if err != nil {
			t.Fatal(err)
		}
		var want, points wire.Counters
		var took int64
		for _, p := range u.Series {
			add(&points, p.Counters)
		}
		for _, r := range list { // two of them are ahead of the clock, which the last point has
			if !time.Unix(r.Bucket, 0).Before(u.Series[0].At) {
				add(&want, wire.Counters{Calls: r.Calls, TokensIn: r.TokensIn})
				took++
			}
		}
		if u.Totals != want || points != want || len(u.ByKey) != 1 || u.ByKey[0].Counters != want || u.Took.Calls != took || u.ByKey[0].Took != u.Took {
			t.Errorf("%+v: totals %+v with %+v, by key %+v, want %+v with %d durations", q, u.Totals, u.Took, u.ByKey, want, took)
		}
		all, err := l.AccountUsage(t.Context(), account.String(), q, now)
		if err != nil || all.Totals != want || len(all.ByApp) != 1 || all.ByApp[0].Counters != want || fmt.Sprint(all.Series) != fmt.Sprint(u.Series) {
			t.Errorf("%+v: of the account %+v by app %+v, want %+v; %v", q, all.Totals, all.ByApp, want, err)
		}
	}
}

func add(sum *wire.Counters, c wire.Counters) {
	sum.Calls += c.Calls
	sum.Errors += c.Errors
	sum.TokensIn += c.TokensIn
	sum.TokensOut += c.TokensOut
}

func TestAnAppWithoutUsage(t *testing.T) {
	l, _, _ := open(t)
	u, err := l.AppUsage(t.Context(), uuid.NewString(), ledger.Question{Days: 2}, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Series) != 40 || !u.Series[0].At.Equal(time.Date(2026, 3, 13, 0, 0, 0, 0, time.UTC)) || !u.Series[39].At.Equal(now.Truncate(time.Hour)) {
		t.Errorf("series %v", u.Series)
	}
	text, err := json.Marshal(u)
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s, %v", text, err)
	}
	for _, days := range []int{-1, 0, 401} {
		if _, err := l.AppUsage(t.Context(), uuid.NewString(), ledger.Question{Days: days}, now); apierr.From(err).Kind != apierr.Invalid {
			t.Errorf("%d days: %v", days, err)
		}
	}
}

// Drift shows rollups that were lost or changed behind ingest's back, in the answers, in the closing of the day and in the
// metric. Two differences do not hide each other.
func TestDriftIsFound(t *testing.T) {
	l, s, db := open(t)
	app, account, keys := uuid.New(), uuid.New(), []uuid.UUID{uuid.New(), uuid.New()}
	for i, calls := range []int64{10, 5, 7} { // of two nodes and two keys
		put(t, s, []ingest.Rollup{{RollupID: ingest.RollupID{
			App: app, Bucket: now.Truncate(time.Hour).Unix(), Key: keys[i%2], Account: account, Model: "Darwin", Status: 200,
		}, Calls: calls, TokensIn: 100, TokensOut: 50}})
	}
	reg := prometheus.NewRegistry()
	closer, err := ledger.NewCloser(s, slog.New(slog.DiscardHandler), func() time.Time { return now }, reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		sql  string
		want int64
	}{
		{"SELECT $1::UUID", 0},
		{"UPDATE usage_day SET calls = calls - 1 WHERE key_id = $1", 1},
		{"UPDATE usage_day SET calls = calls + 1 WHERE key_id <> $1", 2},
		{"UPDATE usage_day SET tokens_out = tokens_out + 3 WHERE key_id = $1", 5},
		{"DELETE FROM usage_day WHERE key_id = $1", 17 + 200 + 100 + 1},
		{"DELETE FROM usage_edge_day WHERE key_id = $1", 1},
	} {
		if _, err := db.Exec(t.Context(), step.sql, keys[0]); err != nil {
			t.Fatal(err)
		}
		if err := closer.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		u, err := l.AppUsage(t.Context(), app.String(), ledger.Question{Days: 30}, now)
		if err != nil {
			t.Fatal(err)
		}
		all, err := l.AccountUsage(t.Context(), account.String(), ledger.Question{Days: 1}, now)
		if err != nil || u.Drift != step.want || all.Drift != step.want || gauge(t, reg, "modelgate_usage_drift") != float64(step.want) {
			t.Errorf("%s: drift %d of the app, %d of the account, %v in the metric, want %d; %v",
				step.sql, u.Drift, all.Drift, gauge(t, reg, "modelgate_usage_drift"), step.want, err)
		}
	}
	if at := gauge(t, reg, "modelgate_usage_closed_timestamp_seconds"); at != float64(now.Unix()) {
		t.Errorf("closed at %v", at)
	}
}

func gauge(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestOldRollupsAreDeletedByOneReplica(t *testing.T) {
	_, s, db := open(t)
	app := uuid.New()
	var list []ingest.Rollup
	for _, age := range []time.Duration{0, ingest.MinutesKept - time.Hour, ingest.MinutesKept + time.Hour, ingest.HoursKept - time.Hour, ingest.HoursKept + 12*time.Hour} {
		list = append(list, ingest.Rollup{RollupID: ingest.RollupID{App: app, Bucket: now.Add(-age).Truncate(time.Hour).Unix(), Status: 200}, Calls: 1})
	}
	put(t, s, list)
	if _, err := db.Exec(t.Context(), `
		INSERT INTO usage_calls (app_id, at, id, key_id, endpoint, task, model, status, end_reason, source, ttft_us, took_us, tokens_in, tokens_out)
		SELECT $1::UUID, $2::TIMESTAMPTZ - i * INTERVAL '1 hour', i::TEXT, $1, '', '', '', 200, '', '', 0, 0, 0, 0 FROM generate_series(1, 100) AS i`, app, now); err != nil {
		t.Fatal(err)
	}
	const days = int64(3)                // two and two of the hours are of one day
	for i, want := range []int64{2, 2} { // the second replica has no lease and nothing to do
		c, err := ledger.NewCloser(s, slog.New(slog.DiscardHandler), func() time.Time { return now }, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		for table, want := range map[string]int64{"usage_minute": want, "usage_hour": 4, "usage_app_hour": 4, "usage_day": days, "usage_calls": 72} {
			var n int64
			if err := db.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != want {
				t.Errorf("round %d: %d rows of %s, want %d; %v", i, n, table, want, err)
			}
		}
	}
}

// Points are cut by the days of the zone, and there are never too many.
func TestPoints(t *testing.T) {
	l, s, _ := open(t)
	app := uuid.New()
	at := func(h, m int) int64 { return time.Date(2026, 3, 14, h, m, 0, 0, time.UTC).Unix() }
	var took sketch.Sketch
	took.Add(300 * time.Millisecond)
	for _, bucket := range []int64{at(0, 0), at(3, 0), at(4, 0), at(14, 0), at(15, 0)} {
		put(t, s, []ingest.Rollup{{RollupID: ingest.RollupID{App: app, Bucket: bucket, Status: 200}, Calls: 1, Took: took}})
	}
	for _, tt := range []struct {
		q      ledger.Question
		points int
		step   int64
		calls  []int64 // of the last points
	}{
		{ledger.Question{Days: 2, Unit: ledger.Day}, 2, 86400, []int64{0, 5}},
		{ledger.Question{Days: 2, Unit: ledger.Day, Zone: "America/New_York"}, 2, 86400, []int64{2, 3}}, // midnight is at 04:00 UTC
		{ledger.Question{Days: 1, Unit: ledger.Hour, Zone: "America/New_York"}, 12, 3600, []int64{1, 1}},
		{ledger.Question{Days: 2, Unit: ledger.Day, Zone: "Asia/Tokyo"}, 2, 86400, []int64{4, 1}}, // midnight was at 15:00 UTC
		{ledger.Question{Days: 3, Unit: ledger.Minute}, 379, 600, []int64{1}},
		{ledger.Question{Days: 1, Unit: ledger.Minute, Zone: "Asia/Tokyo"}, 10, 60, []int64{0}},
		{ledger.Question{Days: 90, Unit: ledger.Hour}, 359, 6 * 3600, []int64{2}},
		{ledger.Question{Days: 400, Unit: ledger.Day, Zone: "Asia/Kolkata"}, 400, 86400, []int64{5}},
	} {
		u, err := l.AppUsage(t.Context(), app.String(), tt.q, now)
		if err != nil {
			t.Errorf("%+v: %v", tt.q, err)
			continue
		}
		var calls []int64
		for _, p := range u.Series[len(u.Series)-len(tt.calls):] {
			calls = append(calls, p.Calls)
		}
		if len(u.Series) != tt.points || u.StepSeconds != tt.step || !slices.Equal(calls, tt.calls) {
			t.Errorf("%+v: %d points of %d s ending in %v, want %d of %d ending in %v", tt.q, len(u.Series), u.StepSeconds, calls, tt.points, tt.step, tt.calls)
		}
		if u.Took.P95 < 294 || u.Took.P95 > 306 || u.TTFT.Calls != 0 {
			t.Errorf("%+v: took %+v, ttft %+v", tt.q, u.Took, u.TTFT)
		}
	}
	for _, q := range []ledger.Question{
		{Days: 4, Unit: ledger.Minute},
		{Days: 91, Unit: ledger.Hour},
		{Days: 1, Unit: "week"},
		{Days: 1, Zone: "Local"},
		{Days: 1, Zone: "Mars/Phobos"},
		{Days: 1, Zone: "../etc"},
	} {
		if _, err := l.AppUsage(t.Context(), app.String(), q, now); apierr.From(err).Kind != apierr.Invalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// The clock is changed twice a year; no point is lost or doubled then.
func TestDaysOfOtherLengths(t *testing.T) {
	l, _, _ := open(t)
	for _, tt := range []struct {
		now    time.Time
		points int
	}{
		{time.Date(2026, 3, 29, 23, 30, 0, 0, time.UTC), 24}, // the 30th begins at 22:00 UTC
		{time.Date(2026, 3, 29, 21, 30, 0, 0, time.UTC), 47}, // 24 + 23
		{time.Date(2026, 10, 25, 22, 30, 0, 0, time.UTC), 49},
	} {
		u, err := l.AppUsage(t.Context(), uuid.NewString(), ledger.Question{Days: 2, Unit: ledger.Hour, Zone: "Europe/Berlin"}, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range u.Series[1:] {
			if p.At.Sub(u.Series[i].At) != time.Hour {
				t.Errorf("%s: %s follows %s", tt.now, p.At, u.Series[i].At)
			}
		}
		if tt.points > 24 && len(u.Series) != tt.points {
			t.Errorf("%s: %d points, want %d", tt.now, len(u.Series), tt.points)
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	l, s, _ := open(t)
	account := uuid.New()
	var list []ingest.Rollup
	for i := range int64(ledger.GroupsMax + 20) {
		list = append(list, ingest.Rollup{RollupID: ingest.RollupID{
			App: uuid.New(), Bucket: now.Truncate(time.Hour).Unix(), Key: uuid.New(), Account: account, Status: 200,
		}, Calls: 1 + i})
	}
	put(t, s, list)
	u, err := l.AccountUsage(t.Context(), account.String(), ledger.Question{Days: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	var apps, keys int64
	for _, p := range u.ByApp {
		apps += p.Calls
	}
	for _, p := range u.ByKey {
		keys += p.Calls
	}
	last := u.ByApp[len(u.ByApp)-1]
	if len(u.ByApp) != ledger.GroupsMax+1 || last.AppID != ledger.Other || last.Calls != 210 || apps != u.Totals.Calls || keys != apps || u.Drift != 0 {
		t.Errorf("%d apps with %d calls of %d, the last %+v; drift %d", len(u.ByApp), apps, u.Totals.Calls, last, u.Drift)
	}
}

func TestDayUsed(t *testing.T) {
	l, s, _ := open(t)
	account := uuid.New()
	midnight := now.Truncate(24 * time.Hour)
	for i, at := range []time.Time{midnight.AddDate(0, 0, -1), midnight, midnight} {
		d := ingest.Delta{Next: 2, Accounts: []ingest.AccountDay{{Account: account, Day: at.Unix(), Calls: int64(10 + i)}}}
		if _, err := s.ApplyUsage(t.Context(), uuid.NewString(), "i", now, func(uint64) (*ingest.Delta, error) { return &d, nil }); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := time.FixedZone("UTC+14", 14*3600)
	for at, want := range map[time.Time]int64{
		now: 23, midnight: 23, midnight.Add(-time.Nanosecond): 10, midnight.AddDate(0, 0, 1): 0, now.In(elsewhere): 23,
	} {
		if got, err := l.DayUsed(t.Context(), account.String(), at); err != nil || got != want {
			t.Errorf("%s: %d, want %d; %v", at, got, want, err)
		}
	}
	if got, err := l.DayUsed(t.Context(), uuid.NewString(), now); err != nil || got != 0 {
		t.Error(fmt.Sprint(got, err))
	}
}
