package account_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
)

func TestADeletionEndsSessionsTellsTheOwnerAndCanBeTakenBack(t *testing.T) {
	a, p, c := withMail(t)
	g := register(t, a)
	p.letters(t) // the one that confirms the address
	who, err := a.Authenticate(t.Context(), g.Token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Delete(t.Context(), who, "a wrong password"); !errors.Is(err, account.ErrWrongPassword) {
		t.Errorf("with a wrong password: %v", err)
	}
	if _, err := a.Delete(t.Context(), who, ""); apierr.From(err).Kind != apierr.Forbidden {
		t.Errorf("without the password: %v", err)
	}
	d, err := a.Delete(t.Context(), who, passphrase)
	if err != nil || !d.DeleteAt.Equal(c.now().Add(account.DeletionDelay)) {
		t.Fatalf("%+v: %v", d, err)
	}
	if _, err := a.Authenticate(t.Context(), g.Token); !errors.Is(err, account.ErrNoSession) {
		t.Errorf("the session after the deletion: %v", err)
	}
	if letters, texts := p.letters(t); len(texts) != 1 || letters[0].Template != "account-deletion" || !strings.Contains(texts[0], "12 January 2026 at 09:30 UTC") {
		t.Errorf("mails: %q", texts)
	}

	c.pass(account.DeletionDelay - time.Minute)
	if _, err := a.Login(t.Context(), g.Developer.Email, passphrase, account.Client{}); err != nil {
		t.Fatalf("sign in before the removal: %v", err)
	}
	if err := a.Restore(t.Context(), g.Developer.ID); err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(t.Context(), g.Developer.ID); !errors.Is(err, account.ErrNotScheduled) {
		t.Errorf("restored twice: %v", err)
	}
	c.pass(time.Hour)
	if err := remover(p, c).Round(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Developer(t.Context(), g.Developer.ID); err != nil {
		t.Errorf("a restored account: %v", err)
	}
}

func TestAnAccountWithoutPasswordIsDeletedAfterAFreshSignIn(t *testing.T) {
	a, p, c := withMail(t)
	now := c.now()
	made, err := p.store.DeveloperByGoogle(t.Context(), "subject", account.Developer{
		ID: "5a1e3a1e-7f3f-4a53-9d0a-0f4a1c1d2e3f", Name: "Ada", Email: "ada@example.com", Plan: plan.Free, VerifiedAt: &now, CreatedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	session := account.Session{ID: "6b2e3a1e-7f3f-4a53-9d0a-0f4a1c1d2e3f", DeveloperID: made.ID, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := p.store.CreateSession(t.Context(), session, []byte("x"), 10); err != nil {
		t.Fatal(err)
	}
	who := account.Identity{DeveloperID: made.ID, SessionID: session.ID}
	c.pass(account.RecentSignIn + time.Second)
	if _, err := a.Delete(t.Context(), who, ""); apierr.From(err).Kind != apierr.Forbidden {
		t.Errorf("with an old sign-in: %v", err)
	}
	c.pass(-time.Minute)
	if _, err := a.Delete(t.Context(), who, ""); err != nil {
		t.Errorf("with a fresh sign-in: %v", err)
	}
}

func TestOneReplicaRemovesWhatIsDue(t *testing.T) {
	a, p, c := withMail(t)
	g := register(t, a)
	if _, err := a.Delete(t.Context(), account.Identity{DeveloperID: g.Developer.ID, SessionID: g.Session.ID}, passphrase); err != nil {
		t.Fatal(err)
	}
	gone := func() bool {
		t.Helper()
		_, err := a.Developer(t.Context(), g.Developer.ID)
		if err != nil && !errors.Is(err, account.ErrNoDeveloper) {
			t.Fatal(err)
		}
		return err != nil
	}
	r := remover(p, c)
	c.pass(account.DeletionDelay - time.Minute)
	if err := r.Round(t.Context(), "one"); err != nil || gone() {
		t.Fatalf("before its time: %v", err)
	}
	c.pass(time.Minute)
	if _, err := p.store.Lease(t.Context(), "account_removal", "another", c.now(), c.now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := r.Round(t.Context(), "one"); err != nil || gone() {
		t.Fatalf("without the lease: %v", err)
	}
	c.pass(2 * time.Minute)
	if err := r.Round(t.Context(), "one"); err != nil || !gone() {
		t.Fatalf("when it is due: %v", err)
	}
	if _, err := a.Create(t.Context(), "Ada", g.Developer.Email, passphrase); err != nil {
		t.Errorf("the address afterwards: %v", err)
	}
}

func remover(p *post, c *clock) *account.Remover {
	return &account.Remover{Store: p.store, Log: slog.New(slog.DiscardHandler), Now: c.now}
}

const passphrase = "correct horse battery"
