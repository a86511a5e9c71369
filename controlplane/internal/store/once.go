package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/plane"
)

// making runs a transaction that makes a value of a key. With a once it notes in the same transaction what was made, and
// returns what was made before instead when there is such a note.
func (s *Store) making(ctx context.Context, name, developerID string, once *app.Once, now time.Time, fn func(tx pgx.Tx) (app.Made, error)) (app.Made, error) {
	var made app.Made
	run := func() error {
		return s.changing(ctx, name, func(ctx context.Context, tx pgx.Tx) (err error) {
			if once == nil {
				made, err = fn(tx)
				return err
			}
			before, err := madeOnce(ctx, tx, developerID, once, now)
			if err != nil {
				return err
			}
			if before != nil {
				made = *before
				return nil
			}
			if made, err = fn(tx); err != nil {
				return err
			}
			return noteOnce(ctx, tx, developerID, once, made, now)
		})
	}
	err := run()
	if violates(err, "key_requests_pk") { // another process was first, and its note can be read now
		err = run()
	}
	return made, err
}

// keyRequestRow is the note of what was made, with the value as it is stored now.
type keyRequestRow struct {
	RequestHash   []byte
	KeyID         string
	AppID         string // empty for a Darwin token
	ValueHash     []byte
	Version       int64
	PreviousUntil *time.Time
	State         string
	KEKID         string
	SealedKey     []byte
	Nonce         []byte
	Ciphertext    []byte
	MadeAt        time.Time
}

// madeOnce returns what was made under the once before, nil if nothing was. Whoever asks needs the right to the key that the first
// request needed: it may have been taken away since.
func madeOnce(ctx context.Context, tx pgx.Tx, developerID string, once *app.Once, now time.Time) (*app.Made, error) {
	row, err := one[keyRequestRow](ctx, tx, selectKeyRequest, developerID, once.Hash[:], now.Add(-app.OnceFor))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // the first request under this key
	}
	if err != nil {
		return nil, fmt.Errorf("load an idempotent request: %w", err)
	}
	if !bytes.Equal(row.RequestHash, once.Request[:]) {
		return nil, app.ErrOnceOther
	}
	if row.State != "active" || len(row.Ciphertext) == 0 {
		return nil, app.ErrOnceGone
	}
	k, err := loadKey(ctx, tx, developerID, row.AppID, row.KeyID)
	if err != nil {
		return nil, fmt.Errorf("load the key of an idempotent request: %w", err)
	}
	k.PreviousUntil = row.PreviousUntil
	return &app.Made{
		Key: k,
		Secret: app.Secret{
			Hash: row.ValueHash, Hint: k.Hint, CreatedAt: row.MadeAt,
			Sealed: secret.Sealed{KEKID: row.KEKID, SealedKey: row.SealedKey, Nonce: row.Nonce, Ciphertext: row.Ciphertext},
		},
		Version: plane.Version(row.Version),
	}, nil
}

// noteOnce notes what was made. Notes that are too old go first, so that their number is bounded and they can be used again.
func noteOnce(ctx context.Context, tx pgx.Tx, developerID string, once *app.Once, made app.Made, now time.Time) error {
	if _, err := tx.Exec(ctx, deleteOldKeyRequestsOf, developerID, now.Add(-app.OnceFor)); err != nil {
		return fmt.Errorf("delete old idempotent requests: %w", err)
	}
	have, err := count(ctx, tx, countKeyRequests, developerID)
	if err != nil {
		return err
	}
	if have >= app.OncePerDeveloperMax {
		return app.ErrOnceMany
	}
	_, err = tx.Exec(ctx, insertKeyRequest, developerID, once.Hash[:], once.Request[:], made.Key.ID, made.Secret.Hash, int64(made.Version),
		made.Key.PreviousUntil, now)
	if err != nil {
		return fmt.Errorf("note an idempotent request: %w", err)
	}
	return nil
}

// retireValues ends the values whose time is over, also in what is published, so that nobody holds them for ever.
func (s *Store) retireValues(ctx context.Context) error {
	type due struct{ KeyID string }
	found, err := rows[due](ctx, s.pool, selectKeysWithEndedValues, s.Now(), RetiredKeysMax)
	if err != nil {
		return fmt.Errorf("find ended values: %w", err)
	}
	for _, k := range found {
		err := s.changing(ctx, "retire values", func(ctx context.Context, tx pgx.Tx) error {
			hashes, err := rows[hashRow](ctx, tx, retireSecrets, k.KeyID, s.Now(), []byte{})
			if err != nil {
				return fmt.Errorf("retire secrets: %w", err)
			}
			gone := make([]plane.Change, len(hashes))
			for i, h := range hashes {
				gone[i] = app.Gone(h.Hash)
			}
			_, err = s.announce(ctx, tx, gone...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
