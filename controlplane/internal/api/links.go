package api

import (
	"net/http"

	"modelgate.internal/shared/wire"
)

func (a *API) sendVerification(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.SendVerification(r.Context(), developerID)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.VerificationSent{Sent: true, To: d.Email})
}

func (a *API) verifyEmail(w http.ResponseWriter, r *http.Request) error {
	var req wire.VerifyEmailRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if err := a.Accounts.VerifyEmail(r.Context(), req.Token, client(r)); err != nil {
		return err
	}
	return writeJSON(w, wire.EmailVerified{Verified: true})
}

func (a *API) forgotPassword(w http.ResponseWriter, r *http.Request) error {
	var req wire.ForgotPasswordRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if err := a.Accounts.Forgot(r.Context(), req.Email, client(r)); err != nil {
		return err
	}
	return writeJSON(w, wire.MailAccepted{Accepted: true})
}

func (a *API) resetPassword(w http.ResponseWriter, r *http.Request) error {
	var req wire.ResetPasswordRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if err := a.Accounts.ResetPassword(r.Context(), req.Token, req.Password, client(r)); err != nil {
		return err
	}
	return writeJSON(w, wire.PasswordReset{Changed: true})
}
