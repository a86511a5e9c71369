package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/google"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
)

// Accounts registers developers, signs them in and recognizes them.
type Accounts struct {
	Store     Store
	Passwords *Passwords
	Signer    *Signer
	Throttle  *Throttle
	Vault     *secret.Vault
	Google    *google.Verifier
	Mailer    *mail.Mailer
	PublicURL string // of the portal, for links in mails
	Log       *slog.Logger
	Now       func() time.Time

	mu    sync.Mutex
	valid map[string]validSession // by session id
}

type validSession struct {
	developerID string
	until       time.Time
}

// Grant is a session with new tokens.
type Grant struct {
	Token     string
	IssuedAt  time.Time // of the token
	ExpiresAt time.Time // of the token
	Refresh   string    // value of the refresh cookie
	Challenge string    // instead of all of these: a second factor is asked for, until ExpiresAt
	Session   Session
	Developer Developer
}

// Register creates an account on the Free plan and signs it in. Errors: 422,
// ErrEmailTaken, 429.
func (a *Accounts) Register(ctx context.Context, name, email, password string, c Client) (Grant, error) {
	if err := a.Throttle.Attempt("register/"+Network(c.Address), paceRegister); err != nil {
		return Grant{}, err
	}
	d, err := a.Create(ctx, name, email, password)
	if err != nil {
		return Grant{}, err
	}
	return a.open(ctx, d, c)
}

// Create creates an account on the Free plan and, if mail is configured, asks to confirm the address. Errors: 422, ErrEmailTaken.
func (a *Accounts) Create(ctx context.Context, name, email, password string) (Developer, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return Developer{}, apierr.Violations(apierr.Item{
			Type: "string_too_short", Loc: []any{"body", "name"}, Msg: "String should have at least 1 character",
			Input: name, Ctx: map[string]any{"min_length": 1},
		})
	}
	email, err := NormalizeEmail(email)
	if err != nil {
		return Developer{}, err
	}
	if err := checkPassword("password", password, name, email); err != nil {
		return Developer{}, err
	}
	hash, err := a.Passwords.Hash(ctx, password)
	if err != nil {
		return Developer{}, err
	}
	d := Developer{ID: uuid.NewString(), Name: name, Email: email, Plan: plan.Free, CreatedAt: a.now()}
	var links []MailedLink
	if a.Mailer.Configured() {
		m, err := a.link(LinkVerify, d.Email)
		if err != nil {
			return Developer{}, err
		}
		links = append(links, m)
	}
	if err := a.Store.CreateDeveloper(ctx, Credentials{d, hash}, links...); err != nil {
		return Developer{}, fmt.Errorf("register: %w", err)
	}
	return d, nil
}

// Login signs a developer in; with a second factor the grant is a challenge. Errors: ErrWrongLogin, 429.
func (a *Accounts) Login(ctx context.Context, email, password string, c Client) (Grant, error) {
	account, network := "login/"+strings.ToLower(strings.TrimSpace(email)), "login/"+Network(c.Address)
	if err := a.Throttle.Attempt(network, paceNetwork); err != nil {
		return Grant{}, err
	}
	if err := a.Throttle.Attempt(account, paceLogin); err != nil {
		return Grant{}, err
	}
	d, err := a.authenticate(ctx, email, password)
	if errors.Is(err, ErrWrongLogin) {
		a.noteLock(ctx, account, d.ID)
		return Grant{}, err
	}
	// What is left is success or a failure of ours; neither is held against anyone.
	a.Throttle.Forgive(account)
	a.Throttle.Refund(network)
	if err != nil {
		return Grant{}, fmt.Errorf("sign in: %w", err)
	}
	return a.enter(ctx, d, c)
}

