package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string, now func() time.Time) *limit.Limiter {
	t.Helper()
	l, err := limit.Open(limit.Options{DataDir: dir, Now: now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs the limiter until stop is called; stop waits for the last write.
func run(t testing.TB, l *limit.Limiter) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func fixed(at time.Time) func() time.Time { return func() time.Time { return at } }

func perMinute(name, bucket string, n int64) plane.Limit {
	return plane.Limit{Name: name, Bucket: bucket, Max: n, Window: time.Minute}
}

func perDay(bucket string, n int64) plane.Limit {
	return plane.Limit{Name: plane.LimitAccountDay, Bucket: bucket, Max: n, Window: 24 * time.Hour, Daily: true}
}

func admit(l *limit.Limiter, cells []*limit.Cell, at time.Time) (limit.Verdict, error) {
	return l.Admit(context.Background(), cells, at)
}

func TestRefusalSaysWhichLimitAndWhenItFrees(t *testing.T) {
	for _, c := range []struct {
		limit plane.Limit
		want  string
	}{
		{perMinute(plane.LimitKeyMinute, "key/1/minute", 3), "Rate limit reached: this key may make 3 calls per minute. The next call is possible in 61 s."},
		{perMinute(plane.LimitAppMinute, "app/1/minute", 3), "Rate limit reached: this app may make 3 calls per minute. The next call is possible in 61 s."},
		{perDay("account/1/day", 3), "Rate limit reached: this account may make 3 calls per UTC day. The count starts anew at 00:00 UTC, in 12h0m0s."},
		{plane.Limit{Name: "burst", Bucket: "key/1/burst", Max: 3, Window: 10 * time.Second}, "Rate limit reached: this key may make 3 calls in any 10s. The next call is possible in 11 s."},
	} {
		l := open(t, t.TempDir(), fixed(noon))
		cells := l.Cells([]plane.Limit{c.limit})
		for i := range int64(3) {
			v, err := admit(l, cells, noon)
			if err != nil || v.Name != c.limit.Name || v.Limit != 3 || v.Remaining != 2-i || v.Mode != limit.ModeNode {
				t.Fatalf("%s: call %d: %+v, %v", c.limit.Name, i, v, err)
			}
		}
		v, err := admit(l, cells, noon)
		var refused *apierr.Error
		if !errors.As(err, &refused) || refused.Kind != apierr.Limited || refused.Detail != c.want || refused.RetryAfter != v.Reset {
			t.Errorf("%s: %v\nwant %s", c.limit.Name, err, c.want)
		}
		if v.Name != c.limit.Name || v.Remaining != 0 || v.Reset <= 0 {
			t.Errorf("%s: verdict %+v", c.limit.Name, v)
		}
	}
}

func TestPolicyIsARateLimitPolicyItem(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	v, err := admit(l, l.Cells([]plane.Limit{perMinute(plane.LimitKeyMinute, "key/1/minute", 30)}), noon)
	if want := `"key_per_minute";q=30;w=60`; err != nil || v.Policy != want {
		t.Errorf("policy %s, want %s (%v)", v.Policy, want, err)
	}
}

func TestAllCellsOrNone(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	key := perMinute(plane.LimitKeyMinute, "key/1/minute", 10)
	app := perMinute(plane.LimitAppMinute, "app/1/minute", 2)
	both, keyOnly := l.Cells([]plane.Limit{key, app}), l.Cells([]plane.Limit{key})
	for range 2 {
		if v, err := admit(l, both, noon); err != nil || v.Name != plane.LimitAppMinute {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	for range 5 {
		if v, err := admit(l, both, noon); err == nil || v.Name != plane.LimitAppMinute {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	if v, err := admit(l, keyOnly, noon); err != nil || v.Remaining != 7 {
		t.Errorf("refused calls were counted against the key: %+v, %v", v, err)
	}
}

func TestRefund(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	cells := l.Cells([]plane.Limit{perMinute(plane.LimitKeyMinute, "key/1/minute", 1), perDay("account/1/day", 1)})
	for i := range 10 {
		v, err := admit(l, cells, noon.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		v.Refund()
		v.Refund() // only the first one counts
	}
	if _, err := admit(l, cells, noon.Add(11*time.Second)); err != nil {
		t.Fatal(err)
	}
	v, err := admit(l, cells, noon.Add(12*time.Second))
	if err == nil {
		t.Fatal("refunds made room for more than was taken")
	}
	v.Refund() // a refused call took nothing
	if _, err := admit(l, cells, noon.Add(13*time.Second)); err == nil {
		t.Error("refund of a refusal made room")
	}
}

func TestNewTermsKeepTheHistory(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	for _, daily := range []bool{false, true} {
		name := fmt.Sprintf("bucket/%v", daily)
		terms := func(n int64) []*limit.Cell {
			return l.Cells([]plane.Limit{{Name: "some", Bucket: name, Max: n, Window: time.Minute, Daily: daily}})
		}
		cells := terms(30)
		for range 30 {
			if _, err := admit(l, cells, noon); err != nil {
				t.Fatal(err)
			}
		}
		terms(120) // an upgrade; the old slice of cells goes on being used by calls that run
		if v, err := admit(l, cells, noon); err != nil || v.Limit != 120 || v.Remaining != 89 {
			t.Errorf("daily %v: after the upgrade: %+v, %v", daily, v, err)
		}
		terms(10)
		if v, err := admit(l, cells, noon); err == nil || v.Limit != 10 {
			t.Errorf("daily %v: after the downgrade: %+v, %v", daily, v, err)
		}
		terms(0)
		if _, err := admit(l, cells, noon); err == nil {
			t.Errorf("daily %v: admitted with a limit of 0", daily)
		}
	}
}

func TestNoLimits(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	v, err := admit(l, l.Cells(nil), noon)
	if err != nil || v.Name != "" || v.Remaining != 0 || v.Mode != limit.ModeNode {
		t.Errorf("%+v, %v", v, err)
	}
}

// Whatever comes when, in whatever order the clock is read: at most Max in any 60 s, a retry at the stated time is admitted, and
// little is wasted against a limiter that knows every call.
func TestWindowAgainstALogOfCalls(t *testing.T) {
	for round := range 60 {
		seed := rand.Uint64()
		t.Run("", func(t *testing.T) { windowAgainstLog(t, seed, round) })
	}
}

func windowAgainstLog(t *testing.T, seed uint64, round int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	limits := []int64{1, 2, 30, 300}
	most := limits[round%len(limits)]
	mean := time.Duration(float64(time.Minute) / float64(most) / (0.5 + 3*rnd.Float64()))
	l := open(t, t.TempDir(), fixed(noon))
	cells := l.Cells([]plane.Limit{perMinute(plane.LimitKeyMinute, "key/1/minute", most)})
	var admitted, ideal []time.Duration
	var retry time.Duration
	refunds := 0
	for now := time.Duration(0); now < 10*time.Minute; now += time.Duration(rnd.ExpFloat64() * float64(mean)) {
		if rnd.IntN(50) == 0 {
			now += time.Duration(rnd.Int64N(int64(90 * time.Second))) // a pause
		}
		if retry > 0 && now >= retry && rnd.IntN(2) == 0 {
			if _, err := admit(l, cells, noon.Add(retry)); err != nil {
				t.Fatalf("seed %d: retry at %s was promised: %v", seed, retry, err)
			}
			admitted = append(admitted, retry)
		}
		if n := len(ideal); n < int(most) || now-ideal[n-int(most)] > time.Minute {
			ideal = append(ideal, now)
		}
		at := now
		if rnd.IntN(4) == 0 {
			at = max(0, at-time.Duration(rnd.Int64N(int64(20*time.Millisecond)))) // a goroutine that was slow after it read the clock
		}
		v, err := admit(l, cells, noon.Add(at))
		if err == nil {
			admitted = append(admitted, at)
			if rnd.IntN(20) == 0 {
				v.Refund()
				admitted = admitted[:len(admitted)-1]
				refunds++
			}
			retry = 0
		} else {
			retry = at + v.Reset
		}
	}
	slices.Sort(admitted)
	for i := int(most); i < len(admitted); i++ {
		if gap := admitted[i] - admitted[i-int(most)]; gap < time.Minute {
			t.Fatalf("seed %d: %d calls within %s", seed, most+1, gap)
		}
	}
	if len(admitted)+refunds < len(ideal)*98/100-1 {
		t.Errorf("seed %d: limit %d: %d admitted, ideally %d", seed, most, len(admitted), len(ideal))
	}
}

// Under steady overload nothing but the rounding of slots is lost: 0.25 s and the limit's first burst of a minute.
func TestUtilisationUnderOverload(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	cells := l.Cells([]plane.Limit{perMinute(plane.LimitKeyMinute, "key/1/minute", 500)})
	admitted := 0
	const minutes = 20
	for at := time.Duration(0); at < minutes*time.Minute; at += 12 * time.Millisecond {
		if _, err := admit(l, cells, noon.Add(at)); err == nil {
			admitted++
		}
	}
	if want := 500 * minutes * 995 / 1000; admitted < want || admitted > 500*minutes {
		t.Errorf("%d admitted, want %d to %d", admitted, want, 500*minutes)
	}
}

func TestConcurrentAdmissionsAreExact(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	// Two keys of one app, given in different orders: the locks must not cross.
	a := perMinute(plane.LimitKeyMinute, "key/a/minute", 1000)
	b := perMinute(plane.LimitKeyMinute, "key/b/minute", 1000)
	app := perMinute(plane.LimitAppMinute, "app/1/minute", 700)
	first, second := l.Cells([]plane.Limit{a, app}), l.Cells([]plane.Limit{app, b})
	var admitted atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			cells := first
			if i%2 == 0 {
				cells = second
			}
			for range 500 {
				if v, err := admit(l, cells, noon); err == nil {
					admitted.Add(1)
					if v.Remaining%7 == 0 {
						v.Refund()
						admitted.Add(-1)
					}
				}
			}
		})
	}
	group.Wait()
	for {
		if _, err := admit(l, first, noon); err != nil {
			break
		}
		admitted.Add(1)
	}
	if got := admitted.Load(); got != 700 {
		t.Errorf("%d admitted, want 700", got)
	}
}

func TestDayCounts(t *testing.T) {
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	l := open(t, t.TempDir(), fixed(noon))
	cells := l.Cells([]plane.Limit{perDay("account/1/day", 2)})
	steps := []struct {
		at   time.Time
		want bool
	}{
		{midnight.Add(-2 * time.Second), true},
		{midnight.Add(-time.Second), true},
		{midnight.Add(-time.Nanosecond), false},
		{midnight, true},
		{midnight.Add(-time.Second), true},  // the clock was set back: the count goes on
		{midnight.Add(-time.Second), false}, // and frees nothing
		{midnight.Add(time.Second), true},   // the day begins once more: wrong clocks cannot be undone
	}
	for i, s := range steps {
		v, err := admit(l, cells, s.at)
		if (err == nil) != s.want {
			t.Errorf("step %d: %+v, %v", i, v, err)
		}
		if err != nil && s.at.Add(v.Reset) != midnight {
			t.Errorf("step %d: frees at %s", i, s.at.Add(v.Reset))
		}
	}
}

func TestDayCountsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	day := []plane.Limit{perDay("account/1/day", 5)}
	for i := range 5 {
		l := open(t, dir, fixed(noon))
		stop := run(t, l)
		if v, err := admit(l, l.Cells(day), noon); err != nil || v.Remaining != int64(4-i) {
			t.Fatalf("process %d: %+v, %v", i, v, err)
		}
		stop()
	}
	l := open(t, dir, fixed(noon))
	if _, err := admit(l, l.Cells(day), noon); err == nil {
		t.Error("a restart freed the day")
	}
	tomorrow := noon.Add(24 * time.Hour)
	l = open(t, dir, fixed(tomorrow))
	if v, err := admit(l, l.Cells(day), tomorrow); err != nil || v.Remaining != 4 {
		t.Errorf("tomorrow: %+v, %v", v, err)
	}
}

// Idle cells are let go, and a caller that kept a pointer to one still shares it with callers that ask by name.
func TestIdleCellsAreCollectedAndNeverDoubled(t *testing.T) {
	l := open(t, t.TempDir(), fixed(noon))
	limits := []plane.Limit{perMinute(plane.LimitKeyMinute, "key/kept/minute", 2)}
	kept := l.Cells(limits)
	for i := range 100 {
		l.Cells([]plane.Limit{perMinute(plane.LimitKeyMinute, fmt.Sprintf("key/%d/minute", i), 2)})
	}
	later := noon.Add(2 * time.Minute)
	l.Sweep(later)
	runtime.GC()
	l.Sweep(later)
	if got := l.Held(); got != 1 {
		t.Errorf("%d cells after the sweep, want the one that is kept", got)
	}
	if _, err := admit(l, kept, later); err != nil {
		t.Fatal(err)
	}
	kept = nil //nolint:ineffassign,wastedassign // lets go of the cell
	runtime.GC()
	l.Sweep(later)
	again := l.Cells(limits)
	if v, err := admit(l, again, later); err != nil || v.Remaining != 0 {
		t.Errorf("the history of a used cell was lost: %+v, %v", v, err)
	}
}

func TestLongBucketNamesDoNotBreakTheJournal(t *testing.T) {
	dir := t.TempDir()
	long := []plane.Limit{perDay("account/"+strings.Repeat("x", 100_000), 5)}
	l := open(t, dir, fixed(noon))
	stop := run(t, l)
	if _, err := admit(l, l.Cells(long), noon); err != nil {
		t.Fatal(err)
	}
	stop()
	l = open(t, dir, fixed(noon))
	if v, err := admit(l, l.Cells(long), noon); err != nil || v.Remaining != 3 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestAdmitAllocatesNothing(t *testing.T) {
	l := open(t, t.TempDir(), time.Now)
	cells := l.Cells([]plane.Limit{
		perMinute(plane.LimitKeyMinute, "key/1/minute", 1_000_000), perMinute(plane.LimitAppMinute, "app/1/minute", 1_000_000),
		perDay("account/1/day", 1_000_000),
	})
	allocs := testing.AllocsPerRun(1000, func() {
		if v, err := admit(l, cells, time.Now()); err == nil {
			v.Refund()
		}
		_, _ = admit(l, cells, time.Now())
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkAdmitThreeLimits(b *testing.B) {
	l := open(b, b.TempDir(), time.Now)
	cells := l.Cells([]plane.Limit{
		perMinute(plane.LimitKeyMinute, "key/1/minute", 1<<40), perMinute(plane.LimitAppMinute, "app/1/minute", 1<<40),
		perDay("account/1/day", 1<<40),
	})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = admit(l, cells, time.Now())
	}
}

func BenchmarkRefuse(b *testing.B) {
	l := open(b, b.TempDir(), time.Now)
	cells := l.Cells([]plane.Limit{perMinute(plane.LimitKeyMinute, "key/1/minute", 1)})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = admit(l, cells, time.Now())
	}
}
