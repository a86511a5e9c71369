package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/playground"
)

// Store keeps the calibrations of the playground.
var _ playground.Cameras = (*Store)(nil)

// KeepCamera implements [playground.Cameras].
func (s *Store) KeepCamera(ctx context.Context, developerID string, c playground.Camera) error {
	return s.Tx(ctx, "keep camera", func(tx pgx.Tx) error {
		others, err := count(ctx, tx, countOtherCameras, developerID, c.SessionID, c.CameraID)
		if err != nil {
			return err
		}
		if others >= playground.CamerasPerDeveloperMax {
			return playground.ErrManyCameras
		}
		_, err = tx.Exec(ctx, upsertCamera, developerID, c.SessionID, c.CameraID, c.Homography, c.Inliers, c.TotalPoints, c.CalibratedAt)
		if err != nil {
			return fmt.Errorf("store a camera: %w", err)
		}
		return nil
	})
}

// Cameras implements [playground.Cameras].
func (s *Store) Cameras(ctx context.Context, developerID, sessionID string, since time.Time) ([]playground.Camera, error) {
	cameras, err := rows[playground.Camera](ctx, s.pool, selectCameras, developerID, sessionID, since)
	if err != nil {
		return nil, fmt.Errorf("load cameras: %w", err)
	}
	return cameras, nil
}
