package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/export"
	"modelgate.internal/controlplane/internal/playground"
)

// Store reads what is kept of an account.
var _ export.Reader = (*Store)(nil)

// Export implements [export.Reader].
func (s *Store) Export(ctx context.Context, developerID string) (export.Document, error) {
	var d export.Document
	err := s.Snapshot(ctx, "export account", func(ctx context.Context, tx pgx.Tx) (err error) {
		d, err = exportOf(ctx, tx, developerID)
		return err
	})
	return d, err
}

func exportOf(ctx context.Context, tx pgx.Tx, developerID string) (d export.Document, err error) {
	who, err := one[struct {
		account.Developer
		Google bool `db:"google"`
	}](ctx, tx, selectExportedDeveloper, developerID)
	if err != nil {
		return d, missing(err, account.ErrNoDeveloper, "load developer")
	}
	d.Developer, d.Google = who.Developer, who.Google
	if d.Deletion, err = deletion(ctx, tx, developerID); err != nil {
		return d, err
	}
	factor, err := one[struct {
		ConfirmedAt  *time.Time `db:"confirmed_at"`
		RecoveryLeft int64      `db:"recovery_left"`
	}](ctx, tx, selectExportedTOTP, developerID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return d, fmt.Errorf("load second factor: %w", err)
	}
	d.SecondFactor = account.TOTP{Set: err == nil, Confirmed: factor.ConfirmedAt != nil, RecoveryCodesLeft: factor.RecoveryLeft}

	var whole [6]bool
	var errs [6]error
	d.Sessions, whole[0], errs[0] = listed[account.Session](ctx, tx, account.SessionsPerDevMax, selectExportedSessions, developerID)
	d.Apps, whole[1], errs[1] = listed[app.App](ctx, tx, app.AppsPerDeveloperMax, selectExportedApps, developerID)
	d.Keys, whole[2], errs[2] = listed[app.Key](ctx, tx, export.KeysMax, selectExportedKeys, developerID)
	d.Reads, whole[3], errs[3] = listed[export.Read](ctx, tx, export.ReadsMax, selectExportedReads, developerID)
	d.Usage, whole[4], errs[4] = listed[export.Usage](ctx, tx, export.UsageMax, selectExportedUsage, developerID)
	d.Cameras, whole[5], errs[5] = listed[export.Camera](ctx, tx, playground.CamerasPerDeveloperMax, selectExportedCameras, developerID)
	d.Complete = !slices.Contains(whole[:], false)
	return d, errors.Join(errs[:]...)
}

// listed returns at most limit rows of a statement that takes an account and a limit, and whether these are all.
func listed[T any](ctx context.Context, tx pgx.Tx, limit int, sql, developerID string) (found []T, whole bool, err error) {
	if found, err = rows[T](ctx, tx, sql, developerID, limit+1); err != nil {
		return nil, false, fmt.Errorf("list what is exported: %w", err)
	}
	return found[:min(limit, len(found))], len(found) <= limit, nil
}
