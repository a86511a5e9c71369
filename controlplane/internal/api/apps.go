package api

import (
	"net/http"
	"time"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/shared/wire"
)

func (a *API) listApps(w http.ResponseWriter, r *http.Request, developerID string) error {
	apps, err := a.Apps.List(r.Context(), developerID)
	if err != nil {
		return err
	}
	answer := wire.AppList{Apps: make([]wire.App, len(apps))}
	for i, one := range apps {
		answer.Apps[i] = wireApp(one)
	}
	return writeJSON(w, answer)
}

func (a *API) createApp(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.CreateAppRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	made, err := a.Apps.Create(r.Context(), app.App{
		DeveloperID: developerID, Name: req.Name, Description: req.Description, Environment: req.Environment,
		Families: req.Families, Tasks: req.Tasks, RateLimit: req.RateLimit, ExpiresAt: req.ExpiresAt, OrgID: req.OrgID,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, wireApp(made))
}

func (a *API) getApp(w http.ResponseWriter, r *http.Request, developerID string) error {
	one, err := a.Apps.Get(r.Context(), developerID, r.PathValue("app_id"))
	if err != nil {
		return err
	}
	keys, err := a.Apps.Keys(r.Context(), developerID, one.ID)
	if err != nil {
		return err
	}
	answer := wire.AppDetail{App: wireApp(one), Keys: make([]wire.Key, len(keys))}
	for i, k := range keys {
		answer.Keys[i] = wireKey(k, a.Now())
	}
	return writeJSON(w, answer)
}

func (a *API) updateApp(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.UpdateAppRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	one, version, err := a.Apps.Update(r.Context(), developerID, r.PathValue("app_id"), app.Update(req))
	if err != nil {
		return err
	}
	return writeJSON(w, wire.AppUpdated{App: wireApp(one), ConfigVersion: uint64(version), Receipt: a.receipt(r, wait, version)})
}

func (a *API) deleteApp(w http.ResponseWriter, r *http.Request, developerID string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	appID := r.PathValue("app_id")
	version, err := a.Apps.Delete(r.Context(), developerID, appID)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.AppDeleted{AppID: appID, Deleted: true, ConfigVersion: uint64(version), Receipt: a.receipt(r, wait, version)})
}

func wireApp(a app.App) wire.App {
	return wire.App{
		AppID: a.ID, OrgID: a.OrgID, Name: a.Name, Description: a.Description, Environment: a.Environment, Families: list(a.Families), Tasks: list(a.Tasks),
		RateLimit: a.RateLimit, Active: a.Active, ExpiresAt: utc(a.ExpiresAt), CreatedAt: a.CreatedAt.UTC(), UpdatedAt: a.UpdatedAt.UTC(),
	}
}

func wireKey(k app.Key, now time.Time) wire.Key {
	return wire.Key{
		KeyID: k.ID, Environment: string(k.Kind), Hint: k.Hint, Status: k.Status(), CreatedAt: k.CreatedAt.UTC(),
		LastUsedAt: utc(k.LastUsedAt), RevokedAt: utc(k.RevokedAt), PreviousExpiresAt: future(k.PreviousUntil, now),
	}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// future is a time that has not come at now.
func future(t *time.Time, now time.Time) *time.Time {
	if t == nil || !t.After(now) {
		return nil
	}
	return utc(t)
}

// list is an array that JSON shows as [] rather than null.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
