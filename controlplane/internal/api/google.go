package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"modelgate.internal/shared/wire"
)

// The cookie that ties a sign-in with Google to the browser that began it. What Google puts into the token as its nonce is the
// hash of the cookie, so a token that somebody found cannot be used from another browser.
const (
	nonceCookie = "modelgate_google_nonce"
	nonceTTL    = time.Hour
)

func (a *API) googleClientID(w http.ResponseWriter, r *http.Request) error {
	id := a.Accounts.Google.ClientID()
	if id == "" {
		return writeJSON(w, wire.GoogleClientID{})
	}
	value := nonceOf(r)
	if value == "" {
		var b [32]byte
		rand.Read(b[:]) // never fails: it ends the process instead
		value = base64.RawURLEncoding.EncodeToString(b[:])
	}
	a.setNonce(w, value, int(nonceTTL/time.Second))
	nonce := nonceHash(value)
	return writeSecret(w, wire.GoogleClientID{ClientID: &id, Nonce: &nonce})
}

func (a *API) loginWithGoogle(w http.ResponseWriter, r *http.Request) error {
	var req wire.GoogleLoginRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	nonce := ""
	if value := nonceOf(r); value != "" {
		nonce = nonceHash(value)
	}
	grant, err := a.Accounts.LoginGoogle(r.Context(), req.Credential, nonce, client(r))
	if err != nil {
		return err
	}
	a.setNonce(w, "", -1)
	return a.writeSession(w, grant)
}

func (a *API) setNonce(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where there is TLS
		Name: nonceCookie, Value: value, Path: refreshPath, MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(a.PublicURL, "https://"),
	})
}

// nonceOf is the value of the browser's cookie, or empty.
func nonceOf(r *http.Request) string {
	cookie, err := r.Cookie(nonceCookie)
	if err != nil {
		return ""
	}
	if b, err := base64.RawURLEncoding.DecodeString(cookie.Value); err != nil || len(b) != sha256.Size {
		return ""
	}
	return cookie.Value
}

func nonceHash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}
