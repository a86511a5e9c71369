package api

import (
	"bytes"
	"net/http"
	"time"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

func (a *API) createKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	once, err := onceOf(r, "createKey", nil)
	if err != nil {
		return err
	}
	k, err := a.Apps.CreateKey(r.Context(), developerID, r.PathValue("app_id"), once)
	if err != nil {
		return err
	}
	return writeSecret(w, wireNewKey(k, a.receipt(r, wait, k.Version)))
}

func (a *API) regenerateKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	var req wire.RegenerateKeyRequest
	body, err := readBody(r, BodyBytesMax)
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		err = bind.JSON(body, &req)
	}
	if err != nil {
		return err
	}
	once, err := onceOf(r, "regenerateKey", body)
	if err != nil {
		return err
	}
	k, err := a.Apps.RegenerateKey(r.Context(), developerID, r.PathValue("app_id"), r.PathValue("key_id"),
		time.Duration(req.Grace)*time.Second, once)
	if err != nil {
		return err
	}
	return writeSecret(w, wireNewKey(k, a.receipt(r, wait, k.Version)))
}

func (a *API) revokeKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	k, err := a.Apps.RevokeKey(r.Context(), developerID, r.PathValue("app_id"), r.PathValue("key_id"))
	if err != nil {
		return err
	}
	return writeJSON(w, a.wireRevoked(r, wait, k))
}

// keyQuery are the parameters of key-for-stream.
type keyQuery struct {
	AppID string `json:"app_id" bind:"required"`
	KeyID string `json:"key_id" bind:"required"`
}

func (a *API) keyForStream(w http.ResponseWriter, r *http.Request, developerID string) error {
	var q keyQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	value, err := a.Apps.Reveal(r.Context(), developerID, q.AppID, q.KeyID)
	if err != nil {
		return err
	}
	return writeSecret(w, wire.RevealedKey{KeyID: q.KeyID, AppID: q.AppID, Key: value})
}

func wireNewKey(k app.NewKey, receipt *wire.Receipt) wire.NewKey {
	return wire.NewKey{
		KeyID: k.ID, AppID: *k.AppID, Environment: string(k.Kind), Key: k.Value, Hint: k.Hint, CreatedAt: k.ValueMade.UTC(),
		PreviousExpiresAt: utc(k.PreviousUntil), ConfigVersion: uint64(k.Version), Receipt: receipt,
	}
}

func (a *API) wireRevoked(r *http.Request, wait bool, k app.Key) wire.KeyRevoked {
	answer := wire.KeyRevoked{KeyID: k.ID, Status: k.Status(), RevokedAt: k.RevokedAt.UTC()}
	if k.AppID != nil {
		answer.AppID = *k.AppID
	}
	if k.RevokedVersion != nil {
		answer.ConfigVersion = uint64(*k.RevokedVersion)
		answer.Receipt = a.receipt(r, wait, plane.Version(answer.ConfigVersion))
	}
	return answer
}
