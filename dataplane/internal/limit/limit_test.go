package limit_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/quota/quotatest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

const (
	keyBucket = "key/0198c0de-0000-7000-8000-000000000001/minute"
	appBucket = "app/0198c0de-0000-7000-8000-000000000002/minute"
	dayBucket = "account/0198c0de-0000-7000-8000-000000000003/day"
)

func perMinute(name, bucket string, n int64) plane.Limit {
	return plane.Limit{Name: name, Bucket: bucket, Max: n, Window: time.Minute}
}

func perDay(n int64) plane.Limit {
	return plane.Limit{Name: plane.LimitAccountDay, Bucket: dayBucket, Max: n, Window: 24 * time.Hour, Daily: true}
}

func principal(seen plane.Version, limits ...plane.Limit) *plane.Principal {
	return &plane.Principal{Limits: limits, Seen: seen}
}

// spend admits until it is refused and returns how often it was admitted, and the refusal.
func spend(t *testing.T, l *limit.Limiter, c *limit.Cells) (n int, v limit.Verdict, err error) {
	t.Helper()
	for ; ; n++ {
		if v, err = l.Admit(t.Context(), c, time.Now()); err != nil {
			return n, v, err
		}
		v.Done()
	}
}

func wantLimited(t *testing.T, err error, text string) {
	t.Helper()
	var refusal *apierr.Error
	if !errors.As(err, &refusal) || refusal.Kind != apierr.Limited || !strings.Contains(refusal.Detail, text) || refusal.RetryAfter <= 0 {
		t.Errorf("%v, want %q", err, text)
	}
}

func TestTheRefusingLimitIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(quotatest.New().Node(t, 1))
		c := l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, 30), perMinute(plane.LimitAppMinute, appBucket, 10), perDay(100)))
		v, err := l.Admit(t.Context(), c, time.Now())
		if err != nil || v.Name != plane.LimitAppMinute || v.Limit != 10 || v.Remaining != 9 || v.Reset <= time.Minute || v.Reset > 61*time.Second || v.Mode != "ledger" {
			t.Fatalf("%+v, %v", v, err)
		}
		n, v, err := spend(t, l, c)
		if n != 9 || v.Name != plane.LimitAppMinute || v.Remaining != 0 {
			t.Errorf("%d more, %+v", n, v)
		}
		wantLimited(t, err, "this app may make 10 calls per minute. The next call is possible in 6")
		day := l.Cells(principal(1, perDay(100)))
		if n, _, err = spend(t, l, day); n != 90 {
			t.Errorf("%d, want what the other key of the account left", n)
		}
		wantLimited(t, err, "this account may make 100 calls per UTC day. The count starts anew at 00:00 UTC, in ")
		if code := apierr.From(err).Code; code != "insufficient_quota" { // or clients of OpenAI's API try again at once
			t.Errorf("the code is %q", code)
		}
	})
}

// A call that is refused for what it asks costs a minute's token and none of the day.
func TestARefundOfTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const minute, day = 10, 5
		l := limit.New(quotatest.New().Node(t, 1))
		c := l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, minute), perDay(day)))
		for range minute {
			v, err := l.Admit(t.Context(), c, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			v.RefundDay()
			if v.Refund() {
				t.Error("refunded twice")
			}
			v.Done()
		}
		_, err := l.Admit(t.Context(), c, time.Now())
		wantLimited(t, err, "this key may make 10 calls per minute")
		if n, _, _ := spend(t, l, l.Cells(principal(1, perDay(day)))); n != day {
			t.Errorf("%d calls of the day are left, want %d", n, day)
		}
	})
}

func TestNodesAreExactTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 50
		ledger := quotatest.New()
		var admitted atomic.Int64
		var done sync.WaitGroup
		for node := range uint64(3) {
			l := limit.New(ledger.Node(t, node+1))
			c := l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, most), perDay(1000)))
			for range 4 {
				done.Go(func() {
					for range 40 {
						if v, err := l.Admit(t.Context(), c, time.Now()); err == nil {
							admitted.Add(1)
							v.Done()
						}
					}
				})
			}
		}
		done.Wait()
		if admitted.Load() != most {
			t.Errorf("%d of %d admitted", admitted.Load(), most)
		}
	})
}

