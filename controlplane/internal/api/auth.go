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
	grant, err := a.Accounts.Register(r.Context(), req.Name, req.Email, req.Password, remote(r))
	if err != nil {
		return err
	}
	return writeSecret(w, session(grant))
}

func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	var req wire.LoginRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	grant, err := a.Accounts.Login(r.Context(), req.Email, req.Password, remote(r))
	if err != nil {
		return err
	}
	return writeSecret(w, session(grant))
}

func (a *API) me(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	return writeJSON(w, developer(d))
}

func (a *API) googleClientID(w http.ResponseWriter, _ *http.Request) error {
	var answer wire.GoogleClientID
	if a.GoogleClientID != "" {
		answer.ClientID = &a.GoogleClientID
	}
	return writeJSON(w, answer)
}

func session(g account.Grant) wire.Session {
	return wire.Session{
		AccessToken: g.Token, TokenType: "bearer",
		ExpiresIn: int64(g.Session.ExpiresAt.Sub(g.Session.CreatedAt).Seconds()), Developer: developer(g.Developer),
	}
}

func developer(d account.Developer) wire.Developer {
	return wire.Developer{ID: d.ID, Name: d.Name, Email: d.Email, Plan: d.Plan, CreatedAt: d.CreatedAt.UTC()}
}
