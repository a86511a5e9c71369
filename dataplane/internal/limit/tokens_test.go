package limit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/quota/quotatest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func tokensPerMinute(n int64) plane.Limit {
	return plane.Limit{Name: plane.LimitKeyTokens, Bucket: "key/0198c0de-0000-7000-8000-000000000001/tokens", Max: n, Window: time.Minute}
}

// begin admits a call and reserves its tokens.
func begin(t *testing.T, l *limit.Limiter, c *limit.Cells, prompt, answer int64, stream bool) (*limit.Verdict, *limit.Tokens, error) {
	t.Helper()
	v, err := l.Admit(t.Context(), c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Done)
	tokens := v.Tokens(t.Context(), time.Now())
	_, err = tokens.Reserve(prompt, answer, stream)
	return &v, tokens, err
}

// left waits until so much of the tokens is left: what a call did not use comes back within a report or two.
func left(t *testing.T, l *limit.Limiter, c *limit.Cells, want int64) {
	t.Helper()
	var all []limit.Standing
	var err error
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if all, err = l.Peek(t.Context(), c, time.Now()); err != nil && apierr.From(err).Kind != apierr.Limited {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Name == plane.LimitKeyTokens && s.Remaining == want {
				return
			}
		}
	}
	t.Fatalf("%+v, want %d tokens left", all, want)
}

func TestTokensAreReservedAndSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := quotatest.New()
		one, two := limit.New(ledger.Node(t, 1)), limit.New(ledger.Node(t, 2))
		p := principal(1, perMinute(plane.LimitKeyMinute, keyBucket, 30), tokensPerMinute(1000))
		mine, other := one.Cells(p), two.Cells(p)
		v, tokens, err := begin(t, one, mine, 100, 700, false)
		if err != nil || v.Name != plane.LimitKeyTokens || v.Limit != 1000 || v.Remaining != 200 {
			t.Fatalf("%+v, %v", v, err)
		}
		refused, none, err := begin(t, two, other, 100, 700, false)
		wantLimited(t, err, "this key may use 1000 model tokens per minute. Enough are free in ")
		if refused.Name != plane.LimitKeyTokens || none.Refused() != plane.LimitKeyTokens {
			t.Errorf("%+v", refused)
		}
		tokens.Settle(250)
		tokens.Settle(9999) // it is over
		left(t, two, other, 750)
		if _, tokens, err = begin(t, two, other, 100, 600, false); err != nil {
			t.Fatal(err)
		}
		tokens.Settle(0) // a failure of ours
		left(t, one, mine, 750)
	})
}

// A call that its tokens refuse does not count as a call.
func TestTokensRefuseTheWholeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(quotatest.New().Node(t, 1))
		c := l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, 6), tokensPerMinute(100)))
		for range 10 {
			v, _, err := begin(t, l, c, 500, 1, false)
			if e := apierr.From(err); e.Kind != apierr.TooLarge {
				t.Fatal(err)
			}
			v.Done()
			time.Sleep(time.Millisecond)
		}
	})
}

func TestAnAnswerLongerThanReservedIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := quotatest.New()
		l := limit.New(ledger.Node(t, 1))
		c := l.Cells(principal(1, tokensPerMinute(1000)))
		_, tokens, err := begin(t, l, c, 10, 90, false)
		if err != nil {
			t.Fatal(err)
		}
		tokens.Settle(700)
		left(t, l, c, 300)
		if _, tokens, err = begin(t, l, c, 10, 190, false); err != nil {
			t.Fatal(err)
		}
		tokens.Settle(5000) // far more than there is: paid as it frees
		left(t, l, c, 0)
		if _, _, err = begin(t, l, c, 1, 1, false); err == nil {
			t.Error("admitted in debt")
		}
	})
}

func TestAStreamTakesMoreUntilTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(quotatest.New().Node(t, 1))
		c := l.Cells(principal(1, tokensPerMinute(3000)))
		_, tokens, err := begin(t, l, c, 10, 2000, true)
		if err != nil {
			t.Fatal(err)
		}
		used := int64(10)
		for err == nil && used < 5000 {
			used++
			err = tokens.Use(used)
		}
		wantLimited(t, err, "Token limit reached: this key may use 3000 model tokens per minute. The answer ends here; more are free in ")
		if after := apierr.From(err).RetryAfter; after < 50*time.Second || after > 61*time.Second {
			t.Errorf("tokens are free in %s", after)
		}
		if used != 3001 || tokens.Reached() != plane.LimitKeyTokens {
			t.Errorf("%d used, %q", used, tokens.Reached())
		}
		tokens.Settle(3000)
		left(t, l, c, 0)
	})
}

func TestTheNilTokensHaveNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(quotatest.New().Node(t, 1))
		v, err := l.Admit(t.Context(), l.Cells(principal(1, perMinute(plane.LimitKeyMinute, keyBucket, 3))), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer v.Done()
		tokens := v.Tokens(t.Context(), time.Now())
		if n, err := tokens.Reserve(1, 1<<40, true); tokens != nil || n != 1<<40 || err != nil || tokens.Use(1<<50) != nil || tokens.Reached() != "" {
			t.Error("a limit of nobody")
		}
		tokens.Settle(1)
	})
}
