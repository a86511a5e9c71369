package api

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/export"
	"modelgate.internal/shared/wire"
)

func (a *API) getAccount(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	deletion, err := a.Accounts.Deletion(r.Context(), developerID)
	if err != nil {
		return err
	}
	return writeJSON(w, wireAccount(d, deletion))
}

func (a *API) deleteAccount(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var req wire.DeleteAccountRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	d, err := a.Accounts.Developer(r.Context(), who.DeveloperID)
	if err != nil {
		return err
	}
	deletion, err := a.Accounts.Delete(r.Context(), who, req.Password)
	if err != nil {
		return err
	}
	a.setRefresh(w, "", -1)
	return writeJSON(w, wireAccount(d, &deletion))
}

func (a *API) restoreAccount(w http.ResponseWriter, r *http.Request, developerID string) error {
	if err := a.Accounts.Restore(r.Context(), developerID); err != nil {
		return err
	}
	return a.getAccount(w, r, developerID)
}

// exportAccount answers with everything that is kept of an account, as a file.
func (a *API) exportAccount(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := a.ExportPace.Take(who.DeveloperID); err != nil {
		return err
	}
	d, err := a.Exports.Export(r.Context(), who.DeveloperID)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", `attachment; filename="modelgate-account.json"`)
	return writeSecret(w, wireExport(d, who.SessionID, a.Now()))
}

func wireAccount(d account.Developer, deletion *account.Deletion) wire.Account {
	answer := wire.Account{Developer: developer(d)}
	if deletion != nil {
		answer.RequestedAt, answer.DeleteAt = utc(&deletion.RequestedAt), utc(&deletion.DeleteAt)
	}
	return answer
}

func wireExport(d export.Document, sessionID string, now time.Time) wire.AccountExport {
	answer := wire.AccountExport{
		Account: wireAccount(d.Developer, d.Deletion), ExportedAt: now.UTC(), Complete: d.Complete, GoogleLinked: d.Google,
		SecondFactor: wire.TOTPState{Enabled: d.SecondFactor.Confirmed, RecoveryCodesLeft: d.SecondFactor.RecoveryCodesLeft},
		Sessions:     make([]wire.SessionInfo, len(d.Sessions)), Apps: make([]wire.AppDetail, len(d.Apps)), DarwinTokens: []wire.DarwinToken{},
		KeyReads: make([]wire.KeyRead, len(d.Reads)), Usage: make([]wire.ExportedUsage, len(d.Usage)),
		Cameras: make([]wire.ExportedCamera, len(d.Cameras)),
	}
	for i, c := range d.Cameras {
		answer.Cameras[i] = wire.ExportedCamera(c)
		answer.Cameras[i].CalibratedAt = c.CalibratedAt.UTC()
	}
	for i, s := range d.Sessions {
		answer.Sessions[i] = wireSession(s, sessionID)
	}
	apps := make(map[string]*wire.AppDetail, len(d.Apps))
	for i, one := range d.Apps {
		answer.Apps[i] = wire.AppDetail{App: wireApp(one), Keys: []wire.Key{}}
		apps[one.ID] = &answer.Apps[i]
	}
	for _, k := range d.Keys {
		if k.AppID == nil {
			answer.DarwinTokens = append(answer.DarwinTokens, wireToken(k))
		} else if of := apps[*k.AppID]; of != nil {
			of.Keys = append(of.Keys, wireKey(k, now))
		}
	}
	for i, one := range d.Reads {
		answer.KeyReads[i] = wire.KeyRead{KeyID: one.KeyID, At: one.At.UTC()}
	}
	for i, u := range d.Usage {
		answer.Usage[i] = wire.ExportedUsage{
			Day: u.Day.UTC().Format(time.DateOnly), AppID: u.AppID, KeyID: u.KeyID, Model: u.Model, Task: u.Task, Status: u.Status,
			Counters: wire.Counters{Calls: u.Calls, Errors: u.Errors, TokensIn: u.TokensIn, TokensOut: u.TokensOut},
		}
		if u.AppID == uuid.Nil.String() {
			answer.Usage[i].AppID = ""
		}
	}
	return answer
}
