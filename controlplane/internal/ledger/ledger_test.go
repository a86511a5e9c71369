package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// open returns a ledger, the store behind it and a connection to its database.
func open(t *testing.T) (*ledger.Ledger, *store.Store, *pgx.Conn) {
	t.Helper()
	url := testkit.Database(t)
	s := storetest.Open(t, url)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return &ledger.Ledger{Store: s}, s, db
}

// put stores rollups as ingest does.
func put(t *testing.T, s *store.Store, hours []ingest.Rollup) {
	t.Helper()
	d := ingest.Delta{Next: 2, Hours: hours}
	apps := map[uuid.UUID]int64{}
	days := map[ingest.RollupID]*ingest.Rollup{}
	for _, r := range hours {
		apps[r.App] += r.Calls
		id := r.RollupID
		id.Bucket -= id.Bucket % 86400
		if days[id] == nil {
			days[id] = &ingest.Rollup{RollupID: id}
		}
		days[id].Calls += r.Calls
		days[id].Errors += r.Errors
		days[id].TokensIn += r.TokensIn
		days[id].TokensOut += r.TokensOut
	}
	for app, calls := range apps {
		d.Apps = append(d.Apps, ingest.AppCalls{App: app, Calls: calls})
	}
	for _, r := range days {
		d.Days = append(d.Days, *r)
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
		u, err := l.Usage(t.Context(), app.String(), days, now)
		if err != nil {
			t.Fatal(err)
		}
		if u.Totals != want || u.Drift != 0 || len(u.Series) != points || u.Days != days {
			t.Errorf("seed %d, %d days: totals %+v, want %+v; %d points, want %d; drift %d", seed, days, u.Totals, want, len(u.Series), points, u.Drift)
		}
		var sums [5]wire.Counters
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
		}
		for i, sum := range sums {
			if sum != want {
				t.Errorf("seed %d, %d days: part %d adds up to %+v, want %+v", seed, days, i, sum, want)
			}
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
	u, err := l.Usage(t.Context(), uuid.NewString(), 2, now)
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
		if _, err := l.Usage(t.Context(), uuid.NewString(), days, now); apierr.From(err).Kind != apierr.Invalid {
			t.Errorf("%d days: %v", days, err)
		}
	}
}

// Drift shows rollups that were lost or changed behind ingest's back.
func TestDrift(t *testing.T) {
	l, s, db := open(t)
	app := uuid.New()
	id := ingest.RollupID{App: app, Bucket: now.Truncate(time.Hour).Unix(), Key: uuid.New(), Account: uuid.New(), Model: "Darwin", Status: 200}
	put(t, s, []ingest.Rollup{{RollupID: id, Calls: 10}})
	put(t, s, []ingest.Rollup{{RollupID: id, Calls: 5}}) // another node
	for sql, want := range map[string]int64{"calls = 13": 2, "calls = 16": -1, "calls = 15": 0} {
		if _, err := db.Exec(t.Context(), "UPDATE usage_day SET "+sql+" WHERE app_id = $1", app); err != nil {
			t.Fatal(err)
		}
		if u, err := l.Usage(t.Context(), app.String(), 30, now); err != nil || u.Drift != want {
			t.Errorf("%s: drift %d, want %d; %v", sql, u.Drift, want, err)
		}
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
