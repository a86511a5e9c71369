package api

import (
	"net/http"

	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/wire"
)

// tokenQuery are the parameters of stream-key: whose place the token takes.
type tokenQuery struct {
	AppID string `json:"app_id"`
	KeyID string `json:"key_id"`
}

// streamKey makes a short-lived token that stands for the chosen key, or the developer's oldest.
func (a *API) streamKey(w http.ResponseWriter, r *http.Request, developerID string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	var q tokenQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	if err := a.StreamPace.Take(developerID); err != nil {
		return err
	}
	chosen, err := a.Apps.Chosen(r.Context(), developerID, q.AppID, q.KeyID)
	if err != nil {
		return err
	}
	token, err := a.Streams.Sign(chosen.KeyID, key.Digest(chosen.Hash), a.Now())
	if err != nil {
		return err
	}
	return writeSecret(w, wire.StreamKey{
		Token: token, TokenType: "bearer", ExpiresIn: int64(key.StreamLife.Seconds()), AppID: chosen.AppID, KeyID: chosen.KeyID,
		Receipt: a.receipt(r, wait, chosen.Version),
	})
}
