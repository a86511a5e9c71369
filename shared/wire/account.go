package wire

import "time"

// RegisterRequest is the body of POST /dev/auth/register.
type RegisterRequest struct {
	Name     string `json:"name" bind:"required,min=1,max=120"`
	Email    string `json:"email" bind:"required,min=3,max=254"`
	Password string `json:"password" bind:"required,min=8,max=128,secret"`
}

// LoginRequest is the body of POST /dev/auth/login.
type LoginRequest struct {
	Email    string `json:"email" bind:"required,min=1,max=254"`
	Password string `json:"password" bind:"required,min=1,max=128,secret"`
}

// Session answers register and login.
type Session struct {
	AccessToken string    `json:"access_token"`
	TokenType   string    `json:"token_type"` // always "bearer"
	ExpiresIn   int64     `json:"expires_in"` // seconds
	Developer   Developer `json:"developer"`
}

// Developer is an account as its owner sees it.
type Developer struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	Email         string    `json:"email"`
	EmailVerified bool      `json:"email_verified"`
	Plan          string    `json:"plan"` // free, starter, pro, enterprise
	OrgID         *string   `json:"org_id"`
	CreatedAt     time.Time `json:"created_at"`
}

// GoogleClientID answers GET /dev/auth/google-client-id; null when Google sign-in is not configured.
type GoogleClientID struct {
	ClientID *string `json:"client_id"`
	Nonce    *string `json:"nonce"` // for the request to Google; a cookie of this browser goes with it
}

// GoogleLoginRequest is the body of POST /dev/auth/google.
type GoogleLoginRequest struct {
	Credential string `json:"credential" bind:"required,min=1,max=8192,secret"`
}

// Limits answers GET /dev/limits.
type Limits struct {
	Plan   string      `json:"plan"`
	Day    DayLimit    `json:"day"`
	Minute MinuteLimit `json:"minute"`
	Apps   AppLimit    `json:"apps"`
	// TokensPerMinute is of model tokens and each key; a null limit is unlimited.
	TokensPerMinute MostLimit `json:"tokens_per_minute"`
	InFlight        MostLimit `json:"in_flight"` // calls of each key at a time
	// Organization are the limits of the organization's keys, absent when the developer is in none.
	Organization *OrgLimits `json:"organization,omitempty"`
}

// MostLimit is a limit whose use only the nodes know; null is unlimited.
type MostLimit struct {
	Limit *int64 `json:"limit"`
}

// OrgLimits are those of an organization's plan and what its apps used of its day.
type OrgLimits struct {
	OrgID           string      `json:"org_id"`
	Name            string      `json:"name"`
	Plan            string      `json:"plan"`
	Day             DayLimit    `json:"day"`
	Minute          MinuteLimit `json:"minute"`
	TokensPerMinute MostLimit   `json:"tokens_per_minute"`
	InFlight        MostLimit   `json:"in_flight"`
}

// DayLimit is the day quota of the account, counted per UTC day over live keys and Darwin tokens.
type DayLimit struct {
	Limit     int64     `json:"limit"`
	Used      int64     `json:"used"`
	Remaining int64     `json:"remaining"`
	ResetsAt  time.Time `json:"resets_at"`
}

// MinuteLimit is the plan's rate in calls per minute and key, and what keys and apps used of late: those of the most calls first, and
// none that made none.
type MinuteLimit struct {
	Limit int64       `json:"limit"`
	From  time.Time   `json:"from"` // start of the UTC minute whose calls are used
	Keys  []KeyMinute `json:"keys"`
	Apps  []AppMinute `json:"apps"`
}

// KeyMinute is what a key used of the plan's rate.
type KeyMinute struct {
	KeyID string  `json:"key_id"`
	AppID *string `json:"app_id"` // null for a Darwin token
	Hint  string  `json:"hint"`   // the key masked
	MinuteUse
}

// AppMinute is what all keys of an app used of its own limit.
type AppMinute struct {
	AppID string `json:"app_id"`
	Limit int64  `json:"limit"` // calls per minute
	MinuteUse
}

// MinuteUse are the calls that ended and were admitted, by the UTC minute in which they arrived.
type MinuteUse struct {
	Used     int64     `json:"used"`      // since from
	Before   int64     `json:"before"`    // in the minute before
	ResetsAt time.Time `json:"resets_at"` // when none of them counts any more, at the latest
}

// AppLimit is how many apps the plan allows; a null limit is unlimited.
type AppLimit struct {
	Limit *int64 `json:"limit"`
	Used  int64  `json:"used"`
}
