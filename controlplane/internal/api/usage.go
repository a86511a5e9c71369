package api

import (
	"net/http"

	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/shared/bind"
)

// usageQuery are the parameters of a question about usage.
type usageQuery struct {
	Days   int    `json:"days" bind:"min=1,max=400,default=30"`
	Bucket string `json:"bucket" bind:"enum=minute|hour|day"`
	Zone   string `json:"tz" bind:"max=64"`
}

func usageQuestion(r *http.Request) (ledger.Question, error) {
	var q usageQuery
	err := bind.Query(r.URL.Query(), &q)
	return ledger.Question{Days: q.Days, Unit: ledger.Unit(q.Bucket), Zone: q.Zone}, err
}

func (a *API) appUsage(w http.ResponseWriter, r *http.Request, developerID string) error {
	q, err := usageQuestion(r)
	if err != nil {
		return err
	}
	one, err := a.Apps.Get(r.Context(), developerID, r.PathValue("app_id"))
	if err != nil {
		return err
	}
	usage, err := a.Usage.AppUsage(r.Context(), one.ID, q, a.Now())
	if err != nil {
		return err
	}
	if wantsCSV(w, r) {
		return writeUsageCSV(w, usage.Usage, nil)
	}
	return writeJSON(w, usage)
}

func (a *API) accountUsage(w http.ResponseWriter, r *http.Request, developerID string) error {
	q, err := usageQuestion(r)
	if err != nil {
		return err
	}
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	usage, err := a.Usage.AccountUsage(r.Context(), d.Terms().AccountID, q, a.Now())
	if err != nil {
		return err
	}
	if wantsCSV(w, r) {
		return writeUsageCSV(w, usage.Usage, usage.ByApp)
	}
	return writeJSON(w, usage)
}
