package plane

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// CalibrationKept is how long a calibration counts.
const CalibrationKept = 30 * 24 * time.Hour

// Scene is what is known of the cameras of one scene of a developer.
type Scene struct {
	Cameras []Calibration `json:"cameras"`
}

// Calibration is a calibrated camera.
type Calibration struct {
	CameraID     string    `json:"camera_id"`
	Homography   []float64 `json:"homography"` // image in pixels to floor in metres, three rows
	Inliers      int64     `json:"inliers"`    // of TotalPoints
	TotalPoints  int64     `json:"total_points"`
	CalibratedAt time.Time `json:"calibrated_at"`
}

// SceneID is the ID of the record of a scene. The developer's name for it may be any text.
func SceneID(developerID, sessionID string) string {
	sum := sha256.Sum256([]byte(sessionID))
	return developerID + "/" + hex.EncodeToString(sum[:])
}
