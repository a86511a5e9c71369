package store

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/shared/plane"
)

func TestCamerasOfASceneAreKept(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	d, other := developer(t, s, plan.Free), developer(t, s, plan.Free)
	now := micros()
	camera := playground.Camera{SessionID: "lobby", CameraID: "a", Homography: []float64{1, 2, 3, 4, 5, 6, 7, 8, 1.5}, Inliers: 4, TotalPoints: 5, CalibratedAt: now}
	if err := s.KeepCamera(ctx, d.ID, camera); err != nil {
		t.Fatal(err)
	}
	camera.Homography[0], camera.Inliers = 9, 5 // anew
	if err := s.KeepCamera(ctx, d.ID, camera); err != nil {
		t.Fatal(err)
	}
	have, err := s.Cameras(ctx, d.ID, "lobby", now.Add(-time.Hour))
	if err != nil || len(have) != 1 || have[0].Inliers != 5 || !slices.Equal(have[0].Homography, camera.Homography) {
		t.Errorf("%+v %v", have, err)
	}
	for name, found := range map[string]func() ([]playground.Camera, error){
		"somebody else's": func() ([]playground.Camera, error) { return s.Cameras(ctx, other.ID, "lobby", now.Add(-time.Hour)) },
		"another scene's": func() ([]playground.Camera, error) { return s.Cameras(ctx, d.ID, "hall", now.Add(-time.Hour)) },
		"old ones":        func() ([]playground.Camera, error) { return s.Cameras(ctx, d.ID, "lobby", now) },
	} {
		if have, err := found(); err != nil || len(have) != 0 {
			t.Errorf("%s: %+v %v", name, have, err)
		}
	}
	for i := range playground.CamerasPerDeveloperMax {
		camera.CameraID = strconv.Itoa(i)
		err = s.KeepCamera(ctx, d.ID, camera)
	}
	if !isErr(err, playground.ErrManyCameras) {
		t.Errorf("one too many: %v", err)
	}
	camera.CameraID = "a"
	if err := s.KeepCamera(ctx, d.ID, camera); err != nil {
		t.Errorf("one of them anew: %v", err)
	}
	s.Now = func() time.Time { return now.Add(playground.CamerasKept) }
	if err := s.tidy(ctx); err != nil {
		t.Fatal(err)
	}
	if have, err := s.Cameras(ctx, d.ID, "lobby", time.Time{}); err != nil || len(have) != 0 {
		t.Errorf("kept too long: %d %v", len(have), err)
	}
}

// scene is what the nodes are told of a scene, nil for nothing.
func scene(t *testing.T, s *Store, developerID, sessionID string) *plane.Scene {
	t.Helper()
	body, ok := records(t, s)[recordID{plane.KindScene, plane.SceneID(developerID, sessionID)}]
	if !ok {
		return nil
	}
	var told plane.Scene
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		t.Fatal(err)
	}
	return &told
}

func TestNodesAreToldOfScenes(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	d := developer(t, s, plan.Free)
	now := micros()
	keep := func(session, name string, at time.Time) {
		t.Helper()
		c := playground.Camera{
			SessionID: session, CameraID: name, Homography: []float64{1, 2, 3, 4, 5, 6, 7, 8, 1.5}, Inliers: 4, TotalPoints: 5, CalibratedAt: at,
		}
		if err := s.KeepCamera(ctx, d.ID, c); err != nil {
			t.Fatal(err)
		}
	}
	keep("lobby", "a", now.Add(-time.Hour))
	keep("lobby", "b", now)
	keep("hall", "a", now.Add(-time.Hour))
	told := scene(t, s, d.ID, "lobby")
	if told == nil || len(told.Cameras) != 2 || told.Cameras[1].CameraID != "b" || !told.Cameras[1].CalibratedAt.Equal(now) || told.Cameras[1].Homography[8] != 1.5 {
		t.Fatalf("told %+v", told)
	}
	s.Now = func() time.Time { return now.Add(playground.CamerasKept - time.Minute) }
	if err := s.tidy(ctx); err != nil {
		t.Fatal(err)
	}
	if told := scene(t, s, d.ID, "lobby"); told == nil || len(told.Cameras) != 1 || told.Cameras[0].CameraID != "b" {
		t.Errorf("after the first grew old: %+v", told)
	}
	if told := scene(t, s, d.ID, "hall"); told != nil {
		t.Errorf("a scene of old cameras: %+v", told)
	}
	due := account.Deletion{RequestedAt: now, DeleteAt: now.Add(account.DeletionDelay)}
	if _, err := s.ScheduleDeletion(ctx, d.ID, due); err != nil {
		t.Fatal(err)
	}
	removeAll(t, s, d, due.DeleteAt)
	if told := scene(t, s, d.ID, "lobby"); told != nil {
		t.Errorf("after the account: %+v", told)
	}
}

func TestTheKeyOfACallIsOneThatWorks(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	ctx := t.Context()
	d, other := developer(t, s, plan.Pro), developer(t, s, plan.Free)
	make2 := func(environment string, expires *time.Time) (appID string, first, second app.NewKey) {
		t.Helper()
		made, err := a.Create(ctx, app.App{DeveloperID: d.ID, Name: "Bot", Environment: environment, RateLimit: 1, ExpiresAt: expires})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []*app.NewKey{&first, &second} {
			if *k, err = a.CreateKey(ctx, d.ID, made.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
		return made.ID, first, second
	}
	uses := func(what, want, appID, keyID string) {
		t.Helper()
		value, err := a.Value(ctx, d.ID, appID, keyID)
		if want == "" && isErr(err, app.ErrNoKeyToUse) {
			return
		}
		if err != nil || value != want {
			t.Errorf("%s: another key, %v", what, err)
		}
	}
	live, oldest, _ := make2("live", nil)
	uses("only live keys, none chosen", "", "", "")
	uses("a live app", oldest.Value, live, "")
	uses("a live key", oldest.Value, "", oldest.ID)
	soon := micros().Add(time.Hour)
	test, first, second := make2("test", &soon)
	uses("no choice", first.Value, "", "")
	uses("the second", second.Value, test, second.ID)
	uses("a key of another app", "", live, second.ID)
	fresh, err := a.RegenerateKey(ctx, d.ID, test, first.ID, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	uses("the current value of two", fresh.Value, test, first.ID)
	if _, err := a.Value(ctx, other.ID, "", first.ID); !isErr(err, app.ErrNoKeyToUse) {
		t.Errorf("somebody else's key: %v", err)
	}
	if _, err := a.RevokeKey(ctx, d.ID, test, first.ID); err != nil {
		t.Fatal(err)
	}
	uses("after revoking the first", second.Value, "", "")
	uses("the revoked one", "", "", first.ID)
	if _, err := s.pool.Exec(ctx, suspendApps, []string{test}, micros()); err != nil {
		t.Fatal(err)
	}
	uses("an app that the plan has no room for", "", test, "")
	uses("its key", "", "", second.ID)
	uses("nothing else to choose", "", "", "")
	if _, err := s.pool.Exec(ctx, suspendApps, []string{test}, nil); err != nil {
		t.Fatal(err)
	}
	off := false
	if _, _, err := a.Update(ctx, d.ID, live, app.Update{Active: &off}); err != nil {
		t.Fatal(err)
	}
	uses("an app that is off", "", live, "")
	a.Now = func() time.Time { return soon }
	uses("an app that has expired", "", test, "")
}
