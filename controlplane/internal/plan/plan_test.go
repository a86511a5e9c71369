package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

func TestTheTableOfTheSpecification(t *testing.T) {
	want := "free 100/day 30/min 10 at a time 2 apps; starter 2000/day 120/min 20 at a time 5 apps; " +
		"pro 10000/day 500/min 100 at a time 20 apps; enterprise 100000/day 5000/min 1000 at a time 0 apps"
	var got []string
	for _, p := range plan.All() {
		got = append(got, fmt.Sprintf("%s %d/day %d/min %d at a time %d apps", p.ID, p.CallsPerDay, p.PerMinute, p.InFlight, p.Apps))
		if p.TokensPerMinute != 0 {
			t.Errorf("%s has a limit of model tokens, which is for operators to set", p.ID)
		}
	}
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("got %s", s)
	}
}

func TestLimitsOfAKey(t *testing.T) {
	terms := plan.Terms{AccountID: "dev", Plan: plan.Starter}
	keyMinute := plane.Limit{Name: "key_per_minute", Bucket: "key/k/minute", Max: 120, Window: time.Minute}
	appMinute := plane.Limit{Name: "app_per_minute", Bucket: "app/a/minute", Max: 7, Window: time.Minute}
	accountDay := plane.Limit{Name: "account_per_day", Bucket: "account/dev/day", Max: 2000, Window: 24 * time.Hour, Daily: true}
	inFlight := plane.Limit{Name: "key_in_flight", Bucket: "key/k/in_flight", Max: 20}
	for kind, want := range map[key.Kind][]plane.Limit{
		key.Test:   {keyMinute, appMinute, inFlight},
		key.Live:   {keyMinute, appMinute, accountDay, inFlight},
		key.Darwin: {keyMinute, accountDay, inFlight},
	} {
		if got := terms.Limits(kind, "k", "a", 7); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

func TestAnOperatorsOverride(t *testing.T) {
	minute, day, atOnce, tokens := int64(1_000_000), int64(5), int64(3), int64(9000)
	terms := plan.Terms{Plan: plan.Free, PerMinute: &minute, PerDay: &day, InFlight: &atOnce, Tokens: &tokens}
	if terms.MinuteLimit() != minute || terms.DayLimit() != day || terms.InFlightLimit() != atOnce || terms.TokenLimit() != tokens {
		t.Errorf("got %+v", terms)
	}
	limits := terms.Limits(key.Test, "k", "a", 7)
	want := plane.Limit{Name: "key_tokens_per_minute", Bucket: "key/k/tokens", Max: tokens, Window: time.Minute}
	if last := limits[len(limits)-1]; last != want || limits[len(limits)-2].Max != atOnce {
		t.Errorf("got %v", limits)
	}
}

func TestNumberOfApps(t *testing.T) {
	for _, tt := range []struct {
		plan  string
		have  int64
		allow bool
	}{
		{plan.Free, 1, true},
		{plan.Free, 2, false},
		{plan.Starter, 4, true},
		{plan.Starter, 5, false},
		{plan.Pro, 20, false},
		{plan.Enterprise, 1_000_000, true},
		{"unheard of", 2, false},
	} {
		err := plan.Terms{Plan: tt.plan}.AllowApp(tt.have)
		if (err == nil) != tt.allow {
			t.Errorf("%s with %d: %v", tt.plan, tt.have, err)
		}
		if err != nil && apierr.From(err).Kind != apierr.Forbidden {
			t.Errorf("%s: %v is not a 403", tt.plan, err)
		}
	}
}
