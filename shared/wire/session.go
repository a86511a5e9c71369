package wire

import "time"

// SessionInfo is a sign-in as its owner sees it.
type SessionInfo struct {
	SessionID string     `json:"session_id"`
	Current   bool       `json:"current"` // the one that asks
	Address   string     `json:"address"` // of the client that signed in
	UserAgent string     `json:"user_agent"`
	CreatedAt time.Time  `json:"created_at"`
	RenewedAt *time.Time `json:"renewed_at"`
	ExpiresAt time.Time  `json:"expires_at"` // unless it is renewed before
}

// SessionList answers GET /dev/auth/sessions.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// SessionsEnded answers what ends sessions.
type SessionsEnded struct {
	Ended int64 `json:"ended"`
}

// ChangePasswordRequest is the body of POST /dev/auth/change-password.
type ChangePasswordRequest struct {
	CurrentPassword string `json:"current_password" bind:"required,min=1,max=128,secret"`
	NewPassword     string `json:"new_password" bind:"required,min=8,max=128,secret"`
}
