package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/secret"
)

// totpRow is a second factor as it is stored.
type totpRow struct {
	KEKID        string     `db:"kek_id"`
	SealedKey    []byte     `db:"sealed_key"`
	Nonce        []byte     `db:"nonce"`
	Ciphertext   []byte     `db:"ciphertext"`
	RecoveryLeft int64      `db:"recovery_left"`
	ConfirmedAt  *time.Time `db:"confirmed_at"`
}

// TOTP implements [account.TOTPStore].
func (s *Store) TOTP(ctx context.Context, developerID string) (account.TOTP, error) {
	r, err := one[totpRow](ctx, s.pool, selectTOTP, developerID)
	if errors.Is(err, pgx.ErrNoRows) {
		return account.TOTP{}, nil
	}
	if err != nil {
		return account.TOTP{}, fmt.Errorf("load second factor: %w", err)
	}
	return account.TOTP{
		Set: true, Confirmed: r.ConfirmedAt != nil, RecoveryCodesLeft: r.RecoveryLeft,
		Sealed: secret.Sealed{KEKID: r.KEKID, SealedKey: r.SealedKey, Nonce: r.Nonce, Ciphertext: r.Ciphertext},
	}, nil
}

// BeginTOTP implements [account.TOTPStore].
func (s *Store) BeginTOTP(ctx context.Context, developerID string, sealed secret.Sealed, now time.Time) error {
	return s.Tx(ctx, "begin second factor", func(ctx context.Context, tx pgx.Tx) error {
		r, err := one[totpRow](ctx, tx, selectTOTP, developerID)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("load second factor: %w", err)
		}
		if r.ConfirmedAt != nil {
			return account.ErrTOTPOn
		}
		if _, err := tx.Exec(ctx, deleteTOTP, developerID); err != nil {
			return fmt.Errorf("delete second factor: %w", err)
		}
		_, err = tx.Exec(ctx, insertTOTP, developerID, sealed.KEKID, sealed.SealedKey, sealed.Nonce, sealed.Ciphertext, now)
		if err != nil {
			return fmt.Errorf("insert second factor: %w", err)
		}
		return s.record(ctx, tx, factorEntry(developerID, "begun"))
	})
}

// ConfirmTOTP implements [account.TOTPStore].
func (s *Store) ConfirmTOTP(ctx context.Context, developerID string, step int64, codes [][]byte, now time.Time) error {
	return s.Tx(ctx, "confirm second factor", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, confirmTOTP, developerID, now, step)
		if err != nil {
			return fmt.Errorf("confirm second factor: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return account.ErrWrongCode
		}
		if _, err := tx.Exec(ctx, deleteRecoveryCodes, developerID); err != nil {
			return fmt.Errorf("delete recovery codes: %w", err)
		}
		for _, hash := range codes {
			if _, err := tx.Exec(ctx, insertRecoveryCode, developerID, hash); err != nil {
				return fmt.Errorf("insert recovery code: %w", err)
			}
		}
		return s.record(ctx, tx, factorEntry(developerID, "on"))
	})
}

// UseTOTPStep implements [account.TOTPStore].
func (s *Store) UseTOTPStep(ctx context.Context, developerID string, step int64) (fresh bool, err error) {
	return s.used(ctx, "use second factor", useTOTPStep, developerID, step)
}

// UseRecoveryCode implements [account.TOTPStore].
func (s *Store) UseRecoveryCode(ctx context.Context, developerID string, hash []byte) (known bool, err error) {
	return s.used(ctx, "use recovery code", useRecoveryCode, developerID, hash)
}

// used runs a statement that changes at most one row, and reports whether it did.
func (s *Store) used(ctx context.Context, name, sql string, args ...any) (changed bool, err error) {
	err = s.Tx(ctx, name, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args...)
		changed = tag.RowsAffected() == 1
		return err
	})
	return changed && err == nil, err
}

// EndTOTP implements [account.TOTPStore].
func (s *Store) EndTOTP(ctx context.Context, developerID string) error {
	return s.Tx(ctx, "end second factor", func(ctx context.Context, tx pgx.Tx) error {
		_, err1 := tx.Exec(ctx, deleteTOTP, developerID)
		_, err2 := tx.Exec(ctx, deleteRecoveryCodes, developerID)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("delete second factor: %w", err)
		}
		return s.record(ctx, tx, factorEntry(developerID, "off"))
	})
}

func factorEntry(developerID, state string) audit.Entry {
	return audit.Entry{Chain: developerID, Kind: audit.Factor, Target: developerID, After: map[string]any{"state": state}}
}