// noteLock records the moment from which wrong passwords make an account wait. That it is recorded for unknown addresses too
// makes it cost the same.
func (a *Accounts) noteLock(ctx context.Context, subject, developerID string) {
	if a.Throttle.Count(subject) != ThrottleAccountFree {
		return
	}
	if err := a.Store.RecordLock(ctx, developerID); err != nil {
		a.Log.Warn("a locked account was not recorded", slog.String("developer_id", developerID), slog.Any("err", err))
	}
}

// authenticate returns whose e-mail address and password they are. With ErrWrongLogin it returns whose address it is, if it
// is anybody's.
func (a *Accounts) authenticate(ctx context.Context, email, password string) (Developer, error) {
	var c Credentials
	normal, err := NormalizeEmail(email)
	if err == nil {
		c, err = a.Store.CredentialsByEmail(ctx, normal)
		if err != nil && !errors.Is(err, ErrNoDeveloper) {
			return Developer{}, err
		}
	}
	match, weak, err := a.Passwords.Compare(ctx, password, c.PasswordHash)
	if err != nil {
		return Developer{}, err
	}
	if !match {
		return c.Developer, ErrWrongLogin
	}
	if weak {
		a.rehash(ctx, c.ID, password)
	}
	return c.Developer, nil
}

// rehash replaces a hash that was made at a lower cost. Failing is no reason to refuse a sign-in; the next one tries again.
func (a *Accounts) rehash(ctx context.Context, id, password string) {
	hash, err := a.Passwords.Hash(ctx, password)
	if err == nil {
		err = a.Store.SetPasswordHash(ctx, id, hash)
	}
	if err != nil {
		a.Log.Warn("password not rehashed", slog.String("developer_id", id), slog.Any("err", err))
	}
}

// ChangePassword replaces the password of a developer who knows the old one, ends the other sessions and tells the owner by
// mail. It returns how many sessions ended. Errors: 422, ErrWrongPassword, 429.
func (a *Accounts) ChangePassword(ctx context.Context, who Identity, current, fresh string) (ended int64, err error) {
	d, err := a.Store.Developer(ctx, who.DeveloperID)
	if err != nil {
		return 0, err
	}
	if err := checkPassword("new_password", fresh, d.Name, d.Email); err != nil {
		return 0, err
	}
	if err := a.confirm(ctx, d, current); err != nil {
		return 0, err
	}
	hash, err := a.Passwords.Hash(ctx, fresh)
	if err != nil {
		return 0, err
	}
	letters, err := a.letter(mail.Message{To: d.Email, Content: mail.PasswordChanged{At: a.now(), PortalURL: a.PublicURL}}, NoticeTTL)
	if err != nil {
		return 0, err
	}
	ended, err = a.Store.SetPassword(ctx, d.ID, hash, who.SessionID, letters...)
	a.forgetAll(d.ID)
	return ended, err
}

// confirm makes sure that whoever has the session also knows the password. Errors: ErrWrongPassword, 429.
func (a *Accounts) confirm(ctx context.Context, d Developer, password string) error {
	subject := "password/" + d.ID
	if err := a.Throttle.Attempt(subject, paceLogin); err != nil {
		return err
	}
	_, err := a.authenticate(ctx, d.Email, password)
	if errors.Is(err, ErrWrongLogin) {
		return ErrWrongPassword
	}
	a.Throttle.Forgive(subject)
	return err
}

// letter makes the letters of a message: one, or none when mail is not configured.
func (a *Accounts) letter(m mail.Message, useful time.Duration) ([]mail.Letter, error) {
	if !a.Mailer.Configured() {
		return nil, nil
	}
	l, err := a.Mailer.Letter(m, a.now().Add(useful))
	return []mail.Letter{l}, err
}

// Developer returns the developer with the id.
func (a *Accounts) Developer(ctx context.Context, id string) (Developer, error) {
	return a.Store.Developer(ctx, id)
}

// now is the time as the database keeps it.
func (a *Accounts) now() time.Time { return a.Now().UTC().Truncate(time.Microsecond) }
