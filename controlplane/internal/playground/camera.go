package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"modelgate.internal/controlplane/internal/homography"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

// Camera is a calibrated camera of a scene.
type Camera struct {
	SessionID    string    // the scene
	CameraID     string    // within the scene
	Homography   []float64 // image to floor, three rows
	Inliers      int64     // of TotalPoints
	TotalPoints  int64
	CalibratedAt time.Time
}

// Cameras keeps calibrations.
type Cameras interface {
	// KeepCamera stores a calibration in place of an earlier one of the same camera. It returns ErrManyCameras when the
	// developer has too many others.
	KeepCamera(ctx context.Context, developerID string, c Camera) error
	// Cameras returns those of a scene that were calibrated since.
	Cameras(ctx context.Context, developerID, sessionID string, since time.Time) ([]Camera, error)
}

// ErrManyCameras says that a developer has calibrated too many cameras.
var ErrManyCameras = apierr.New(apierr.Conflict, fmt.Sprintf(
	"You have %d calibrated cameras, the most there can be. Calibrate one of them anew; those older than 30 days go by themselves.", CamerasPerDeveloperMax))

// Pairs are what a camera is calibrated from.
type Pairs struct {
	SessionID, CameraID string
	Image, Floor        []homography.Point // pixels, metres
}

// Calibrate finds the homography of a camera and keeps it for the developer. Errors: 422 when the points define none,
// ErrManyCameras.
func (p *Playground) Calibrate(ctx context.Context, developerID string, from Pairs) (Camera, error) {
	if items := checkPairs(from); len(items) > 0 {
		return Camera{}, apierr.Violations(items...)
	}
	fit, err := homography.Find(from.Image, from.Floor)
	if err != nil {
		return Camera{}, apierr.Violations(apierr.Item{
			Type: "value_error", Loc: []any{"body", "src_points"}, Msg: "Value error, " + err.Error(), Ctx: map[string]any{"error": err.Error()},
		})
	}
	c := Camera{
		SessionID: from.SessionID, CameraID: from.CameraID, Homography: fit.Matrix[:], Inliers: int64(fit.Inliers),
		TotalPoints: int64(len(from.Image)), CalibratedAt: p.now().UTC(),
	}
	if err := p.cameras.KeepCamera(ctx, developerID, c); err != nil {
		return Camera{}, fmt.Errorf("keep a calibration: %w", err)
	}
	return c, nil
}

func checkPairs(from Pairs) []apierr.Item {
	var items []apierr.Item
	for name, text := range map[string]string{"session_id": from.SessionID, "camera_id": from.CameraID} {
		if utf8.RuneCountInString(text) > CameraNameMax {
			items = append(items, apierr.Item{
				Type: "string_too_long", Loc: []any{"body", name}, Msg: fmt.Sprintf("String should have at most %d characters", CameraNameMax),
				Input: string([]rune(text)[:32]) + "…", Ctx: map[string]any{"max_length": CameraNameMax},
			})
		}
	}
	slices.SortFunc(items, func(a, b apierr.Item) int { return strings.Compare(fmt.Sprint(b.Loc), fmt.Sprint(a.Loc)) })
	if len(from.Image) != len(from.Floor) {
		reason := fmt.Sprintf("there are %d src_points and %d dst_points", len(from.Image), len(from.Floor))
		items = append(items, apierr.Item{
			Type: "value_error", Loc: []any{"body", "dst_points"}, Msg: "Value error, " + reason, Ctx: map[string]any{"error": reason},
		})
	}
	return items
}

// views is what is looked at of a call about several cameras.
type views struct {
	SessionID string `json:"session_id" bind:"max=128"`
	Views     []view `json:"views" bind:"max=64"`
}

type view struct {
	CameraID string `json:"camera_id"`
}

// calibration is what the gateway is told about a camera.
type calibration struct {
	CameraID    string    `json:"camera_id"`
	Homography  []float64 `json:"homography"` // image to floor in metres, three rows
	Inliers     int64     `json:"inliers"`
	TotalPoints int64     `json:"total_points"`
}

// addCalibrations adds what is known of the cameras of the call's scene. A camera of the views that is not calibrated is a
// 409. Without a session_id there is nothing to add.
func (p *Playground) addCalibrations(ctx context.Context, developerID string, q *question) error {
	var asked views
	body, err := q.encode()
	if err != nil {
		return err
	}
	if err := bind.JSON(body, &asked); err != nil {
		return err
	}
	delete(q.body, "calibrations")
	if asked.SessionID == "" {
		return nil
	}
	have, err := p.cameras.Cameras(ctx, developerID, asked.SessionID, p.now().Add(-CamerasKept))
	if err != nil {
		return fmt.Errorf("load calibrations: %w", err)
	}
	var known []calibration
	var lacking []string
	for _, v := range asked.Views {
		at := slices.IndexFunc(have, func(c Camera) bool { return c.CameraID == v.CameraID })
		switch {
		case at < 0 && !slices.Contains(lacking, v.CameraID):
			lacking = append(lacking, v.CameraID)
		case at >= 0 && !slices.ContainsFunc(known, func(c calibration) bool { return c.CameraID == v.CameraID }):
			known = append(known, calibration{v.CameraID, have[at].Homography, have[at].Inliers, have[at].TotalPoints})
		}
	}
	if len(lacking) > 0 {
		return apierr.New(apierr.Conflict, fmt.Sprintf("Not calibrated in the session %q: %s. Calibrate with multicam-calibrate first.",
			asked.SessionID, strings.Join(lacking, ", ")))
	}
	if q.body["calibrations"], err = json.Marshal(known); err != nil {
		return fmt.Errorf("encode calibrations: %w", err)
	}
	return nil
}
