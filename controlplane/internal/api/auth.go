package api

import (
	"net/http"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/wire"
)

func (a *API) register(w http.ResponseWriter, r *http.Request) error {
	var req wire.RegisterRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	grant, err := a.Accounts.Register(r.Context(), req.Name, req.Email, req.Password, client(r))
	if err != nil {
		return err
	}
	return a.writeSession(w, grant)
}

func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	var req wire.LoginRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	grant, err := a.Accounts.Login(r.Context(), req.Email, req.Password, client(r))
	if err != nil {
		return err
	}
	return a.writeSession(w, grant)
}

func (a *API) me(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	return writeJSON(w, developer(d))
}

func developer(d account.Developer) wire.Developer {
	return wire.Developer{ID: d.ID, Name: d.Name, Email: d.Email, EmailVerified: d.VerifiedAt != nil, Plan: d.Plan, OrgID: d.OrgID, CreatedAt: d.CreatedAt.UTC()}
}
