package api

import (
	"net/http"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

func (a *API) createKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	k, err := a.Apps.CreateKey(r.Context(), developerID, r.PathValue("app_id"))
	if err != nil {
		return err
	}
	return writeSecret(w, wireNewKey(k))
}

func (a *API) regenerateKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	k, err := a.Apps.RegenerateKey(r.Context(), developerID, r.PathValue("app_id"), r.PathValue("key_id"))
	if err != nil {
		return err
	}
	return writeSecret(w, wireNewKey(k))
}

func (a *API) revokeKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	k, err := a.Apps.RevokeKey(r.Context(), developerID, r.PathValue("app_id"), r.PathValue("key_id"))
	if err != nil {
		return err
	}
	return writeJSON(w, wireRevoked(k))
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

func wireNewKey(k app.NewKey) wire.NewKey {
	return wire.NewKey{
		KeyID: k.ID, AppID: *k.AppID, Environment: string(k.Kind), Key: k.Value, Hint: k.Hint, CreatedAt: k.ValueMade.UTC(),
		ConfigVersion: uint64(k.Version),
	}
}

func wireRevoked(k app.Key) wire.KeyRevoked {
	answer := wire.KeyRevoked{KeyID: k.ID, Status: k.Status(), RevokedAt: k.RevokedAt.UTC()}
	if k.AppID != nil {
		answer.AppID = *k.AppID
	}
	if k.RevokedVersion != nil {
		answer.ConfigVersion = uint64(*k.RevokedVersion)
	}
	return answer
}