// A change of the plan counts at once, on a node that has not heard of it too, and keeps what was counted.
func TestAChangedPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := quotatest.New()
		one, two := limit.New(ledger.Node(t, 1)), limit.New(ledger.Node(t, 2))
		at := func(l *limit.Limiter, seen plane.Version, n int64) *limit.Cells {
			return l.Cells(principal(seen, perMinute(plane.LimitKeyMinute, keyBucket, n)))
		}
		old := at(two, 5, 30)
		if n, _, _ := spend(t, one, at(one, 5, 30)); n != 30 {
			t.Fatalf("%d admitted", n)
		}
		if n, _, _ := spend(t, one, at(one, 6, 40)); n != 10 {
			t.Errorf("%d more after a raise to 40", n)
		}
		if n, _, _ := spend(t, two, old); n != 0 {
			t.Errorf("%d more on a node that does not know yet", n)
		}
		if n, v, _ := spend(t, one, at(one, 7, 20)); n != 0 || v.Limit != 20 {
			t.Errorf("%d more after a cut to 20: %+v", n, v)
		}
		if n, _, _ := spend(t, two, at(two, 8, 45)); n != 5 {
			t.Errorf("%d more after a raise to 45", n)
		}
	})
}

func TestCallsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(quotatest.New().Node(t, 1))
		c := l.Cells(principal(1, plane.Limit{Name: plane.LimitKeyInFlight, Bucket: "key/1/in_flight", Max: 2}, perMinute(plane.LimitKeyMinute, keyBucket, 4)))
		first, err := l.Admit(t.Context(), c, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Admit(t.Context(), c, time.Now()); err != nil {
			t.Fatal(err)
		}
		v, err := l.Admit(t.Context(), c, time.Now())
		wantLimited(t, err, "this key may make 2 calls at a time")
		if v.Name != plane.LimitKeyInFlight {
			t.Errorf("%+v", v)
		}
		first.Done()
		first.Done()
		if v, err = l.Admit(t.Context(), c, time.Now()); err != nil {
			t.Fatal(err)
		}
		v.Done()
		n, v, _ := spend(t, l, c) // one is still in flight, and refusals of the minute hold no place
		if again, w, _ := spend(t, l, c); n != 1 || again != 0 || v.Name != plane.LimitKeyMinute || w.Name != plane.LimitKeyMinute {
			t.Errorf("%d and %d more: %+v %+v", n, again, v, w)
		}
	})
}

// What nobody points to is forgotten, but not as long as the ledger may take a new counter for the old one.
func TestAForgottenCounterBringsNoTokens(t *testing.T) {
	l := limit.New(quotatest.New().Node(t, 1))
	others := l.Cells(principal(1, perMinute(plane.LimitAppMinute, appBucket, 10_000), perDay(10_000)))
	total := 0
	for range 8 {
		c := l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, 30)))
		for range 5 {
			if v, err := l.Admit(t.Context(), c, time.Now()); err == nil {
				total++
				v.Done()
			}
		}
		for range 20 { // while this goes on, the counter is reported, gives back what it does not use, and is in no frame any more
			if v, err := l.Admit(t.Context(), others, time.Now()); err == nil {
				v.Done()
			}
			time.Sleep(20 * time.Millisecond)
		}
		runtime.GC()
		runtime.GC()
	}
	if total != 30 {
		t.Errorf("%d admitted", total)
	}
}

func TestNobodyToAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := quotatest.New()
		ledger.Deaf(true)
		l := limit.New(ledger.Node(t, 1))
		c := l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, 30)))
		gone := errors.New("client left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(gone) })
		if _, err := l.Admit(ctx, c, time.Now()); !errors.Is(err, gone) {
			t.Error(err)
		}
		if v, err := l.Admit(t.Context(), c, time.Now()); !errors.Is(err, limit.ErrUnavailable) || v.Name != "" {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := l.Admit(t.Context(), l.Cells(principal(1)), time.Now()); err != nil {
			t.Error("a caller without limits:", err)
		}
	})
}

