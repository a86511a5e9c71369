package account_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/apierr"
)

// withFactor registers somebody and turns the second factor on.
func withFactor(t *testing.T) (a *account.Accounts, c *clock, g account.Grant, secret string, recovery []string) {
	t.Helper()
	a, _, c = withMail(t)
	g = register(t, a)
	e, err := a.BeginTOTP(t.Context(), g.Developer.ID, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	recovery, err = a.ConfirmTOTP(t.Context(), g.Developer.ID, account.Code(e.Secret, c.now()))
	if err != nil {
		t.Fatal(err)
	}
	c.pass(30 * time.Second)
	return a, c, g, e.Secret, recovery
}

func challenge(t *testing.T, a *account.Accounts) string {
	t.Helper()
	g, err := a.Login(t.Context(), "ada@example.com", "correct horse battery", client)
	if err != nil || g.Challenge == "" || g.Token != "" || g.Refresh != "" {
		t.Fatalf("%+v, %v", g, err)
	}
	return g.Challenge
}

func TestASecondFactorIsAskedFor(t *testing.T) {
	a, c, _, secret, _ := withFactor(t)
	first := challenge(t, a)
	if _, err := a.Authenticate(t.Context(), first); apierr.From(err).Kind != apierr.Unauthorized {
		t.Errorf("the challenge opens a session: %v", err)
	}
	if _, err := a.LoginTOTP(t.Context(), first, "000000", client); !errors.Is(err, account.ErrWrongCode) {
		t.Errorf("a wrong code: %v", err)
	}
	code := account.Code(secret, c.now())
	g, err := a.LoginTOTP(t.Context(), first, code[:3]+" "+code[3:], client)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Authenticate(t.Context(), g.Token); err != nil {
		t.Error(err)
	}
	if _, err := a.LoginTOTP(t.Context(), challenge(t, a), code, client); !errors.Is(err, account.ErrWrongCode) {
		t.Errorf("a code that was used: %v", err)
	}
	before := account.Code(secret, c.now().Add(-30*time.Second))
	if _, err := a.LoginTOTP(t.Context(), challenge(t, a), before, client); !errors.Is(err, account.ErrWrongCode) {
		t.Errorf("a code older than one that was used: %v", err)
	}
	if _, err := a.LoginTOTP(t.Context(), g.Token, account.Code(secret, c.now().Add(30*time.Second)), client); !errors.Is(err, account.ErrNoChallenge) {
		t.Errorf("an access token for a challenge: %v", err)
	}
	late := challenge(t, a)
	c.pass(account.ChallengeTTL + time.Second)
	if _, err := a.LoginTOTP(t.Context(), late, account.Code(secret, c.now()), client); !errors.Is(err, account.ErrNoChallenge) {
		t.Errorf("a late code: %v", err)
	}
}

func TestOneCodeOpensOneSession(t *testing.T) {
	a, c, _, secret, _ := withFactor(t)
	one, code := challenge(t, a), account.Code(secret, c.now())
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		won int
	)
	for range account.ThrottleAccountFree {
		all.Go(func() {
			_, err := a.LoginTOTP(t.Context(), one, code, client)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d sessions", won)
	}
}

func TestRecoveryCodesWorkOnceEach(t *testing.T) {
	a, _, g, _, recovery := withFactor(t)
	if len(recovery) != account.RecoveryCodes {
		t.Fatalf("%d codes", len(recovery))
	}
	typed := strings.ToUpper(strings.ReplaceAll(recovery[3], "-", " "))
	if _, err := a.LoginTOTP(t.Context(), challenge(t, a), typed, client); err != nil {
		t.Errorf("%q: %v", typed, err)
	}
	if _, err := a.LoginTOTP(t.Context(), challenge(t, a), recovery[3], client); !errors.Is(err, account.ErrWrongCode) {
		t.Errorf("twice: %v", err)
	}
	if f, err := a.Factor(t.Context(), g.Developer.ID); err != nil || f.RecoveryCodesLeft != account.RecoveryCodes-1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestGuessingCodesIsSlow(t *testing.T) {
	a, c, _, secret, _ := withFactor(t)
	one := challenge(t, a)
	for range account.ThrottleAccountFree {
		if _, err := a.LoginTOTP(t.Context(), one, "000000", client); !errors.Is(err, account.ErrWrongCode) {
			t.Fatal(err)
		}
	}
	if _, err := a.LoginTOTP(t.Context(), one, account.Code(secret, c.now()), client); apierr.From(err).Kind != apierr.Limited {
		t.Errorf("after %d guesses: %v", account.ThrottleAccountFree, err)
	}
}

func TestAFactorIsTurnedOffWithBothFactors(t *testing.T) {
	a, c, g, secret, _ := withFactor(t)
	code := account.Code(secret, c.now())
	if err := a.EndTOTP(t.Context(), g.Developer.ID, "wrong", code); !errors.Is(err, account.ErrWrongPassword) {
		t.Errorf("without the password: %v", err)
	}
	if err := a.EndTOTP(t.Context(), g.Developer.ID, "correct horse battery", "000000"); !errors.Is(err, account.ErrWrongCode) {
		t.Errorf("without a code: %v", err)
	}
	if err := a.EndTOTP(t.Context(), g.Developer.ID, "correct horse battery", code); err != nil {
		t.Fatal(err)
	}
	if g, err := a.Login(t.Context(), "ada@example.com", "correct horse battery", client); err != nil || g.Token == "" {
		t.Errorf("%+v, %v", g, err)
	}
	if err := a.EndTOTP(t.Context(), g.Developer.ID, "correct horse battery", code); !errors.Is(err, account.ErrTOTPOff) {
		t.Errorf("twice: %v", err)
	}
}

func TestAFactorThatWasNotConfirmedIsNotAskedFor(t *testing.T) {
	a, _, c := withMail(t)
	g := register(t, a)
	first, err := a.BeginTOTP(t.Context(), g.Developer.ID, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.BeginTOTP(t.Context(), g.Developer.ID, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if g, err := a.Login(t.Context(), "ada@example.com", "correct horse battery", client); err != nil || g.Token == "" {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := a.ConfirmTOTP(t.Context(), g.Developer.ID, account.Code(first.Secret, c.now())); !errors.Is(err, account.ErrWrongCode) {
		t.Errorf("with a replaced secret: %v", err)
	}
	if _, err := a.ConfirmTOTP(t.Context(), g.Developer.ID, account.Code(second.Secret, c.now())); err != nil {
		t.Error(err)
	}
	if _, err := a.BeginTOTP(t.Context(), g.Developer.ID, "correct horse battery"); !errors.Is(err, account.ErrTOTPOn) {
		t.Errorf("a second one: %v", err)
	}
}
