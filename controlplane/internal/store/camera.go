package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/shared/plane"
)

// Store keeps the calibrations of the playground.
var _ playground.Cameras = (*Store)(nil)

// KeepCamera implements [playground.Cameras].
func (s *Store) KeepCamera(ctx context.Context, developerID string, c playground.Camera) error {
	return s.changing(ctx, "keep camera", func(ctx context.Context, tx pgx.Tx) error {
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
		return s.announceScene(ctx, tx, developerID, c.SessionID)
	})
}

// announceScene tells the nodes what is known of the cameras of a scene, or that nothing is.
func (s *Store) announceScene(ctx context.Context, tx pgx.Tx, developerID, sessionID string) error {
	cameras, err := rows[playground.Camera](ctx, tx, selectCameras, developerID, sessionID, time.Time{})
	if err != nil {
		return fmt.Errorf("load cameras: %w", err)
	}
	change := plane.Change{Kind: plane.KindScene, ID: plane.SceneID(developerID, sessionID), Gone: len(cameras) == 0}
	if !change.Gone {
		var scene plane.Scene
		for _, c := range cameras {
			scene.Cameras = append(scene.Cameras, plane.Calibration{
				CameraID: c.CameraID, Homography: c.Homography, Inliers: c.Inliers, TotalPoints: c.TotalPoints, CalibratedAt: c.CalibratedAt.UTC(),
			})
		}
		if change.Body, err = json.Marshal(scene); err != nil {
			return fmt.Errorf("encode a scene: %w", err)
		}
	}
	_, err = s.announce(ctx, tx, change)
	return err
}

type sceneRow struct{ DeveloperID, SessionID string }

// retireCameras removes calibrations that are too old, a scene at a time, and tells the nodes.
func (s *Store) retireCameras(ctx context.Context, before time.Time) error {
	old, err := rows[sceneRow](ctx, s.pool, selectOldScenes, before, RetiredScenesMax)
	if err != nil {
		return fmt.Errorf("find old calibrations: %w", err)
	}
	for _, scene := range old {
		err := s.changing(ctx, "retire cameras", func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, deleteOldCamerasOf, before, scene.DeveloperID, scene.SessionID); err != nil {
				return fmt.Errorf("delete old calibrations: %w", err)
			}
			return s.announceScene(ctx, tx, scene.DeveloperID, scene.SessionID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scenesGone are the removals of all scenes of a developer.
func scenesGone(ctx context.Context, tx pgx.Tx, developerID string) ([]plane.Change, error) {
	scenes, err := rows[sceneRow](ctx, tx, selectScenes, developerID)
	if err != nil {
		return nil, fmt.Errorf("load scenes: %w", err)
	}
	gone := make([]plane.Change, len(scenes))
	for i, scene := range scenes {
		gone[i] = plane.Change{Kind: plane.KindScene, ID: plane.SceneID(developerID, scene.SessionID), Gone: true}
	}
	return gone, nil
}

// Cameras implements [playground.Cameras].
func (s *Store) Cameras(ctx context.Context, developerID, sessionID string, since time.Time) ([]playground.Camera, error) {
	cameras, err := rows[playground.Camera](ctx, s.pool, selectCameras, developerID, sessionID, since)
	if err != nil {
		return nil, fmt.Errorf("load cameras: %w", err)
	}
	return cameras, nil
}
