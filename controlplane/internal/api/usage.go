package api

import (
	"net/http"
	"time"

	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// usageQuery are the parameters of an app's usage.
type usageQuery struct {
	Days int `json:"days" bind:"min=1,max=400,default=30"`
}

func (a *API) appUsage(w http.ResponseWriter, r *http.Request, developerID string) error {
	var q usageQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	one, err := a.Apps.Get(r.Context(), developerID, r.PathValue("app_id"))
	if err != nil {
		return err
	}
	usage, err := a.Usage.Usage(r.Context(), one.ID, q.Days, a.Now())
	if err != nil {
		return err
	}
	return writeJSON(w, usage)
}

func (a *API) limits(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	apps, err := a.Apps.List(r.Context(), developerID)
	if err != nil {
		return err
	}
	now, terms := a.Now().UTC(), d.Terms()
	used, err := a.Usage.DayUsed(r.Context(), terms.AccountID, now)
	if err != nil {
		return err
	}
	answer := wire.Limits{
		Plan: d.Plan,
		Day: wire.DayLimit{
			Limit: terms.DayLimit(), Used: used, Remaining: max(0, terms.DayLimit()-used),
			ResetsAt: now.Truncate(24 * time.Hour).Add(24 * time.Hour),
		},
		Minute: wire.MinuteLimit{Limit: terms.MinuteLimit()},
		Apps:   wire.AppLimit{Used: int64(len(apps))},
	}
	if limit := terms.AppLimit(); limit > 0 {
		answer.Apps.Limit = &limit
	}
	return writeJSON(w, answer)
}
