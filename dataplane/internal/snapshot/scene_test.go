package snapshot_test

import (
	"testing"

	"modelgate.internal/shared/plane"
)

// TestScenesComeAndGo: they are looked up on the disk, also after a restart, and one that went while the node was away is gone.
func TestScenesComeAndGo(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	w := &recorder{}
	n, s := filled(t, dir, p, w)
	w.take()
	lobby, hall := plane.SceneID("dev_1", "lobby"), plane.SceneID("dev_1", "hall")
	scene := plane.Scene{Cameras: []plane.Calibration{{CameraID: "a", Homography: []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, Inliers: 4, TotalPoints: 5}}}
	s.send(change(4, plane.KindScene, lobby, scene), change(5, plane.KindScene, hall, scene), mark(1, 5))
	p.acked(1, 5)
	has := func(id string) bool {
		t.Helper()
		got, found, err := n.Scene(id)
		if err != nil {
			t.Fatal(err)
		}
		if found && (len(got.Cameras) != 1 || got.Cameras[0].CameraID != "a" || len(got.Cameras[0].Homography) != 9) {
			t.Errorf("%s: %+v", id, got)
		}
		return found
	}
	if !has(lobby) || !has(hall) || has(plane.SceneID("dev_2", "lobby")) {
		t.Error("the scenes are not those that were sent")
	}
	if told := w.take(); told != "" {
		t.Errorf("scenes changed the catalog: %s", told)
	}
	s.send(plane.Message{Change: &plane.Change{Version: 6, Kind: plane.KindScene, ID: hall, Gone: true}}, mark(1, 6))
	p.acked(1, 6)
	n.stop()
	n = startNode(t, dir, p.server.URL, nil)
	s = p.stream()
	if !has(lobby) || has(hall) {
		t.Error("after a restart the scenes are others")
	}
	s.send(hello(1, true), keyChange(7, "a"), mark(1, 7)) // away for too long: the whole state, which has no scene
	p.acked(1, 7)
	if has(lobby) {
		t.Error("a scene that went meanwhile is still there")
	}
}
