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

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
)

// Accounts registers developers, signs them in and recognizes them.
type Accounts struct {
	Store     Store
	Passwords *Passwords
	Signer    *Signer
	Throttle  *Throttle
	Log       *slog.Logger
	Now       func() time.Time

	mu    sync.Mutex
	valid map[string]validSession // by session id
}

type validSession struct {
	developerID string
	until       time.Time
}

// Grant is a new session with its token.
type Grant struct {
	Token     string
	Session   Session
	Developer Developer
}

// Register creates an account on the Free plan and signs it in. remote is the address of the client. Errors: 422,
// ErrEmailTaken, 429.
func (a *Accounts) Register(ctx context.Context, name, email, password, remote string) (Grant, error) {
	if err := a.Throttle.Attempt("register/"+Network(remote), paceRegister); err != nil {
		return Grant{}, err
	}
	d, err := a.Create(ctx, name, email, password)
	if err != nil {
		return Grant{}, err
	}
	return a.open(ctx, d)
}

// Create creates an account on the Free plan. Errors: 422, ErrEmailTaken.
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
	if err := checkPassword(password, name, email); err != nil {
		return Developer{}, err
	}
	hash, err := a.Passwords.Hash(ctx, password)
	if err != nil {
		return Developer{}, err
	}
	d := Developer{ID: uuid.NewString(), Name: name, Email: email, Plan: plan.Free, CreatedAt: a.now()}
	if err := a.Store.CreateDeveloper(ctx, Credentials{d, hash}); err != nil {
		return Developer{}, fmt.Errorf("register: %w", err)
	}
	return d, nil
}

// Login signs a developer in. remote is the address of the client. Errors: ErrWrongLogin, 429.
func (a *Accounts) Login(ctx context.Context, email, password, remote string) (Grant, error) {
	account, network := "login/"+strings.ToLower(strings.TrimSpace(email)), "login/"+Network(remote)
	if err := a.Throttle.Attempt(network, paceNetwork); err != nil {
		return Grant{}, err
	}
	if err := a.Throttle.Attempt(account, paceLogin); err != nil {
		return Grant{}, err
	}
	d, err := a.authenticate(ctx, email, password)
	if errors.Is(err, ErrWrongLogin) {
		return Grant{}, err
	}
	// What is left is success or a failure of ours; neither is held against anyone.
	a.Throttle.Forgive(account)
	a.Throttle.Refund(network)
	if err != nil {
		return Grant{}, fmt.Errorf("sign in: %w", err)
	}
	return a.open(ctx, d)
}

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
		return Developer{}, ErrWrongLogin
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

// open begins a session.
func (a *Accounts) open(ctx context.Context, d Developer) (Grant, error) {
	now := a.now()
	s := Session{ID: uuid.NewString(), DeveloperID: d.ID, CreatedAt: now, ExpiresAt: now.Add(SessionTTL)}
	if err := a.Store.CreateSession(ctx, s, SessionsPerDevMax); err != nil {
		return Grant{}, fmt.Errorf("open a session: %w", err)
	}
	token, err := a.Signer.Sign(s)
	if err != nil {
		return Grant{}, err
	}
	return Grant{Token: token, Session: s, Developer: d}, nil
}

// Authenticate returns the id of the developer whose session the token names. Errors: ErrNoToken, ErrNoSession.
func (a *Accounts) Authenticate(ctx context.Context, token string) (developerID string, err error) {
	if token == "" {
		return "", ErrNoToken
	}
	now := a.Now()
	sid, developerID, err := a.Signer.Read(token, now)
	if err != nil {
		return "", ErrNoSession.Because(err)
	}
	if a.remembered(sid, developerID, now) {
		return developerID, nil
	}
	s, err := a.Store.Session(ctx, sid)
	if err != nil {
		return "", fmt.Errorf("check a session: %w", err)
	}
	if s.DeveloperID != developerID || !now.Before(s.ExpiresAt) {
		return "", ErrNoSession
	}
	a.remember(sid, validSession{developerID, now.Add(SessionCacheTTL)})
	return developerID, nil
}

// Developer returns the developer with the id.
func (a *Accounts) Developer(ctx context.Context, id string) (Developer, error) {
	return a.Store.Developer(ctx, id)
}

func (a *Accounts) remembered(sid, developerID string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.valid[sid]
	return ok && v.developerID == developerID && now.Before(v.until)
}

func (a *Accounts) remember(sid string, v validSession) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.valid == nil || len(a.valid) >= SessionCacheMax { // starting over costs one query per session
		a.valid = make(map[string]validSession)
	}
	a.valid[sid] = v
}

// now is the time as the database keeps it.
func (a *Accounts) now() time.Time { return a.Now().UTC().Truncate(time.Microsecond) }
