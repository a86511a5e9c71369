package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/apierr"
)

func TestFailedSignInsSlowDown(t *testing.T) {
	a, _, c := setup(t)
	register(t, a)
	try := func(password, from string) error {
		_, err := a.Login(t.Context(), "ada@example.com", password, account.Client{Address: from})
		return err
	}
	for i := range account.ThrottleAccountFree {
		if err := try("wrong", "192.0.2.1"); !errors.Is(err, account.ErrWrongLogin) {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
	}
	err := try("correct horse battery", "198.51.100.1") // also from elsewhere, also with the right password
	if e := apierr.From(err); e == nil || e.Kind != apierr.Limited || e.RetryAfter != account.ThrottlePauseMin {
		t.Fatalf("after %d failures: %v", account.ThrottleAccountFree, err)
	}
	if locked := a.Store.(*memory).locked; len(locked) != 1 || locked[0] == "" {
		t.Errorf("recorded locks: %q", locked)
	}
	c.pass(account.ThrottlePauseMin)
	if err := try("wrong", "192.0.2.1"); !errors.Is(err, account.ErrWrongLogin) {
		t.Fatalf("after the pause: %v", err)
	}
	c.pass(account.ThrottlePauseMin)
	if e := apierr.From(try("wrong", "192.0.2.1")); e.Kind != apierr.Limited {
		t.Errorf("the second pause is not longer: %v", e)
	}
	c.pass(account.ThrottlePauseMin)
	if err := try("correct horse battery", "192.0.2.1"); err != nil {
		t.Fatalf("the right password after the pauses: %v", err)
	}
	for i := range account.ThrottleAccountFree - 1 {
		if err := try("wrong", "192.0.2.1"); !errors.Is(err, account.ErrWrongLogin) {
			t.Errorf("attempt %d after a success: %v", i+1, err)
		}
	}
}

func TestANetworkIsSlowedDownOverAllAccounts(t *testing.T) {
	a, _, _ := setup(t)
	var err error
	for i := range account.ThrottleNetworkFree + 1 {
		_, err = a.Login(t.Context(), strings.Repeat("x", i+1)+"@example.com", "wrong", account.Client{Address: "192.0.2." + string(rune('0'+i%10))})
	}
	if apierr.From(err).Kind != apierr.Limited {
		t.Errorf("attempt %d from one /24: %v", account.ThrottleNetworkFree+1, err)
	}
	if _, err := a.Login(t.Context(), "y@example.com", "wrong", account.Client{Address: "198.51.100.1"}); !errors.Is(err, account.ErrWrongLogin) {
		t.Errorf("another network: %v", err)
	}
}

func TestParallelGuessesAreCountedBeforeTheyAreAnswered(t *testing.T) {
	a, _, _ := setup(t)
	register(t, a)
	const guesses = 20
	errs := make(chan error, guesses)
	for range guesses {
		go func() {
			_, err := a.Login(context.WithoutCancel(t.Context()), "ada@example.com", "wrong", account.Client{Address: "192.0.2.1"})
			errs <- err
		}()
	}
	tried := 0
	for range guesses {
		if errors.Is(<-errs, account.ErrWrongLogin) {
			tried++
		}
	}
	if tried != account.ThrottleAccountFree {
		t.Errorf("%d of %d parallel guesses were tried, want %d", tried, guesses, account.ThrottleAccountFree)
	}
}

func TestOurFailureIsNotHeldAgainstAnyone(t *testing.T) {
	a, m, _ := setup(t)
	register(t, a)
	m.broken = apierr.New(apierr.Unavailable, "Away.")
	for range 2 * account.ThrottleNetworkFree {
		if _, err := a.Login(t.Context(), "ada@example.com", "correct horse battery", account.Client{Address: "192.0.2.1"}); apierr.From(err).Kind != apierr.Unavailable {
			t.Fatalf("got %v", err)
		}
	}
	m.broken = nil
	if _, err := a.Login(t.Context(), "ada@example.com", "correct horse battery", account.Client{Address: "192.0.2.1"}); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.77": "192.0.2.0/24", "::ffff:192.0.2.77": "192.0.2.0/24", "2001:db8:1:2ff:3::1": "2001:db8:1:200::/56", "fe80::1%eth0": "fe80::/56",
		"@": "@",
	} {
		if got := account.Network(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

func TestThrottleIsBounded(t *testing.T) {
	c := &clock{t: time.Now()}
	throttle := account.NewThrottle(c.now)
	for i := range account.ThrottleEntriesMax + 100 {
		if err := throttle.Attempt(time.Duration(i).String(), account.Pace{Free: 5, PauseMax: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if n := throttle.Len(); n > account.ThrottleEntriesMax {
		t.Errorf("%d subjects are remembered", n)
	}
}
