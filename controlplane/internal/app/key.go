package app

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// Key is an API key, or a Darwin token, without its value.
type Key struct {
	ID             string
	DeveloperID    string
	AppID          *string // nil for a Darwin token
	Kind           key.Kind
	Hint           string   // what may be shown of the value
	Name           string   // of a Darwin token
	Scopes         []string // of a Darwin token
	Metadata       string   // of a Darwin token: the JSON object it was created with
	ExpiresAt      *time.Time
	CreatedAt      time.Time
	LastUsedAt     *time.Time
	RevokedAt      *time.Time
	RevokedVersion *int64 // the config version that told the nodes of the revocation
}

// Status is "active" or "revoked".
func (k Key) Status() string {
	if k.RevokedAt != nil {
		return "revoked"
	}
	return "active"
}

// Secret is a value of a key as it is stored.
type Secret struct {
	Hash []byte // SHA-256 of the value
	Hint string
	secret.Sealed
	CreatedAt time.Time
}

// NewKey is a key with its value, which nobody sees again but at [Apps.Reveal], and the config version that tells the
// nodes of it.
type NewKey struct {
	Key
	Value     string
	ValueMade time.Time
	Version   plane.Version
}

// CreateKey makes a key of an app, of the kind that the app's environment says. Errors: ErrNoApp, 403 over KeysPerAppMax.
func (s *Apps) CreateKey(ctx context.Context, developerID, appID string) (NewKey, error) {
	a, err := s.Get(ctx, developerID, appID)
	if err != nil {
		return NewKey{}, err
	}
	return s.create(ctx, Key{DeveloperID: developerID, AppID: &a.ID, Kind: KindOf(a.Environment), Metadata: "{}"})
}

// Keys returns the keys of an app, newest first. Errors: ErrNoApp.
func (s *Apps) Keys(ctx context.Context, developerID, appID string) ([]Key, error) {
	if !isID(appID) {
		return nil, ErrNoApp
	}
	return s.Store.Keys(ctx, developerID, appID)
}

// RegenerateKey gives a key a new value; the old one stops working. Errors: ErrNoApp, ErrNoKey, ErrKeyRevoked.
func (s *Apps) RegenerateKey(ctx context.Context, developerID, appID, keyID string) (NewKey, error) {
	if err := checkIDs(appID, keyID); err != nil {
		return NewKey{}, err
	}
	k, err := s.Store.Key(ctx, developerID, appID, keyID)
	if err != nil {
		return NewKey{}, err
	}
	value, sealed, err := s.mint(k)
	if err != nil {
		return NewKey{}, err
	}
	version, err := s.Store.RegenerateKey(ctx, k, sealed)
	if err != nil {
		return NewKey{}, fmt.Errorf("regenerate a key: %w", err)
	}
	k.Hint = sealed.Hint
	return NewKey{k, value, sealed.CreatedAt, version}, nil
}

// RevokeKey ends a key for good. Errors: ErrNoApp, ErrNoKey.
func (s *Apps) RevokeKey(ctx context.Context, developerID, appID, keyID string) (Key, error) {
	if err := checkIDs(appID, keyID); err != nil {
		return Key{}, err
	}
	return s.Store.RevokeKey(ctx, developerID, appID, keyID, s.now())
}

// Reveal returns the value of a key and records that it was read. Errors: ErrNoApp, ErrNoKey, ErrKeyRevoked.
func (s *Apps) Reveal(ctx context.Context, developerID, appID, keyID string) (string, error) {
	if err := checkIDs(appID, keyID); err != nil {
		return "", err
	}
	sealed, err := s.Store.ReadSecret(ctx, developerID, appID, keyID, uuid.NewString(), s.now())
	if err != nil {
		return "", fmt.Errorf("read a key: %w", err)
	}
	value, err := s.Vault.Open(sealed.Sealed, sealContext(developerID, keyID, sealed.Hash))
	if err != nil {
		return "", fmt.Errorf("read a key: %w", err)
	}
	return string(value), nil
}

// TokenRequest is what the creator of a Darwin token can say.
type TokenRequest struct {
	Name      string
	Scopes    []string
	ExpiresAt *time.Time
	Metadata  []byte // the JSON object with all of it
}

// CreateToken makes a Darwin token. Errors: 403 over TokensPerDeveloperMax, 422.
func (s *Apps) CreateToken(ctx context.Context, developerID string, r TokenRequest) (NewKey, error) {
	expires := stored(r.ExpiresAt)
	items := checkTasks("scopes", r.Scopes)
	if items = append(items, checkFuture(expires, s.now())...); len(items) > 0 {
		return NewKey{}, apierr.Violations(items...)
	}
	return s.create(ctx, Key{
		DeveloperID: developerID, Kind: key.Darwin, Name: r.Name, Scopes: r.Scopes, Metadata: string(r.Metadata), ExpiresAt: expires,
	})
}

// Tokens returns the Darwin tokens of a developer, newest first.
func (s *Apps) Tokens(ctx context.Context, developerID string) ([]Key, error) {
	return s.Store.Tokens(ctx, developerID)
}

// RevokeToken ends a Darwin token for good. Errors: ErrNoToken.
func (s *Apps) RevokeToken(ctx context.Context, developerID, keyID string) (Key, error) {
	if !isID(keyID) {
		return Key{}, ErrNoToken
	}
	return s.Store.RevokeKey(ctx, developerID, "", keyID, s.now())
}

func (s *Apps) create(ctx context.Context, k Key) (NewKey, error) {
	k.ID = uuid.NewString()
	if k.Scopes == nil {
		k.Scopes = []string{}
	}
	value, sealed, err := s.mint(k)
	if err != nil {
		return NewKey{}, err
	}
	k.Hint, k.CreatedAt = sealed.Hint, sealed.CreatedAt
	version, err := s.Store.CreateKey(ctx, k, sealed)
	if err != nil {
		return NewKey{}, fmt.Errorf("create a key: %w", err)
	}
	return NewKey{k, value, sealed.CreatedAt, version}, nil
}

// mint makes a value for a key.
func (s *Apps) mint(k Key) (string, Secret, error) {
	value, err := key.Mint(k.Kind, s.Pepper)
	if err != nil {
		return "", Secret{}, err
	}
	hash := key.Hash(value)
	sealed, err := s.Vault.Seal([]byte(value), sealContext(k.DeveloperID, k.ID, hash[:]))
	if err != nil {
		return "", Secret{}, err
	}
	return value, Secret{Hash: hash[:], Hint: key.Hint(value), Sealed: sealed, CreatedAt: s.now()}, nil
}

// sealContext ties a sealed value to its row.
func sealContext(developerID, keyID string, hash []byte) string {
	return "api_key|" + developerID + "|" + keyID + "|" + hex.EncodeToString(hash)
}

func checkIDs(appID, keyID string) error {
	if !isID(appID) {
		return ErrNoApp
	}
	if !isID(keyID) {
		return ErrNoKey
	}
	return nil
}
