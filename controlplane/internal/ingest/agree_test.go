package ingest_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// TestAllNumbersAgree holds everything that is told of usage against the records that a node sent and against each other: the
// usage of each app, by each unit and zone, that of the account, the day's use that limits and quotas go by, and the drift.
func TestAllNumbersAgree(t *testing.T) {
	f := newFixture(t, true)
	seed := rand.Uint64()
	records := traffic(rand.New(rand.NewPCG(seed, 1)), 900, 4, f.now)
	account := records[0].AccountID
	var (
		total wire.Counters
		apps  = map[string]wire.Counters{}
		quota int64
		ends  = map[string]int64{}
	)
	for i := range records { // of one account, and all of today for any zone that is asked for
		r := &records[i]
		r.AccountID, r.At = account, f.now.Add(-time.Duration(i)*time.Second)
		c := wire.Counters{Calls: 1, TokensIn: r.TokensIn, TokensOut: r.TokensOut}
		if r.Status >= 400 || r.End == plane.EndUpstreamCut || r.End == plane.EndNodeCrash {
			c.Errors = 1
		}
		total, apps[r.AppID] = plus(total, c), plus(apps[r.AppID], c)
		ends[r.End]++
		if !r.Sandbox && r.End != plane.EndRefused && r.End != plane.EndFailed {
			quota++
		}
	}
	for from := 0; from < len(records); from += 250 { // overlapping
		if _, err := f.take(from/250%2, "i", encode(records[max(0, from-40):min(len(records), from+250)])); err != nil {
			t.Fatal(err)
		}
	}
	l := &ledger.Ledger{Store: storetest.Open(t, f.url)}
	for _, q := range []ledger.Question{
		{Days: 1},
		{Days: 1, Unit: ledger.Minute},
		{Days: 30},
		{Days: 3, Unit: ledger.Minute, Zone: "Asia/Tokyo"},
		{Days: 400, Zone: "Europe/Berlin"},
		{Days: 90, Unit: ledger.Hour},
	} {
		all, err := l.AccountUsage(t.Context(), account, q, f.now)
		if err != nil {
			t.Fatal(err)
		}
		if all.Totals != total || all.Drift != 0 || len(all.ByApp) != len(apps) {
			t.Errorf("seed %d, %+v: the account has %+v, want %+v; drift %d", seed, q, all.Totals, total, all.Drift)
		}
		got := map[string]int64{}
		for _, s := range all.ByStatus {
			for end, n := range s.Ends {
				got[end] += n
			}
		}
		for end, n := range ends {
			if got[end] != n {
				t.Errorf("seed %d, %+v: %d calls ended with %s, want %d", seed, q, got[end], end, n)
			}
		}
		for _, group := range all.ByApp {
			if group.Counters != apps[group.AppID] {
				t.Errorf("seed %d, %+v: in the account app %q has %+v, want %+v", seed, q, group.AppID, group.Counters, apps[group.AppID])
			}
			if group.AppID == "" { // Darwin tokens have no page of their own
				continue
			}
			u, err := l.AppUsage(t.Context(), group.AppID, q, f.now)
			if err != nil || u.Totals != group.Counters || u.Drift != 0 || u.Latency != group.Latency {
				t.Errorf("seed %d, %+v: app %s has %+v, in the account %+v; drift %d; %v", seed, q, group.AppID, u.Totals, group, u.Drift, err)
			}
		}
	}
	if used, err := l.DayUsed(t.Context(), account, f.now); err != nil || used != quota {
		t.Errorf("seed %d: %d calls of the day's quota are used, want %d; %v", seed, used, quota, err)
	}
}

func plus(a, b wire.Counters) wire.Counters {
	return wire.Counters{Calls: a.Calls + b.Calls, Errors: a.Errors + b.Errors, TokensIn: a.TokensIn + b.TokensIn, TokensOut: a.TokensOut + b.TokensOut}
}
