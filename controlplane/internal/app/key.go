package app

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/id"
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
	RevokedVersion *int64     // the config version that told the nodes of the revocation
	PreviousUntil  *time.Time // the last end of the values before the current one; nil when none was given time
	OrgID          *string    // the organization that owns its app
}

// account is whose key it is: an organization's, or a developer's. It never changes.
func (k Key) account() string {
	if k.OrgID != nil {
		return *k.OrgID
	}
	return k.DeveloperID
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

// Made is what a creation or regeneration did: now, or when it was asked for under the same Idempotency-Key before. Its
// key has the PreviousUntil that the request gave.
type Made struct {
	Key     Key
	Secret  Secret
	Version plane.Version
}

// CreateKey makes a key of an app, of the kind that the app's environment says. Errors: ErrNoApp, 403 over KeysPerAppMax,
// those of a repeated [Once].
func (s *Apps) CreateKey(ctx context.Context, developerID, appID string, once *Once) (NewKey, error) {
	a, err := s.Get(ctx, developerID, appID)
	if err != nil {
		return NewKey{}, err
	}
	return s.create(ctx, Key{DeveloperID: developerID, AppID: &a.ID, OrgID: a.OrgID, Kind: KindOf(a.Environment), Metadata: "{}"}, once)
}

// Keys returns the keys of an app, newest first. Errors: ErrNoApp.
func (s *Apps) Keys(ctx context.Context, developerID, appID string) ([]Key, error) {
	if !id.Valid(appID) {
		return nil, ErrNoApp
	}
	return s.Store.Keys(ctx, developerID, appID)
}

// RegenerateKey gives a key a new value. The values before it work for grace longer, or until their own end if that comes
// first; without grace all of them end at once. Errors: ErrNoApp, ErrNoKey, ErrKeyRevoked, ErrManyValues, those of a
// repeated [Once].
func (s *Apps) RegenerateKey(ctx context.Context, developerID, appID, keyID string, grace time.Duration, once *Once) (NewKey, error) {
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
	made, err := s.Store.RegenerateKey(ctx, developerID, k, sealed, grace, once)
	if err != nil {
		return NewKey{}, fmt.Errorf("regenerate a key: %w", err)
	}
	return s.newKey(made, sealed, value)
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
	k, sealed, err := s.Store.ReadSecret(ctx, developerID, appID, keyID, uuid.NewString(), s.now())
	if err != nil {
		return "", fmt.Errorf("read a key: %w", err)
	}
	value, err := s.Vault.Open(sealed.Sealed, SealContext(k.account(), k.ID, sealed.Hash))
	if err != nil {
		return "", fmt.Errorf("read a key: %w", err)
	}
	return string(value), nil
}

// KeyValue is a value of a key, by the hash that nodes look it up by.
type KeyValue struct {
	KeyID   string
	AppID   string
	Hash    []byte
	Version plane.Version // the nodes that have it know the value
}

// Chosen returns the key that a token stands for: the one that is named, the oldest that works of the named app, or, where
// neither is, the developer's oldest. Errors: ErrNoActiveKey; ErrNoChosenKey, also of what is not the developer's.
func (s *Apps) Chosen(ctx context.Context, developerID, appID, keyID string) (KeyValue, error) {
	for _, chosen := range []string{appID, keyID} {
		if chosen != "" && !id.Valid(chosen) {
			return KeyValue{}, ErrNoChosenKey
		}
	}
	k, err := s.Store.OldestKey(ctx, developerID, choice(appID), choice(keyID), s.now())
	if errors.Is(err, ErrNoActiveKey) && appID+keyID != "" {
		return KeyValue{}, ErrNoChosenKey
	}
	return k, err
}

// choice is what a query takes for an ID that need not be named.
func choice(named string) *string {
	if named == "" {
		return nil
	}
	return &named
}

// Value returns the current value of a key that works, for a call on behalf of the developer: the chosen key, the oldest of
// the chosen app, or without a choice the oldest test key. It is not for anybody's eyes and no reading of it is recorded.
// Errors: ErrNoApp, ErrNoKey, ErrNoKeyToUse.
func (s *Apps) Value(ctx context.Context, developerID, appID, keyID string) (string, error) {
	if appID != "" {
		if _, err := s.Get(ctx, developerID, appID); err != nil {
			return "", err
		}
	}
	if keyID != "" && !id.Valid(keyID) {
		return "", ErrNoKey
	}
	k, sealed, err := s.Store.KeyToUse(ctx, developerID, choice(appID), choice(keyID), s.now())
	if err != nil {
		return "", err
	}
	value, err := s.Vault.Open(sealed.Sealed, SealContext(k.account(), k.ID, sealed.Hash))
	if err != nil {
		return "", fmt.Errorf("use a key: %w", err)
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

// CreateToken makes a Darwin token. Errors: 403 over TokensPerDeveloperMax, 422, those of a repeated [Once].
func (s *Apps) CreateToken(ctx context.Context, developerID string, r TokenRequest, once *Once) (NewKey, error) {
	expires := stored(r.ExpiresAt)
	items := checkTasks("scopes", r.Scopes)
	if items = append(items, checkFuture(expires, s.now())...); len(items) > 0 {
		return NewKey{}, apierr.Violations(items...)
	}
	return s.create(ctx, Key{
		DeveloperID: developerID, Kind: key.Darwin, Name: r.Name, Scopes: r.Scopes, Metadata: string(r.Metadata), ExpiresAt: expires,
	}, once)
}

// Tokens returns the Darwin tokens of a developer, newest first.
func (s *Apps) Tokens(ctx context.Context, developerID string) ([]Key, error) {
	return s.Store.Tokens(ctx, developerID)
}

// RevokeToken ends a Darwin token for good. Errors: ErrNoToken.
func (s *Apps) RevokeToken(ctx context.Context, developerID, keyID string) (Key, error) {
	if !id.Valid(keyID) {
		return Key{}, ErrNoToken
	}
	return s.Store.RevokeKey(ctx, developerID, "", keyID, s.now())
}

func (s *Apps) create(ctx context.Context, k Key, once *Once) (NewKey, error) {
	k.ID = uuid.NewString()
	if k.Scopes == nil {
		k.Scopes = []string{}
	}
	value, sealed, err := s.mint(k)
	if err != nil {
		return NewKey{}, err
	}
	k.Hint, k.CreatedAt = sealed.Hint, sealed.CreatedAt
	made, err := s.Store.CreateKey(ctx, k, sealed, once)
	if err != nil {
		return NewKey{}, fmt.Errorf("create a key: %w", err)
	}
	return s.newKey(made, sealed, value)
}

// newKey is what was made, with its value: the one just minted, or the one of the request that this one repeats.
func (s *Apps) newKey(made Made, minted Secret, value string) (NewKey, error) {
	if !bytes.Equal(made.Secret.Hash, minted.Hash) {
		plain, err := s.Vault.Open(made.Secret.Sealed, SealContext(made.Key.account(), made.Key.ID, made.Secret.Hash))
		if err != nil {
			return NewKey{}, fmt.Errorf("repeat an answer: %w", err)
		}
		value = string(plain)
	}
	return NewKey{made.Key, value, made.Secret.CreatedAt, made.Version}, nil
}

// mint makes a value for a key.
func (s *Apps) mint(k Key) (string, Secret, error) {
	value, err := key.Mint(k.Kind, s.Pepper)
	if err != nil {
		return "", Secret{}, err
	}
	hash := key.Hash(value)
	sealed, err := s.Vault.Seal([]byte(value), SealContext(k.account(), k.ID, hash[:]))
	if err != nil {
		return "", Secret{}, err
	}
	return value, Secret{Hash: hash[:], Hint: key.Hint(value), Sealed: sealed, CreatedAt: s.now()}, nil
}

// SealContext ties a sealed value of a key to its row; the account is the organization's or the developer's.
func SealContext(accountID, keyID string, hash []byte) string {
	return "api_key|" + accountID + "|" + keyID + "|" + hex.EncodeToString(hash)
}

func checkIDs(appID, keyID string) error {
	if !id.Valid(appID) {
		return ErrNoApp
	}
	if !id.Valid(keyID) {
		return ErrNoKey
	}
	return nil
}
