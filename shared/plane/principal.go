package plane

import (
	"time"

	"modelgate.internal/shared/key"
)

// Principal is who a credential speaks for, what it may do and how much. It is published per secret, so a rotated key
// with a grace period has two records with the same KeyID.
type Principal struct {
	KeyID       string    `json:"key_id"`
	AppID       string    `json:"app_id,omitempty"` // empty for Darwin tokens and the portal
	DeveloperID string    `json:"developer_id"`
	OrgID       string    `json:"org_id,omitempty"` // set when an organization owns the app
	Kind        key.Kind  `json:"kind"`
	Scope       Scope     `json:"scope"`
	Limits      []Limit   `json:"limits"`
	NotAfter    time.Time `json:"not_after,omitzero"` // zero means no expiry
	Seen        Version   `json:"-"`                  // the config version it was read at, set by the node
}

// Account is the ID that the day quota and the invoice belong to: the organization if there is one, else the developer.
func (p *Principal) Account() string {
	if p.OrgID != "" {
		return p.OrgID
	}
	return p.DeveloperID
}

// Session is what a token says that stands for no key: a developer's own session in the portal. Its KeyID is the developer's, which is
// no key's, so its limits and its usage are its own, but for those of the account.
type Session struct {
	Principal Principal `json:"principal"`
	Seen      Version   `json:"seen"` // the config version when it was signed
}

// Scope restricts a key. An empty list allows everything of its sort.
type Scope struct {
	Families []string `json:"families,omitempty"`
	Tasks    []string `json:"tasks,omitempty"`
}

// Limit is one bound that every call of a principal is counted against. Bucket names the counter and is the same on
// every node.
type Limit struct {
	Name   string        `json:"name"`            // one of the words below, as headers say it
	Bucket string        `json:"bucket"`          // "key/<id>/minute"
	Max    int64         `json:"max"`             // calls, or model tokens
	Window time.Duration `json:"window"`          // nanoseconds in JSON; for Daily 24 h
	Daily  bool          `json:"daily,omitempty"` // counted per UTC day, not in a sliding window
}

// Names of the limits.
const (
	LimitKeyMinute  = "key_per_minute"
	LimitAppMinute  = "app_per_minute"
	LimitAccountDay = "account_per_day"

	LimitKeyInFlight = "key_in_flight" // calls at a time; it has no window

	LimitKeyTokens = "key_tokens_per_minute" //nolint:gosec // no credential, but model tokens, those of the prompt included
)
