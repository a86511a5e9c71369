package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"modelgate.internal/controlplane/internal/replay"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/plane"
)

// Store keeps the results of idempotent calls.
var _ replay.Store = (*Store)(nil)

// replayRow is an entry as it is stored.
type replayRow struct {
	ClaimID    string
	Request    []byte
	Running    bool
	Size       int64
	KEKID      string
	SealedKey  []byte
	Nonce      []byte
	Ciphertext []byte
}

func (r *replayRow) entry() replay.Entry {
	return replay.Entry{
		ClaimID: r.ClaimID, Request: r.Request, Running: r.Running, Size: r.Size,
		Sealed: secret.Sealed{KEKID: r.KEKID, SealedKey: r.SealedKey, Nonce: r.Nonce, Ciphertext: r.Ciphertext},
	}
}

// ClaimReplay implements [replay.Store].
func (s *Store) ClaimReplay(ctx context.Context, c *plane.ReplayClaim, now, until, since time.Time) (e replay.Entry, err error) {
	err = s.Tx(ctx, "claim a call", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, claimReplay, c.Scope, c.Key, c.Request, c.KeyID, c.ClaimID, until, now, []byte{}, since); err != nil {
			return fmt.Errorf("store a claim: %w", err)
		}
		row, err := one[replayRow](ctx, tx, selectReplay, c.Scope, c.Key, now, since)
		if err != nil {
			return fmt.Errorf("load a claim: %w", err)
		}
		e = row.entry()
		return nil
	})
	if broken, ok := errors.AsType[*pgconn.PgError](err); ok && broken.Code == codeForeignKey {
		err = replay.ErrNoKey.Because(err)
	}
	return e, err
}

// Replay implements [replay.Store].
func (s *Store) Replay(ctx context.Context, scope string, key []byte, now, since time.Time) (e replay.Entry, found bool, err error) {
	row, err := one[replayRow](ctx, s.pool, selectReplay, scope, key, now, since)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return replay.Entry{}, false, nil
	case err != nil:
		return replay.Entry{}, false, err
	}
	return row.entry(), true, nil
}

// ReplayTotals implements [replay.Store].
func (s *Store) ReplayTotals(ctx context.Context, scope string, since time.Time) (entries, bytes int64, err error) {
	type row struct{ Entries, Bytes int64 }
	totals, err := one[row](ctx, s.pool, selectReplayTotals, scope, since)
	return totals.Entries, totals.Bytes, err
}

// ReplayScope implements [replay.Store].
func (s *Store) ReplayScope(ctx context.Context, claimID string) (scope string, found bool, err error) {
	type row struct{ ScopeID string }
	of, err := one[row](ctx, s.pool, selectReplayScope, claimID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return of.ScopeID, err == nil, err
}

// RenewReplay implements [replay.Store].
func (s *Store) RenewReplay(ctx context.Context, claimID string, until time.Time) (bool, error) {
	return s.changeReplay(ctx, "renew a claim", renewReplay, claimID, until)
}

// FinishReplay implements [replay.Store].
func (s *Store) FinishReplay(ctx context.Context, claimID string, sealed secret.Sealed, size int64) (bool, error) {
	none := func(b []byte) []byte { // no NULL
		if b == nil {
			return []byte{}
		}
		return b
	}
	return s.changeReplay(ctx, "keep a result", finishReplay, claimID, size, sealed.KEKID, none(sealed.SealedKey), none(sealed.Nonce), none(sealed.Ciphertext))
}

// FreeReplay implements [replay.Store].
func (s *Store) FreeReplay(ctx context.Context, claimID string) (bool, error) {
	return s.changeReplay(ctx, "free a claim", freeReplay, claimID)
}

// changeReplay runs a statement about one claim and reports whether it was there.
func (s *Store) changeReplay(ctx context.Context, name, sql string, args ...any) (found bool, err error) {
	err = s.Tx(ctx, name, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args...)
		if err != nil {
			return err
		}
		found = tag.RowsAffected() == 1
		return nil
	})
	return found, err
}
