package account_test

import (
	"crypto/ed25519"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
)

// onDatabase returns accounts on a database of their own, of whose transactions half run twice.
func onDatabase(t *testing.T) (*account.Accounts, *store.Store, *clock) {
	t.Helper()
	passwords, err := account.NewPasswords(cheap)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := account.NewSigner([][]byte{make([]byte, ed25519.SeedSize)})
	if err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, storetest.Database(t))
	s.RunTwice(func() bool { return rand.N(2) == 0 })
	c := &clock{t: time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC)}
	s.Now = c.now
	return &account.Accounts{
		Store: s, Passwords: passwords, Signer: signer, Throttle: account.NewThrottle(c.now), PublicURL: "https://portal.example",
		Log: slog.New(slog.DiscardHandler), Now: c.now,
	}, s, c
}

func TestASessionIsRenewedForADozenWeeks(t *testing.T) {
	a, _, c := onDatabase(t)
	g := register(t, a)
	began := c.now()
	for c.now().Add(account.SessionTTL).Before(began.Add(account.SessionMax + account.SessionTTL)) {
		if c.now().After(began) { // every token is dead by the time it is replaced
			if _, err := a.Authenticate(t.Context(), g.Token); !errors.Is(err, account.ErrNoSession) {
				t.Fatalf("an old token: %v", err)
			}
		}
		next, err := a.Refresh(t.Context(), g.Refresh)
		if err != nil {
			t.Fatalf("after %s: %v", c.now().Sub(began), err)
		}
		if _, err := a.Authenticate(t.Context(), next.Token); err != nil {
			t.Fatalf("a new token: %v", err)
		}
		g = next
		c.pass(account.SessionTTL - time.Hour)
	}
	if _, err := a.Refresh(t.Context(), g.Refresh); !errors.Is(err, account.ErrNoRefresh) {
		t.Errorf("after %s: %v", c.now().Sub(began), err)
	}
}

func TestASessionThatNobodyRenewsEnds(t *testing.T) {
	a, _, c := onDatabase(t)
	g := register(t, a)
	c.pass(account.SessionTTL)
	if _, err := a.Refresh(t.Context(), g.Refresh); !errors.Is(err, account.ErrNoRefresh) {
		t.Errorf("got %v", err)
	}
}

func TestAStolenCookieEndsTheSession(t *testing.T) {
	a, _, c := onDatabase(t)
	g := register(t, a)
	thief, err := a.Refresh(t.Context(), g.Refresh)
	if err != nil {
		t.Fatal(err)
	}
	c.pass(account.RefreshGrace - time.Microsecond)
	if _, err := a.Refresh(t.Context(), g.Refresh); !errors.Is(err, account.ErrRefreshBusy) {
		t.Errorf("at once, as two windows do: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), thief.Token); err != nil {
		t.Errorf("two windows ended the session: %v", err)
	}
	c.pass(time.Microsecond)
	if _, err := a.Refresh(t.Context(), g.Refresh); !errors.Is(err, account.ErrRefreshReused) {
		t.Errorf("the owner comes back: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), thief.Token); !errors.Is(err, account.ErrNoSession) {
		t.Errorf("the thief's token: %v", err)
	}
	if _, err := a.Refresh(t.Context(), thief.Refresh); !errors.Is(err, account.ErrNoRefresh) {
		t.Errorf("the thief's cookie: %v", err)
	}
}

func TestOneOfManyRenewalsWins(t *testing.T) {
	a, _, _ := onDatabase(t)
	g := register(t, a)
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		won int
	)
	for range 8 {
		all.Go(func() {
			_, err := a.Refresh(t.Context(), g.Refresh)
			if err != nil && !errors.Is(err, account.ErrRefreshBusy) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
	}
	all.Wait()
	if won != 1 {
		t.Errorf("%d renewals with one cookie", won)
	}
}

func TestANewPasswordEndsTheOtherSessions(t *testing.T) {
	a, _, _ := onDatabase(t)
	mine := register(t, a)
	other, err := a.Login(t.Context(), "ada@example.com", "correct horse battery", account.Client{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Authenticate(t.Context(), other.Token); err != nil { // remembered now
		t.Fatal(err)
	}
	who := account.Identity{DeveloperID: mine.Developer.ID, SessionID: mine.Session.ID}
	if ended, err := a.ChangePassword(t.Context(), who, "correct horse battery", "a better horse"); ended != 1 || err != nil {
		t.Fatalf("%d ended, %v", ended, err)
	}
	if _, err := a.Authenticate(t.Context(), other.Token); !errors.Is(err, account.ErrNoSession) {
		t.Errorf("the other session: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), mine.Token); err != nil {
		t.Errorf("mine: %v", err)
	}
}

func TestGuessingTheCurrentPasswordIsSlow(t *testing.T) {
	a, _, _ := onDatabase(t)
	g := register(t, a)
	who := account.Identity{DeveloperID: g.Developer.ID, SessionID: g.Session.ID}
	for range account.ThrottleAccountFree {
		if _, err := a.ChangePassword(t.Context(), who, "a guess", "a better horse"); !errors.Is(err, account.ErrWrongPassword) {
			t.Fatal(err)
		}
	}
	if _, err := a.ChangePassword(t.Context(), who, "correct horse battery", "a better horse"); errors.Is(err, account.ErrWrongPassword) || err == nil {
		t.Errorf("after %d guesses: %v", account.ThrottleAccountFree, err)
	}
}
