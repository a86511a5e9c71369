package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

var errNoScenes = apierr.New(apierr.Unavailable, "The calibrations of cameras cannot be read at the moment. Try again.")

// addCalibrations tells the server what is known of the cameras of the call's scene: what the body says, or what the key's developer
// calibrated. A camera of the views that is in neither is a 409. Without a session_id there is nothing to tell.
func (a *API) addCalibrations(c *call.Call, req *wire.MulticamRequest, body map[string]any) error {
	if req.SessionID == "" {
		delete(body, "calibrations")
		return nil
	}
	known := req.Calibrations
	if len(known) == 0 {
		scene, _, err := a.o.Scene(plane.SceneID(c.Caller.DeveloperID, req.SessionID))
		if err != nil {
			return errNoScenes.Because(err)
		}
		known = calibrations(scene, a.o.Now().Add(-plane.CalibrationKept).Unix())
	}
	var told []any
	var lacking []string
	var seen []string
	for _, view := range req.Views {
		if slices.Contains(seen, view.CameraID) {
			continue
		}
		seen = append(seen, view.CameraID)
		at := slices.IndexFunc(known, func(k wire.CameraCalibration) bool { return k.CameraID == view.CameraID })
		if at < 0 {
			lacking = append(lacking, view.CameraID)
			continue
		}
		told = append(told, calibration(known[at]))
	}
	if len(lacking) > 0 {
		return apierr.New(apierr.Conflict, fmt.Sprintf(
			"Not calibrated in the session %q: %s. Calibrate with /dev/playground/multicam-calibrate of the portal first.",
			req.SessionID, strings.Join(lacking, ", ")))
	}
	body["calibrations"] = told
	return nil
}

// calibrations are those of a scene that are younger than a time in Unix seconds.
func calibrations(scene *plane.Scene, since int64) []wire.CameraCalibration {
	if scene == nil {
		return nil
	}
	var list []wire.CameraCalibration
	for _, c := range scene.Cameras {
		if c.CalibratedAt.Unix() > since {
			list = append(list, wire.CameraCalibration{
				CameraID: c.CameraID, Homography: c.Homography, Inliers: c.Inliers, TotalPoints: c.TotalPoints,
			})
		}
	}
	return list
}

// calibration is one as a body holds it, whose numbers are text.
func calibration(c wire.CameraCalibration) map[string]any {
	rows := make([]any, len(c.Homography))
	for i, n := range c.Homography {
		rows[i] = json.Number(strconv.FormatFloat(n, 'g', -1, 64))
	}
	return map[string]any{
		"camera_id": c.CameraID, "homography": rows, "inliers": json.Number(strconv.FormatInt(c.Inliers, 10)),
		"total_points": json.Number(strconv.FormatInt(c.TotalPoints, 10)),
	}
}
