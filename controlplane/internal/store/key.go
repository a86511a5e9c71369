package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// CreateKey implements [app.Store].
func (s *Store) CreateKey(ctx context.Context, k app.Key, secret app.Secret) (plane.Version, error) {
	var version plane.Version
	err := s.changing(ctx, "create key", func(tx pgx.Tx) error {
		if err := allowKey(ctx, tx, k); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, insertKey, k.ID, k.DeveloperID, k.AppID, k.Kind, k.Hint, k.Name, list(k.Scopes), k.Metadata, k.ExpiresAt,
			k.CreatedAt)
		if err != nil {
			return fmt.Errorf("insert key: %w", err)
		}
		if err := addSecret(ctx, tx, k.ID, secret); err != nil {
			return err
		}
		version, err = s.announceGrants(ctx, tx, selectGrantsOfKey, k.ID)
		return err
	})
	return version, err
}

// allowKey returns a 403 when there are too many keys or tokens already.
func allowKey(ctx context.Context, tx pgx.Tx, k app.Key) error {
	if k.AppID == nil {
		have, err := count(ctx, tx, countTokens, k.DeveloperID)
		if err == nil && have >= app.TokensPerDeveloperMax {
			err = apierr.New(apierr.Forbidden, fmt.Sprintf("You have %d active Darwin tokens, the most there can be. Revoke one first.", have))
		}
		return err
	}
	if _, err := loadApp(ctx, tx, k.DeveloperID, *k.AppID); err != nil {
		return err
	}
	have, err := count(ctx, tx, countKeys, *k.AppID)
	if err == nil && have >= app.KeysPerAppMax {
		err = apierr.New(apierr.Forbidden, fmt.Sprintf("The app has %d active keys, the most there can be. Revoke one first.", have))
	}
	return err
}

// Keys implements [app.Store].
func (s *Store) Keys(ctx context.Context, developerID, appID string) ([]app.Key, error) {
	if _, err := s.App(ctx, developerID, appID); err != nil {
		return nil, err
	}
	keys, err := rows[app.Key](ctx, s.pool, selectKeys, appID, developerID, app.KeysListedMax)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return keys, nil
}

// Key implements [app.Store].
func (s *Store) Key(ctx context.Context, developerID, appID, keyID string) (app.Key, error) {
	if _, err := s.App(ctx, developerID, appID); err != nil {
		return app.Key{}, err
	}
	k, err := one[app.Key](ctx, s.pool, selectKey, keyID, appID, developerID)
	return k, missing(err, app.ErrNoKey, "load key")
}

// Tokens implements [app.Store].
func (s *Store) Tokens(ctx context.Context, developerID string) ([]app.Key, error) {
	tokens, err := rows[app.Key](ctx, s.pool, selectTokens, developerID, app.KeysListedMax)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return tokens, nil
}

// RegenerateKey implements [app.Store]. The old value goes and the new one comes in one transaction, the old one first.
func (s *Store) RegenerateKey(ctx context.Context, k app.Key, secret app.Secret) (plane.Version, error) {
	var version plane.Version
	err := s.changing(ctx, "regenerate key", func(tx pgx.Tx) error {
		now, err := loadKey(ctx, tx, k.DeveloperID, *k.AppID, k.ID)
		if err != nil {
			return err
		}
		if now.RevokedAt != nil {
			return app.ErrKeyRevoked
		}
		gone, err := eraseValues(ctx, tx, k.ID)
		if err != nil {
			return err
		}
		if err := addSecret(ctx, tx, k.ID, secret); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, updateKeyHint, k.ID, secret.Hint); err != nil {
			return fmt.Errorf("update key: %w", err)
		}
		if _, err := s.announce(ctx, tx, gone...); err != nil {
			return err
		}
		version, err = s.announceGrants(ctx, tx, selectGrantsOfKey, k.ID)
		return err
	})
	return version, err
}

// RevokeKey implements [app.Store].
func (s *Store) RevokeKey(ctx context.Context, developerID, appID, keyID string, at time.Time) (app.Key, error) {
	var k app.Key
	err := s.changing(ctx, "revoke key", func(tx pgx.Tx) (err error) {
		if k, err = loadKey(ctx, tx, developerID, appID, keyID); err != nil || k.RevokedAt != nil {
			return err
		}
		gone, err := eraseValues(ctx, tx, k.ID)
		if err != nil {
			return err
		}
		version, err := s.announce(ctx, tx, gone...)
		if err != nil {
			return err
		}
		revokedVersion := int64(version)
		k.RevokedAt, k.RevokedVersion = &at, &revokedVersion
		if _, err := tx.Exec(ctx, revokeKey, k.ID, k.RevokedAt, k.RevokedVersion); err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
		return nil
	})
	return k, err
}

// ReadSecret implements [app.Store].
func (s *Store) ReadSecret(ctx context.Context, developerID, appID, keyID, readID string, at time.Time) (app.Secret, error) {
	var secret app.Secret
	err := s.Tx(ctx, "read secret", func(tx pgx.Tx) error {
		k, err := loadKey(ctx, tx, developerID, appID, keyID)
		if err != nil {
			return err
		}
		if k.RevokedAt != nil {
			return app.ErrKeyRevoked
		}
		if secret, err = one[app.Secret](ctx, tx, selectSecret, k.ID); err != nil {
			return fmt.Errorf("load secret: %w", err)
		}
		if _, err := tx.Exec(ctx, insertKeyRead, readID, k.ID, developerID, at); err != nil {
			return fmt.Errorf("record the reading of a key: %w", err)
		}
		return nil
	})
	return secret, err
}

// loadKey loads a key, or a token when appID is empty.
func loadKey(ctx context.Context, tx pgx.Tx, developerID, appID, keyID string) (app.Key, error) {
	if appID == "" {
		k, err := one[app.Key](ctx, tx, selectToken, keyID, developerID)
		return k, missing(err, app.ErrNoToken, "load token")
	}
	if _, err := loadApp(ctx, tx, developerID, appID); err != nil {
		return app.Key{}, err
	}
	k, err := one[app.Key](ctx, tx, selectKey, keyID, appID, developerID)
	return k, missing(err, app.ErrNoKey, "load key")
}

func addSecret(ctx context.Context, tx pgx.Tx, keyID string, secret app.Secret) error {
	_, err := tx.Exec(ctx, insertSecret, secret.Hash, keyID, secret.KEKID, secret.SealedKey, secret.Nonce, secret.Ciphertext,
		secret.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert secret: %w", err)
	}
	return nil
}

// eraseValues ends the values of a key and removes what was stored of them but the hash.
func eraseValues(ctx context.Context, tx pgx.Tx, keyID string) ([]plane.Change, error) {
	gone, err := goneOf(ctx, tx, selectHashesOfKey, keyID)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, eraseSecrets, keyID, []byte{}); err != nil {
		return nil, fmt.Errorf("erase secrets: %w", err)
	}
	return gone, nil
}