// A look tells what another node admitted, and takes nothing.
func TestPeekTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := quotatest.New()
		one, two := limit.New(ledger.Node(t, 1)), limit.New(ledger.Node(t, 2))
		p := principal(1, perDay(100), perMinute(plane.LimitKeyMinute, keyBucket, 3))
		for left := int64(3); ; left-- {
			right := 0                                                               // in a row
			for begin := time.Now(); right < 10; time.Sleep(20 * time.Millisecond) { // what the other leased ahead comes back
				all, err := two.Peek(t.Context(), two.Cells(p), time.Now())
				right++
				if len(all) != 2 || all[0].Name != plane.LimitKeyMinute || all[0].Remaining != left || all[1].Remaining != 97+left || (err != nil) != (left == 0) {
					right = 0
				}
				if time.Since(begin) > time.Minute {
					t.Fatalf("%+v, %v; %d are left", all, err, left)
				}
				if err != nil {
					wantLimited(t, err, "this key may make 3 calls per minute")
				}
			}
			if left == 0 {
				break
			}
			if _, err := one.Admit(t.Context(), one.Cells(p), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		ledger.Deaf(true)
		if _, err := two.Peek(t.Context(), two.Cells(p), time.Now()); !errors.Is(err, limit.ErrUnavailable) {
			t.Error(err)
		}
	})
}

func TestSubjectsDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(quotatest.New().Node(t, 1))
		for _, bucket := range []string{keyBucket, "key/0198c0de-0000-7000-8000-00000000000g/minute", "key/1/minute", "key/2/minute", "1", strings.Repeat("x", 1000)} {
			if n, _, _ := spend(t, l, l.Cells(principal(1, perMinute(plane.LimitKeyMinute, bucket, 3)))); n != 3 {
				t.Errorf("%.60s: %d admitted", bucket, n)
			}
		}
	})
}

func BenchmarkAdmitThreeLimits(b *testing.B) {
	l := limit.New(quotatest.New().Node(b, 1))
	c := l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, 1<<28), perMinute(plane.LimitAppMinute, appBucket, 1<<28), perDay(1<<28)))
	ctx, now := b.Context(), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Admit(ctx, c, now); err != nil {
			b.Fatal(err)
		}
	}
}

// fourLimits are those of a plan with calls at a time.
func fourLimits(l *limit.Limiter) *limit.Cells {
	return l.Cells(principal(1, plane.Limit{Name: plane.LimitKeyInFlight, Bucket: "key/1/in_flight", Max: 1 << 20},
		perMinute(plane.LimitKeyMinute, keyBucket, 1<<28), perMinute(plane.LimitAppMinute, appBucket, 1<<28), perDay(1<<28)))
}

func TestACallWithLeasesAllocatesNothing(t *testing.T) {
	l := limit.New(quotatest.New().Node(t, 1))
	c, ctx, now := fourLimits(l), t.Context(), time.Now()
	allocated := 1.0
	for range 20 { // the first calls wait for the ledger, and its node allocates once per tick
		allocated = min(allocated, testing.AllocsPerRun(1000, func() {
			v, err := l.Admit(ctx, c, now)
			if err != nil {
				t.Fatal(err)
			}
			v.Done()
		}))
	}
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// BenchmarkCallsOfFourLimits admits calls and ends them, a thousand per second, so that it includes what the node does for them meanwhile.
func BenchmarkCallsOfFourLimits(b *testing.B) {
	l := limit.New(quotatest.New().Node(b, 1))
	c, ctx, now := fourLimits(l), b.Context(), time.Now()
	used := func() int64 {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return 0
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	begin, n := used(), 0
	for b.Loop() {
		v, err := l.Admit(ctx, c, now)
		if err != nil {
			b.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		v.Done()
		n++
	}
	b.ReportMetric(float64(used()-begin)/float64(n), "cpu-ns/op")
}
