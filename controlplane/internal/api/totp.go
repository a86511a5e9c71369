package api

import (
	"net/http"

	"modelgate.internal/shared/wire"
)

func (a *API) loginTOTP(w http.ResponseWriter, r *http.Request) error {
	var req wire.LoginTOTPRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	grant, err := a.Accounts.LoginTOTP(r.Context(), req.Challenge, req.Code, client(r))
	if err != nil {
		return err
	}
	return a.writeSession(w, grant)
}

func (a *API) totp(w http.ResponseWriter, r *http.Request, developerID string) error {
	factor, err := a.Accounts.Factor(r.Context(), developerID)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.TOTPState{Enabled: factor.Confirmed, RecoveryCodesLeft: factor.RecoveryCodesLeft})
}

func (a *API) beginTOTP(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.TOTPRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	made, err := a.Accounts.BeginTOTP(r.Context(), developerID, req.Password)
	if err != nil {
		return err
	}
	return writeSecret(w, wire.TOTPEnrolment{Secret: made.Secret, OTPAuthURL: made.URL})
}

func (a *API) confirmTOTP(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.TOTPConfirmRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	codes, err := a.Accounts.ConfirmTOTP(r.Context(), developerID, req.Code)
	if err != nil {
		return err
	}
	return writeSecret(w, wire.TOTPConfirmed{Enabled: true, RecoveryCodes: codes})
}

func (a *API) disableTOTP(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.TOTPDisableRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if err := a.Accounts.EndTOTP(r.Context(), developerID, req.Password, req.Code); err != nil {
		return err
	}
	return writeJSON(w, wire.TOTPState{})
}
