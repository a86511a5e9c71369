package store

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/replay"
	"modelgate.internal/controlplane/internal/rewrap"
	"modelgate.internal/controlplane/internal/secret"
)

// Store holds what is rewrapped.
var _ rewrap.Store = (*Store)(nil)

// sealedKeyRow is a value of an API key.
type sealedKeyRow struct {
	Hash      []byte `db:"hash"`
	KeyID     string `db:"key_id"`
	AccountID string `db:"account_id"` // of the organization that owns the app, or the developer
	KEKID     string `db:"kek_id"`
	SealedKey []byte `db:"sealed_key"`
}

// sealedRow is a second factor, a mail, a result of a call or the secret of a webhook.
type sealedRow struct {
	ID        string `db:"id"`
	Recipient string `db:"recipient"` // of a mail
	KEKID     string `db:"kek_id"`
	SealedKey []byte `db:"sealed_key"`
}

// SealedElsewhere implements [rewrap.Store].
func (s *Store) SealedElsewhere(ctx context.Context, kind rewrap.Kind, kekID, after string, limit int) ([]rewrap.Value, error) {
	var values []rewrap.Value
	add := func(id, context, kekID string, sealedKey []byte) {
		values = append(values, rewrap.Value{ID: id, Context: context, Sealed: secret.Sealed{KEKID: kekID, SealedKey: sealedKey}})
	}
	if kind == rewrap.Keys {
		hash, err := hex.DecodeString(after)
		if err != nil {
			return nil, fmt.Errorf("list sealed %s: %w", kind, err)
		}
		found, err := rows[sealedKeyRow](ctx, s.pool, selectKeysElsewhere, hash, kekID, limit)
		if err != nil {
			return nil, fmt.Errorf("list sealed %s: %w", kind, err)
		}
		for _, r := range found {
			add(hex.EncodeToString(r.Hash), app.SealContext(r.AccountID, r.KeyID, r.Hash), r.KEKID, r.SealedKey)
		}
		return values, nil
	}
	if after == "" {
		after = uuid.Nil.String()
	}
	sql := map[rewrap.Kind]string{
		rewrap.SecondFactors: selectFactorsElsewhere, rewrap.Mails: selectMailsElsewhere, rewrap.Replays: selectReplaysElsewhere,
		rewrap.Webhooks: selectWebhooksElsewhere,
	}[kind]
	found, err := rows[sealedRow](ctx, s.pool, sql, after, kekID, limit)
	if err != nil {
		return nil, fmt.Errorf("list sealed %s: %w", kind, err)
	}
	for _, r := range found {
		sealedFor := account.TOTPContext(r.ID)
		switch kind {
		case rewrap.Mails:
			sealedFor = mail.SealContext(r.ID, r.Recipient)
		case rewrap.Replays:
			sealedFor = replay.SealContext(r.ID)
		case rewrap.Webhooks:
			sealedFor = alert.SealContext(r.ID)
		case rewrap.Keys, rewrap.SecondFactors:
		}
		add(r.ID, sealedFor, r.KEKID, r.SealedKey)
	}
	return values, nil
}

// Move implements [rewrap.Store].
func (s *Store) Move(ctx context.Context, kind rewrap.Kind, moved []rewrap.Moved) (n int64, err error) {
	if len(moved) == 0 {
		return 0, nil
	}
	sql := map[rewrap.Kind]string{rewrap.Keys: moveKey, rewrap.SecondFactors: moveFactor, rewrap.Mails: moveMail, rewrap.Replays: moveReplay, rewrap.Webhooks: moveWebhook}[kind]
	err = s.Tx(ctx, "move sealed values", func(ctx context.Context, tx pgx.Tx) error {
		n = 0
		var b pgx.Batch
		for _, m := range moved {
			var id any = m.ID
			if kind == rewrap.Keys {
				hash, err := hex.DecodeString(m.ID)
				if err != nil {
					return fmt.Errorf("read a hash: %w", err)
				}
				id = hash
			}
			b.Queue(sql, id, m.Old.SealedKey, m.New.KEKID, m.New.SealedKey)
		}
		results := tx.SendBatch(ctx, &b)
		for range moved {
			tag, err := results.Exec()
			if err != nil {
				_ = results.Close() // the same error again
				return err
			}
			n += tag.RowsAffected()
		}
		return results.Close()
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// CountSealed implements [rewrap.Store].
func (s *Store) CountSealed(ctx context.Context) ([]rewrap.Count, error) {
	type row struct {
		Kind  string `db:"kind"`
		KEKID string `db:"kek_id"`
		N     int64  `db:"n"`
	}
	found, err := rows[row](ctx, s.pool, countSealed)
	if err != nil {
		return nil, fmt.Errorf("count sealed values: %w", err)
	}
	counts := make([]rewrap.Count, len(found))
	for i, r := range found {
		counts[i] = rewrap.Count{Kind: rewrap.Kind(r.Kind), KEKID: r.KEKID, N: r.N}
	}
	return counts, nil
}
