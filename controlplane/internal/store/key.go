package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// CreateKey implements [app.Store].
func (s *Store) CreateKey(ctx context.Context, k app.Key, secret app.Secret, once *app.Once) (app.Made, error) {
	return s.making(ctx, "create key", k.DeveloperID, once, secret.CreatedAt, func(tx pgx.Tx) (app.Made, error) {
		made := app.Made{Key: k, Secret: secret}
		if err := allowKey(ctx, tx, k); err != nil {
			return made, err
		}
		_, err := tx.Exec(ctx, insertKey, k.ID, k.DeveloperID, k.AppID, k.Kind, k.Hint, k.Name, list(k.Scopes), k.Metadata, k.ExpiresAt,
			k.CreatedAt)
		if err != nil {
			return made, fmt.Errorf("insert key: %w", err)
		}
		if err := addSecret(ctx, tx, k.ID, secret); err != nil {
			return made, err
		}
		if err := s.record(ctx, tx, keyEntry(k, nil, keyView(k))); err != nil {
			return made, err
		}
		made.Version, err = s.announceGrants(ctx, tx, selectGrantsOfKey, k.ID)
		return made, err
	})
}

func keyEntry(k app.Key, before, after any) audit.Entry {
	e := audit.Entry{Chain: k.DeveloperID, Kind: audit.Key, Target: k.ID, Before: before, After: after}
	if k.OrgID != nil {
		e.Chain = *k.OrgID
	}
	if k.AppID == nil {
		e.Kind = audit.Token
	}
	return e
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
	if _, err := loadApp(ctx, tx, k.DeveloperID, *k.AppID, org.ChangeApps); err != nil {
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
	keys, err := rows[app.Key](ctx, s.pool, selectKeys, appID, app.KeysListedMax)
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
	k, err := one[app.Key](ctx, s.pool, selectKey, keyID, appID)
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

// RegenerateKey implements [app.Store]. Old values end, or get their end, and the new one comes in one transaction.
func (s *Store) RegenerateKey(
	ctx context.Context, developerID string, k app.Key, secret app.Secret, grace time.Duration, once *app.Once,
) (app.Made, error) {
	return s.making(ctx, "regenerate key", developerID, once, secret.CreatedAt, func(tx pgx.Tx) (app.Made, error) {
		now, err := loadKey(ctx, tx, developerID, *k.AppID, k.ID)
		if err != nil {
			return app.Made{}, err
		}
		if now.RevokedAt != nil {
			return app.Made{}, app.ErrKeyRevoked
		}
		made := app.Made{Key: now, Secret: secret}
		made.Key.Hint, made.Key.PreviousUntil = secret.Hint, nil
		if grace > 0 {
			until := secret.CreatedAt.Add(grace)
			made.Key.PreviousUntil = &until
			err = limitValues(ctx, tx, k.ID, secret.CreatedAt, until)
		} else {
			err = s.endValues(ctx, tx, k.ID)
		}
		if err != nil {
			return made, err
		}
		if err := addSecret(ctx, tx, k.ID, secret); err != nil {
			return made, err
		}
		if _, err := tx.Exec(ctx, updateKeyHint, k.ID, secret.Hint); err != nil {
			return made, fmt.Errorf("update key: %w", err)
		}
		if err := s.record(ctx, tx, keyEntry(now, keyView(now), keyView(made.Key))); err != nil {
			return made, err
		}
		made.Version, err = s.announceGrants(ctx, tx, selectGrantsOfKey, k.ID)
		return made, err
	})
}

// endValues ends all values of a key at once.
func (s *Store) endValues(ctx context.Context, tx pgx.Tx, keyID string) error {
	gone, err := eraseValues(ctx, tx, keyID)
	if err != nil {
		return err
	}
	_, err = s.announce(ctx, tx, gone...)
	return err
}

// limitValues gives the values of a key that work at now an end. Only their hashes stay.
func limitValues(ctx context.Context, tx pgx.Tx, keyID string, now, until time.Time) error {
	have, err := count(ctx, tx, countValues, keyID, now)
	if err != nil {
		return err
	}
	if have >= app.ValuesPerKeyMax {
		return app.ErrManyValues
	}
	if _, err := tx.Exec(ctx, limitSecrets, keyID, until, []byte{}); err != nil {
		return fmt.Errorf("limit secrets: %w", err)
	}
	return nil
}

// RevokeKey implements [app.Store].
func (s *Store) RevokeKey(ctx context.Context, developerID, appID, keyID string, at time.Time) (app.Key, error) {
	var k app.Key
	err := s.changing(ctx, "revoke key", func(ctx context.Context, tx pgx.Tx) (err error) {
		if k, err = loadKey(ctx, tx, developerID, appID, keyID); err != nil || k.RevokedAt != nil {
			return err
		}
		gone, err := eraseValues(ctx, tx, k.ID)
		if err != nil {
			return err
		}
		before := keyView(k)
		k.RevokedAt = &at
		if err := s.record(ctx, tx, keyEntry(k, before, keyView(k))); err != nil {
			return err
		}
		version, err := s.announce(ctx, tx, gone...)
		if err != nil {
			return err
		}
		revokedVersion := int64(version)
		k.RevokedVersion = &revokedVersion
		if _, err := tx.Exec(ctx, revokeKey, k.ID, k.RevokedAt, k.RevokedVersion); err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
		return nil
	})
	return k, err
}

// ReadSecret implements [app.Store].
func (s *Store) ReadSecret(ctx context.Context, developerID, appID, keyID, readID string, at time.Time) (app.Key, app.Secret, error) {
	var k app.Key
	var secret app.Secret
	err := s.Tx(ctx, "read secret", func(ctx context.Context, tx pgx.Tx) error {
		var err error
		if k, err = loadKey(ctx, tx, developerID, appID, keyID); err != nil {
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
		return s.record(ctx, tx, keyEntry(k, nil, map[string]any{"revealed": true, "hint": k.Hint}))
	})
	return k, secret, err
}

// OldestKey implements [app.Store].
func (s *Store) OldestKey(ctx context.Context, developerID string, appID, keyID *string, now time.Time) (app.KeyValue, error) {
	k, err := one[app.KeyValue](ctx, s.pool, selectOldestKey, developerID, now, appID, keyID, org.Roles(org.ChangeApps))
	return k, missing(err, app.ErrNoActiveKey, "find a key")
}

// KeyToUse implements [app.Store].
func (s *Store) KeyToUse(ctx context.Context, developerID string, appID, keyID *string, now time.Time) (app.Key, app.Secret, error) {
	k, err := one[app.Key](ctx, s.pool, selectKeyToUse, developerID, appID, keyID, now, org.Roles(org.ChangeApps))
	if err != nil {
		return app.Key{}, app.Secret{}, missing(err, app.ErrNoKeyToUse, "find a key")
	}
	secret, err := one[app.Secret](ctx, s.pool, selectSecret, k.ID)
	return k, secret, missing(err, app.ErrNoKeyToUse, "load secret") // revoked in between
}

// SessionTerms implements [app.Store].
func (s *Store) SessionTerms(ctx context.Context, developerID string) (plan.Terms, plane.Version, error) {
	row, err := one[sessionTerms](ctx, s.pool, selectSessionTerms, developerID)
	return row.Terms, plane.Version(row.Rev), missing(err, account.ErrNoDeveloper, "load terms")
}

type sessionTerms struct {
	plan.Terms
	Rev int64
}

// loadKey loads a key, or a token when appID is empty.
func loadKey(ctx context.Context, tx pgx.Tx, developerID, appID, keyID string) (app.Key, error) {
	if appID == "" {
		k, err := one[app.Key](ctx, tx, selectToken, keyID, developerID)
		return k, missing(err, app.ErrNoToken, "load token")
	}
	if _, err := loadApp(ctx, tx, developerID, appID, org.ChangeApps); err != nil {
		return app.Key{}, err
	}
	k, err := one[app.Key](ctx, tx, selectKey, keyID, appID)
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
