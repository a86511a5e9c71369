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
		Families: req.Families, Tasks: req.Tasks, RateLimit: req.RateLimit, ExpiresAt: req.ExpiresAt,
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
		answer.Keys[i] = wire.Key{
			KeyID: k.ID, Environment: string(k.Kind), Hint: k.Hint, Status: k.Status(), CreatedAt: k.CreatedAt.UTC(),
			LastUsedAt: utc(k.LastUsedAt), RevokedAt: utc(k.RevokedAt),
		}
	}
	return writeJSON(w, answer)
}

func (a *API) updateApp(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.UpdateAppRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	one, err := a.Apps.Update(r.Context(), developerID, r.PathValue("app_id"), app.Update(req))
	if err != nil {
		return err
	}
	return writeJSON(w, wireApp(one))
}

func (a *API) deleteApp(w http.ResponseWriter, r *http.Request, developerID string) error {
	appID := r.PathValue("app_id")
	version, err := a.Apps.Delete(r.Context(), developerID, appID)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.AppDeleted{AppID: appID, Deleted: true, ConfigVersion: uint64(version)})
}

func wireApp(a app.App) wire.App {
	return wire.App{
		AppID: a.ID, Name: a.Name, Description: a.Description, Environment: a.Environment, Families: list(a.Families), Tasks: list(a.Tasks),
		RateLimit: a.RateLimit, Active: a.Active, ExpiresAt: utc(a.ExpiresAt), CreatedAt: a.CreatedAt.UTC(), UpdatedAt: a.UpdatedAt.UTC(),
	}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// list is an array that JSON shows as [] rather than null.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
