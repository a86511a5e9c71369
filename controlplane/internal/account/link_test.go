package account_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/controlplane/internal/store"
)

// post reads what waits in the outbox. Nothing is sent.
type post struct {
	store *store.Store
	vault *secret.Vault
	clock *clock
}

// withMail makes accounts that can send mail.
func withMail(t *testing.T) (*account.Accounts, *post, *clock) {
	t.Helper()
	a, s, c := onDatabase(t)
	vault, err := secret.NewVault([][]byte{make([]byte, secret.KeyBytes)})
	if err != nil {
		t.Fatal(err)
	}
	a.Vault = vault
	to, err := mail.NewServer(mail.Settings{SMTPURL: "smtp://127.0.0.1:1", From: "noreply@portal.example", TLS: mail.TLSNone})
	if err != nil {
		t.Fatal(err)
	}
	if a.Mailer, err = mail.New(to, vault, c.now); err != nil {
		t.Fatal(err)
	}
	return a, &post{s, vault, c}, c
}

// letters returns the letters that wait, by address and subject, and removes them.
func (p *post) letters(t *testing.T) (found []mail.Letter, texts []string) {
	t.Helper()
	all, err := p.store.ClaimMail(t.Context(), p.clock.now(), p.clock.now(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		plain, err := p.vault.Open(l.Sealed, "mail_outbox|"+l.ID+"|"+l.Recipient)
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Text string }
		if err := json.Unmarshal(plain, &r); err != nil {
			t.Fatal(err)
		}
		found, texts = append(found, l), append(texts, r.Text)
		if err := p.store.DropMail(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
	return found, texts
}

// token returns the token of the only letter that waits.
func (p *post) token(t *testing.T) string {
	t.Helper()
	_, texts := p.letters(t)
	if len(texts) != 1 {
		t.Fatalf("%d letters wait", len(texts))
	}
	m := regexp.MustCompile(`https://portal.example/dev/#/[\w-]+\?token=([\w-]+)`).FindStringSubmatch(texts[0])
	if m == nil {
		t.Fatalf("no link in %s", texts[0])
	}
	return m[1]
}

var client = account.Client{Address: "192.0.2.1"}

func TestLinksExpire(t *testing.T) {
	a, p, c := withMail(t)
	register(t, a)
	verify := p.token(t)
	c.pass(account.VerifyTTL)
	if err := a.VerifyEmail(t.Context(), verify, client); !errors.Is(err, account.ErrLinkExpired) {
		t.Errorf("confirm: %v", err)
	}
	if err := a.Forgot(t.Context(), "ada@example.com", client); err != nil {
		t.Fatal(err)
	}
	reset := p.token(t)
	c.pass(account.ResetTTL)
	if err := a.ResetPassword(t.Context(), reset, "a better horse", client); !errors.Is(err, account.ErrLinkExpired) {
		t.Errorf("reset: %v", err)
	}
}

// TestAnUnknownAddressLeavesTheSameTraces: the same rows, of which nothing ever leaves.
func TestAnUnknownAddressLeavesTheSameTraces(t *testing.T) {
	a, p, _ := withMail(t)
	register(t, a)
	p.letters(t)
	for _, who := range []struct {
		email string
		sent  bool
	}{{"Ada@Example.com", true}, {"nobody@example.com", false}} {
		if err := a.Forgot(t.Context(), who.email, client); err != nil {
			t.Fatal(err)
		}
		letters, texts := p.letters(t)
		if len(letters) != 1 || letters[0].ExpiresAt.After(letters[0].CreatedAt) != who.sent {
			t.Fatalf("%s: %d letters", who.email, len(letters))
		}
		token := regexp.MustCompile(`token=([\w-]+)`).FindStringSubmatch(texts[0])[1]
		if err := a.ResetPassword(t.Context(), token, "a better horse", client); errors.Is(err, account.ErrLinkExpired) == who.sent {
			t.Errorf("%s: %v", who.email, err)
		}
		p.letters(t) // that the password was changed
	}
}

func TestAResetLinkWorksOnceAndEndsEverything(t *testing.T) {
	a, p, _ := withMail(t)
	g := register(t, a)
	p.letters(t)
	if _, err := a.Authenticate(t.Context(), g.Token); err != nil {
		t.Fatal(err)
	}
	if err := a.Forgot(t.Context(), "ada@example.com", client); err != nil {
		t.Fatal(err)
	}
	token := p.token(t)
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		won int
	)
	for range 6 {
		all.Go(func() {
			err := a.ResetPassword(t.Context(), token, "a better horse", client)
			if err != nil && !errors.Is(err, account.ErrLinkExpired) {
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
		t.Errorf("the link worked %d times", won)
	}
	if letters, _ := p.letters(t); len(letters) != 1 || letters[0].Template != "password-changed" {
		t.Errorf("%d letters, want one of the new password", len(letters))
	}
	if _, err := a.Authenticate(t.Context(), g.Token); !errors.Is(err, account.ErrNoSession) {
		t.Errorf("the session goes on: %v", err)
	}
	if _, err := a.Refresh(t.Context(), g.Refresh); !errors.Is(err, account.ErrNoRefresh) {
		t.Errorf("the cookie goes on: %v", err)
	}
	after, err := a.Login(t.Context(), "ada@example.com", "a better horse", client)
	if err != nil || after.Developer.VerifiedAt == nil {
		t.Errorf("%+v, %v", after.Developer, err)
	}
}

func TestANewLinkReplacesTheOld(t *testing.T) {
	a, p, c := withMail(t)
	g := register(t, a)
	old := p.token(t)
	if _, err := a.SendVerification(t.Context(), g.Developer.ID); err != nil {
		t.Fatal(err)
	}
	fresh := p.token(t)
	if err := a.VerifyEmail(t.Context(), old, client); !errors.Is(err, account.ErrLinkExpired) {
		t.Errorf("the old one: %v", err)
	}
	c.pass(time.Minute)
	if err := a.VerifyEmail(t.Context(), fresh, client); err != nil {
		t.Errorf("the new one: %v", err)
	}
	if _, err := a.SendVerification(t.Context(), g.Developer.ID); !errors.Is(err, account.ErrVerified) {
		t.Errorf("once more: %v", err)
	}
}

func TestNobodyIsFloodedWithLinks(t *testing.T) {
	a, p, _ := withMail(t)
	register(t, a)
	p.letters(t)
	sent := 0
	for range 10 {
		if a.Forgot(t.Context(), "ada@example.com", client) == nil {
			sent++
		}
	}
	if sent != account.ThrottleMailFree {
		t.Errorf("%d mails at once", sent)
	}
}
