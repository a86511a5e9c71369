package app

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// Grant is everything that decides what one value of a key may do.
type Grant struct {
	Hash         []byte
	KeyID        string
	DeveloperID  string
	Kind         key.Kind
	Scopes       []string   // of a Darwin token
	ExpiresAt    *time.Time // of the key
	NotAfter     *time.Time // of the value
	Plan         string
	PerMinute    *int64
	PerDay       *int64
	InFlight     *int64
	Tokens       *int64
	OrgID        *string // owns the app; the plan and the limits are the organization's then
	AppID        *string // nil, as all that follow, for a Darwin token
	Families     []string
	Tasks        []string
	RateLimit    *int64
	Active       *bool
	AppExpiresAt *time.Time
}

// Change is what the nodes are told about the value: a principal, or that it is gone when its app is switched off. An app,
// key or value that ends some day is a principal with an end, so nobody has to be awake when it comes.
func (g Grant) Change() (plane.Change, error) {
	if g.Active != nil && !*g.Active {
		return Gone(g.Hash), nil
	}
	p := plane.Principal{
		KeyID: g.KeyID, DeveloperID: g.DeveloperID, Kind: g.Kind,
		Scope:    plane.Scope{Families: g.Families, Tasks: g.Tasks},
		NotAfter: earliest(g.ExpiresAt, g.NotAfter, g.AppExpiresAt),
	}
	if g.Kind == key.Darwin {
		p.Scope = scopeOf(g.Scopes)
	}
	if g.OrgID != nil {
		p.OrgID = *g.OrgID
	}
	var appPerMinute int64
	if g.AppID != nil {
		p.AppID = *g.AppID
	}
	if g.RateLimit != nil {
		appPerMinute = *g.RateLimit
	}
	terms := plan.Terms{AccountID: p.Account(), Plan: g.Plan, PerMinute: g.PerMinute, PerDay: g.PerDay, InFlight: g.InFlight, Tokens: g.Tokens}
	p.Limits = terms.Limits(g.Kind, g.KeyID, p.AppID, appPerMinute)
	body, err := json.Marshal(p)
	if err != nil {
		return plane.Change{}, fmt.Errorf("encode a principal: %w", err)
	}
	return plane.Change{Kind: plane.KindKey, ID: hex.EncodeToString(g.Hash), Body: body}, nil
}

// Gone tells the nodes that a value no longer works.
func Gone(hash []byte) plane.Change {
	return plane.Change{Kind: plane.KindKey, ID: hex.EncodeToString(hash), Gone: true}
}

// earliest is the first of the times that are set, or zero.
func earliest(times ...*time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if t != nil && (first.IsZero() || t.Before(first)) {
			first = *t
		}
	}
	return first.UTC()
}
