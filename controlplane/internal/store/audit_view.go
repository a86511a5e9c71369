package store

import (
	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/org"
)

// What the audit log shows of things: everything that a change can be about, and nothing secret.

func accountView(d account.Developer) map[string]any {
	return map[string]any{
		"name": d.Name, "email": d.Email, "plan": d.Plan, "per_minute": d.PerMinute, "per_day": d.PerDay, "in_flight": d.InFlight, "tokens_per_minute": d.Tokens, "verified_at": d.VerifiedAt,
	}
}

// termsView is what an operator can change of an organization.
func termsView(o org.Org) map[string]any {
	return map[string]any{"per_minute": o.PerMinute, "per_day": o.PerDay, "in_flight": o.InFlight, "tokens_per_minute": o.Tokens}
}

func appView(a app.App) map[string]any {
	return map[string]any{
		"name": a.Name, "description": a.Description, "environment": a.Environment, "families": list(a.Families), "tasks": list(a.Tasks),
		"rate_limit": a.RateLimit, "active": a.Active, "expires_at": a.ExpiresAt, "org_id": a.OrgID,
	}
}

// keyView leaves the metadata of a Darwin token out, which may hold anything.
func keyView(k app.Key) map[string]any {
	v := map[string]any{"kind": k.Kind, "hint": k.Hint, "expires_at": k.ExpiresAt, "revoked_at": k.RevokedAt}
	if k.AppID == nil {
		v["name"], v["scopes"] = k.Name, list(k.Scopes)
	} else {
		v["app_id"] = *k.AppID
	}
	return v
}

func sessionsEnded(n int64) map[string]any { return map[string]any{"sessions_ended": n} }
