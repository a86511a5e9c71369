package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/id"
)

// Client is who signs in.
type Client struct {
	Address   string // IP address
	UserAgent string
}

// Session is a sign-in.
type Session struct {
	ID          string
	DeveloperID string
	Address     string // of the client that signed in
	UserAgent   string
	CreatedAt   time.Time
	UsedAt      *time.Time // when it was last renewed
	ExpiresAt   time.Time  // unless it is renewed before
}

// Renewed returns the session as it is after a renewal at now.
func (s Session) Renewed(now time.Time) Session {
	s.UsedAt, s.ExpiresAt = &now, now.Add(SessionTTL)
	if last := s.CreatedAt.Add(SessionMax); s.ExpiresAt.After(last) {
		s.ExpiresAt = last
	}
	return s
}

// Identity is who a token belongs to.
type Identity struct {
	DeveloperID string
	SessionID   string
}

// SessionStore is what sessions ask of storage.
type SessionStore interface {
	// CreateSession keeps at most keep sessions of the developer: the oldest end. refresh is the hash of its first refresh cookie.
	CreateSession(ctx context.Context, s Session, refresh []byte, keep int) error
	// Session returns ErrNoSession if there is none with the id.
	Session(ctx context.Context, id string) (Session, error)
	// Sessions returns the sessions that have not expired, the newest first.
	Sessions(ctx context.Context, developerID string, now time.Time, limit int) ([]Session, error)
	// EndSession returns ErrSessionGone if the developer has none with the id.
	EndSession(ctx context.Context, developerID, id string) error
	// EndOtherSessions ends all sessions but keep.
	EndOtherSessions(ctx context.Context, developerID, keep string) (ended int64, err error)
	// RenewSession replaces the refresh cookie with the hash old by one with the hash fresh and extends the session. A cookie that
	// was used before ends its session. Errors: ErrNoRefresh, ErrRefreshBusy, ErrRefreshReused.
	RenewSession(ctx context.Context, old, fresh []byte, now time.Time) (Session, error)
}

// What can be wrong with a session that is renewed or ended.
var (
	ErrSessionGone   = apierr.New(apierr.NotFound, "There is no such session.")
	ErrNoRefresh     = apierr.New(apierr.Unauthorized, "There is no session to renew. Sign in again.")
	ErrRefreshBusy   = apierr.New(apierr.Conflict, "The session has just been renewed, perhaps in another window. Try again with the new cookie.").After(time.Second)
	ErrRefreshReused = apierr.New(apierr.Unauthorized, "The session was ended, because its cookie was used twice. Sign in again.")
)

// open begins a session.
func (a *Accounts) open(ctx context.Context, d Developer, c Client) (Grant, error) {
	now := a.now()
	s := Session{
		ID: uuid.NewString(), DeveloperID: d.ID, Address: c.Address, UserAgent: cut(c.UserAgent, UserAgentMax), CreatedAt: now,
		ExpiresAt: now.Add(SessionTTL),
	}
	refresh, hash := newSecret()
	if err := a.Store.CreateSession(ctx, s, hash, SessionsPerDevMax); err != nil {
		return Grant{}, fmt.Errorf("open a session: %w", err)
	}
	return a.grant(s, d, refresh, now)
}

// grant makes the token of a session.
func (a *Accounts) grant(s Session, d Developer, refresh string, now time.Time) (Grant, error) {
	g := Grant{Session: s, Developer: d, Refresh: refresh, IssuedAt: now, ExpiresAt: now.Add(TokenTTL)}
	if g.ExpiresAt.After(s.ExpiresAt) {
		g.ExpiresAt = s.ExpiresAt
	}
	var err error
	g.Token, err = a.Signer.Sign(s, g.IssuedAt, g.ExpiresAt)
	return g, err
}

// Refresh renews a session by its refresh cookie, which works once. Errors: ErrNoRefresh, ErrRefreshBusy, ErrRefreshReused.
func (a *Accounts) Refresh(ctx context.Context, refresh string) (Grant, error) {
	old, ok := secretHash(refresh)
	if !ok {
		return Grant{}, ErrNoRefresh
	}
	now := a.now()
	fresh, hash := newSecret()
	s, err := a.Store.RenewSession(ctx, old, hash, now)
	if err != nil {
		if s.ID != "" {
			a.forget(s.ID)
		}
		return Grant{}, fmt.Errorf("renew a session: %w", err)
	}
	d, err := a.Store.Developer(ctx, s.DeveloperID)
	if err != nil {
		return Grant{}, fmt.Errorf("renew a session: %w", err)
	}
	return a.grant(s, d, fresh, now)
}

// Authenticate returns whose session the token names. Errors: ErrNoToken, ErrNoSession.
func (a *Accounts) Authenticate(ctx context.Context, token string) (Identity, error) {
	if token == "" {
		return Identity{}, ErrNoToken
	}
	now := a.Now()
	sid, developerID, err := a.Signer.Read(token, now)
	if err != nil {
		return Identity{}, ErrNoSession.Because(err)
	}
	who := Identity{developerID, sid}
	if a.remembered(sid, developerID, now) {
		return who, nil
	}
	s, err := a.Store.Session(ctx, sid)
	if err != nil {
		return Identity{}, fmt.Errorf("check a session: %w", err)
	}
	if s.DeveloperID != developerID || !now.Before(s.ExpiresAt) {
		return Identity{}, ErrNoSession
	}
	a.remember(sid, validSession{developerID, now.Add(SessionCacheTTL)})
	return who, nil
}

// Sessions returns the open sessions of a developer, the newest first.
func (a *Accounts) Sessions(ctx context.Context, developerID string) ([]Session, error) {
	return a.Store.Sessions(ctx, developerID, a.now(), SessionsPerDevMax)
}

// EndSession ends a session. Error: ErrSessionGone.
func (a *Accounts) EndSession(ctx context.Context, developerID, sessionID string) error {
	if !id.Valid(sessionID) {
		return ErrSessionGone
	}
	if err := a.Store.EndSession(ctx, developerID, sessionID); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	a.forget(sessionID)
	return nil
}

// EndOtherSessions ends all sessions of a developer but the one that asks, and returns how many there were.
func (a *Accounts) EndOtherSessions(ctx context.Context, who Identity) (int64, error) {
	ended, err := a.Store.EndOtherSessions(ctx, who.DeveloperID, who.SessionID)
	a.forgetAll(who.DeveloperID)
	return ended, err
}

// newSecret returns 256 random bits as text for a cookie or a link, and the hash that is stored of them.
func newSecret() (text string, hash []byte) {
	var b [32]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	text = base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(text))
	return text, sum[:]
}

// secretHash is the hash of a text that newSecret could have returned.
func secretHash(text string) ([]byte, bool) {
	if b, err := base64.RawURLEncoding.DecodeString(text); err != nil || len(b) != sha256.Size {
		return nil, false
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:], true
}

// cut is text of at most n bytes that a database can keep.
func cut(text string, n int) string {
	text = strings.ReplaceAll(text, "\x00", "")
	return strings.ToValidUTF8(text[:min(n, len(text))], "")
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

func (a *Accounts) forget(sid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.valid, sid)
}

func (a *Accounts) forgetAll(developerID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for sid, v := range a.valid {
		if v.developerID == developerID {
			delete(a.valid, sid)
		}
	}
}
