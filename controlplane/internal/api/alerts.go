package api

import (
	"net/http"
	"time"

	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/shared/wire"
)

func (a *API) alertSettings(w http.ResponseWriter, r *http.Request, p payer) error {
	return a.showAlerts(w, r, p, "")
}

func (a *API) setAlerts(w http.ResponseWriter, r *http.Request, p payer) error {
	var req wire.AlertRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	s := alert.Settings{AccountID: p.AccountID, Organization: p.scope == "organization", Thresholds: req.Thresholds, Mail: req.Mail}
	if req.WebhookURL != nil {
		s.WebhookURL = *req.WebhookURL
	}
	made, err := a.Alerts.Set(r.Context(), s)
	if err != nil {
		return err
	}
	return a.showAlerts(w, r, p, made)
}

func (a *API) rotateAlertSecret(w http.ResponseWriter, r *http.Request, p payer) error {
	made, err := a.Alerts.Rotate(r.Context(), p.AccountID)
	if err != nil {
		return err
	}
	return writeSecret(w, wire.AlertSecret{WebhookSecret: made})
}

func (a *API) testAlert(w http.ResponseWriter, r *http.Request, p payer) error {
	if err := a.Alerts.Test(r.Context(), p.AccountID, p.scope == "organization"); err != nil {
		return err
	}
	return a.showAlerts(w, r, p, "")
}

// showAlerts answers with the settings and, once, with the secret that was made.
func (a *API) showAlerts(w http.ResponseWriter, r *http.Request, p payer, made string) error {
	s, sent, err := a.Alerts.Get(r.Context(), p.AccountID)
	if err != nil {
		return err
	}
	answer := wire.AlertSettings{
		Thresholds: s.Thresholds, Mail: s.Mail, WebhookURL: orNull(s.WebhookURL), WebhookSecret: orNull(made),
		Deliveries: make([]wire.AlertDelivery, len(sent)),
	}
	for i, d := range sent {
		answer.Deliveries[i] = wire.AlertDelivery{
			ID: d.ID, Day: d.Day.Format(time.DateOnly), Threshold: d.Threshold, State: d.State, Attempts: d.Attempts, Reason: orNull(d.Reason),
			CreatedAt: d.CreatedAt.UTC(),
		}
	}
	return writeSecret(w, answer)
}
