package api

import (
	"net/http"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// The refresh cookie. Only the operations below refreshPath see it.
const (
	refreshCookie = "modelgate_refresh"
	refreshPath   = "/dev/auth"
)

// client is who sends a request, as a session remembers it.
func client(r *http.Request) account.Client {
	return account.Client{Address: remote(r), UserAgent: r.UserAgent()}
}

// writeSession answers with the tokens of a session, one in the body, one in a cookie that scripts cannot read, or with the
// challenge that stands before it.
func (a *API) writeSession(w http.ResponseWriter, g account.Grant) error {
	if g.Challenge != "" {
		return writeChallenge(w, g)
	}
	a.setRefresh(w, g.Refresh, int(g.Session.ExpiresAt.Sub(g.IssuedAt)/time.Second))
	return writeSecret(w, wire.Session{
		AccessToken: g.Token, TokenType: "bearer", ExpiresIn: int64(g.ExpiresAt.Sub(g.IssuedAt).Seconds()), Developer: developer(g.Developer),
	})
}

// writeChallenge answers 202: the password was right, the second factor is asked for.
func writeChallenge(w http.ResponseWriter, g account.Grant) error {
	w.Header().Set("Cache-Control", "no-store")
	return writeJSONStatus(w, http.StatusAccepted, wire.LoginChallenge{
		Challenge: g.Challenge, ExpiresIn: int64(g.ExpiresAt.Sub(g.IssuedAt).Seconds()),
	})
}

// setRefresh sets the refresh cookie for so many seconds; a negative number removes it.
func (a *API) setRefresh(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where there is TLS
		Name: refreshCookie, Value: value, Path: refreshPath, MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(a.PublicURL, "https://"), // browsers drop a Secure cookie of a portal without TLS, as in development
	})
}

// refresh renews a session. The cookie is the credential, so a request that another site made is refused.
func (a *API) refresh(w http.ResponseWriter, r *http.Request) error {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return apierr.New(apierr.Forbidden, "A session can be renewed by the portal's own pages only.").Because(err)
	}
	cookie, err := r.Cookie(refreshCookie)
	if err != nil {
		return account.ErrNoRefresh
	}
	grant, err := a.Accounts.Refresh(r.Context(), cookie.Value)
	if err != nil {
		return err
	}
	return a.writeSession(w, grant)
}

func (a *API) logout(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := a.Accounts.EndSession(r.Context(), who.DeveloperID, who.SessionID); err != nil {
		return err
	}
	a.setRefresh(w, "", -1)
	return writeJSON(w, wire.SessionsEnded{Ended: 1})
}

func (a *API) listSessions(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	sessions, err := a.Accounts.Sessions(r.Context(), who.DeveloperID)
	if err != nil {
		return err
	}
	answer := wire.SessionList{Sessions: make([]wire.SessionInfo, len(sessions))}
	for i, s := range sessions {
		answer.Sessions[i] = wireSession(s, who.SessionID)
	}
	return writeJSON(w, answer)
}

func wireSession(s account.Session, current string) wire.SessionInfo {
	return wire.SessionInfo{
		SessionID: s.ID, Current: s.ID == current, Address: s.Address, UserAgent: s.UserAgent, CreatedAt: s.CreatedAt.UTC(),
		RenewedAt: utc(s.UsedAt), ExpiresAt: s.ExpiresAt.UTC(),
	}
}

func (a *API) endSession(w http.ResponseWriter, r *http.Request, developerID string) error {
	if err := a.Accounts.EndSession(r.Context(), developerID, r.PathValue("session_id")); err != nil {
		return err
	}
	return writeJSON(w, wire.SessionsEnded{Ended: 1})
}

func (a *API) endOtherSessions(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ended, err := a.Accounts.EndOtherSessions(r.Context(), who)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.SessionsEnded{Ended: ended})
}

func (a *API) changePassword(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var req wire.ChangePasswordRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	ended, err := a.Accounts.ChangePassword(r.Context(), who, req.CurrentPassword, req.NewPassword)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.SessionsEnded{Ended: ended})
}
