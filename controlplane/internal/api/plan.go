package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/wire"
)

func (a *API) limits(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	apps, err := a.Apps.List(r.Context(), developerID)
	if err != nil {
		return err
	}
	terms := d.Terms()
	day, err := a.dayLimit(r.Context(), terms)
	if err != nil {
		return err
	}
	minute, err := a.minuteLimit(r.Context(), terms)
	if err != nil {
		return err
	}
	answer := wire.Limits{
		Plan: d.Plan, Day: day, Minute: minute,
		TokensPerMinute: mostOf(terms.TokenLimit()), InFlight: mostOf(terms.InFlightLimit()),
	}
	for _, one := range apps {
		if one.OrgID == nil { // the others count against the organization's plan
			answer.Apps.Used++
		}
	}
	answer.Apps.Limit = mostOf(terms.AppLimit()).Limit
	if answer.Organization, err = a.orgLimits(r.Context(), developerID); err != nil {
		return err
	}
	return writeJSON(w, answer)
}

// orgLimits are the limits of the developer's organization, nil if there is none.
func (a *API) orgLimits(ctx context.Context, developerID string) (*wire.OrgLimits, error) {
	m, err := a.Orgs.Membership(ctx, developerID)
	if errors.Is(err, org.ErrNoOrg) {
		return nil, nil //nolint:nilnil // most developers are in none
	}
	if err != nil {
		return nil, err
	}
	terms := m.Terms()
	day, err := a.dayLimit(ctx, terms)
	if err != nil {
		return nil, err
	}
	minute, err := a.minuteLimit(ctx, terms)
	if err != nil {
		return nil, err
	}
	return &wire.OrgLimits{
		OrgID: m.ID, Name: m.Name, Plan: m.Plan, Day: day, Minute: minute,
		TokensPerMinute: mostOf(terms.TokenLimit()), InFlight: mostOf(terms.InFlightLimit()),
	}, nil
}

// dayLimit is what an account may do on the UTC day, and what the usage records say that it did.
func (a *API) dayLimit(ctx context.Context, terms plan.Terms) (wire.DayLimit, error) {
	now := a.Now().UTC()
	used, err := a.Usage.DayUsed(ctx, terms.AccountID, now)
	if err != nil {
		return wire.DayLimit{}, err
	}
	const day = 24 * time.Hour
	return wire.DayLimit{
		Limit: terms.DayLimit(), Used: used, Remaining: max(0, terms.DayLimit()-used), ResetsAt: now.Truncate(day).Add(day),
	}, nil
}

// minuteLimit is what each key of an account may do in a minute, and what the usage records say that keys and apps did of late.
func (a *API) minuteLimit(ctx context.Context, terms plan.Terms) (wire.MinuteLimit, error) {
	now := a.Now().UTC()
	keys, apps, err := a.Usage.MinuteUsed(ctx, terms.AccountID, now)
	if err != nil {
		return wire.MinuteLimit{}, err
	}
	return wire.MinuteLimit{Limit: terms.MinuteLimit(), From: now.Truncate(time.Minute), Keys: keys, Apps: apps}, nil
}

// mostOf is a limit on the wire; 0 is none.
func mostOf(limit int64) wire.MostLimit {
	if limit == 0 {
		return wire.MostLimit{}
	}
	return wire.MostLimit{Limit: &limit}
}
