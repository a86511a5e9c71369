package api

import (
	"encoding/json"
	"net/http"
	"time"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// tokenRequest are the properties of the free-form object that mean something.
type tokenRequest struct {
	Name      string     `json:"name" bind:"max=120"`
	ExpiresAt *time.Time `json:"expires_at"`
	Scopes    []string   `json:"scopes" bind:"max=64"`
}

func (a *API) listTokens(w http.ResponseWriter, r *http.Request, developerID string) error {
	tokens, err := a.Apps.Tokens(r.Context(), developerID)
	if err != nil {
		return err
	}
	answer := wire.DarwinTokenList{Tokens: make([]wire.DarwinToken, len(tokens))}
	for i, k := range tokens {
		answer.Tokens[i] = wireToken(k)
	}
	return writeJSON(w, answer)
}

func (a *API) createToken(w http.ResponseWriter, r *http.Request, developerID string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	body, err := readBody(r, TokenBodyBytesMax)
	if err != nil {
		return err
	}
	var req tokenRequest
	if err := bind.JSON(body, &req); err != nil {
		return err
	}
	once, err := onceOf(r, "createDarwinToken", body)
	if err != nil {
		return err
	}
	made, err := a.Apps.CreateToken(r.Context(), developerID, app.TokenRequest{
		Name: req.Name, Scopes: req.Scopes, ExpiresAt: req.ExpiresAt, Metadata: body,
	}, once)
	if err != nil {
		return err
	}
	return writeSecret(w, wire.NewDarwinToken{
		DarwinToken: wireToken(made.Key), Key: made.Value, ConfigVersion: uint64(made.Version), Receipt: a.receipt(r, wait, made.Version),
	})
}

func (a *API) revokeToken(w http.ResponseWriter, r *http.Request, developerID string) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	k, err := a.Apps.RevokeToken(r.Context(), developerID, r.PathValue("key_id"))
	if err != nil {
		return err
	}
	return writeJSON(w, a.wireRevoked(r, wait, k))
}

func wireToken(k app.Key) wire.DarwinToken {
	return wire.DarwinToken{
		KeyID: k.ID, Name: k.Name, Hint: k.Hint, Status: k.Status(), Scopes: list(k.Scopes), Metadata: json.RawMessage(k.Metadata),
		CreatedAt: k.CreatedAt.UTC(), ExpiresAt: utc(k.ExpiresAt), LastUsedAt: utc(k.LastUsedAt), RevokedAt: utc(k.RevokedAt),
	}
}
