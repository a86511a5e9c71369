package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
)

// scenes is api.Options.Scene of the nodes with servers of results: dev_1 has calibrated two cameras of the lobby, one of them long ago.
func scenes(id string) (*plane.Scene, bool, error) {
	square := []float64{1, 0, 0, 0, 1.5, 0, 0, 0, 1}
	switch id {
	case plane.SceneID("dev_1", "lobby"):
		return &plane.Scene{Cameras: []plane.Calibration{
			{CameraID: "a", Homography: square, Inliers: 4, TotalPoints: 5, CalibratedAt: time.Now().Add(-time.Hour)},
			{CameraID: "old", Homography: square, Inliers: 4, TotalPoints: 4, CalibratedAt: time.Now().Add(-plane.CalibrationKept)},
		}}, true, nil
	case plane.SceneID("dev_1", "unreadable"):
		return nil, false, errors.New("index is damaged")
	}
	return nil, false, nil
}

// TestDirectCallersHaveTheirCalibrations: what was calibrated in the portal goes along, and what was not is a 409.
func TestDirectCallersHaveTheirCalibrations(t *testing.T) {
	n, server := startNative(t, unlimited)
	const given = `,"calibrations":[{"camera_id":"b","homography":[1,0,0,0,1,0,0,0,1],"inliers":4,"total_points":4}]`
	for _, tt := range []struct{ key, session, camera, more, status, sent string }{
		{"svc_test_ok", "lobby", "a", "", "200", `"calibrations":[{"camera_id":"a","homography":[1,0,0,0,1.5,0,0,0,1],"inliers":4,"total_points":5}]`},
		{"svc_test_ok", "lobby", "old", "", "409", ""},
		{"svc_test_ok", "lobby", "b", "", "409", ""},
		{"svc_test_ok", "lobby", "b", given, "200", `"calibrations":[{"camera_id":"b",`},
		{"svc_test_ok", "lobby", "a", given, "409", ""},
		{"svc_test_ok", "hall", "a", "", "409", ""},
		{"svc_test_other", "lobby", "a", "", "409", ""},
		{"svc_test_ok", "unreadable", "a", "", "503", ""},
		{"svc_test_ok", "", "a", "", "200", `"views":[{"camera_id":"a"`},
	} {
		body := `{"org_id":"o","session_id":"` + tt.session + `","views":[{"camera_id":"` + tt.camera + `","image_base64":"aGk="}]` + tt.more + `}`
		conn := send(t, n.main, post("/api/v1/multicam-identify", tt.key, body))
		answer := string(receive(t, conn, "POST"))
		must(t, conn.Close())
		if !strings.HasPrefix(answer, "HTTP/1.1 "+tt.status) {
			t.Errorf("%+v: %s", tt, answer)
			continue
		}
		if tt.status != "200" {
			continue
		}
		if sent := string(<-server.bodies); !strings.Contains(sent, tt.sent) || strings.Contains(sent, "calibrations") != (tt.session != "") {
			t.Errorf("%+v: the server is told %s", tt, sent)
		}
	}
}
