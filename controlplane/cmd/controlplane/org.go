package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/org"
)

// org runs the commands about organizations.
func (e *env) org(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "set" {
		return errors.New("want org set, with the ID of an organization")
	}
	ctx = audit.With(ctx, audit.Origin{Operation: "operator org set"})
	f := e.flags("org set ID", "Changes the limits of an organization and prints them when the nodes follow. What is not named stays as it is.")
	limits := map[string]*int64{
		"per-minute":        f.Int64("per-minute", 0, "calls per minute of each key instead of the plan's; 0 goes back to the plan's"),
		"per-day":           f.Int64("per-day", 0, "calls per day of the organization instead of the plan's; 0 goes back to the plan's"),
		"in-flight":         f.Int64("in-flight", 0, "calls of each key at a time instead of the plan's; 0 goes back to the plan's"),
		"tokens-per-minute": f.Int64("tokens-per-minute", 0, "model tokens per minute of each key instead of the plan's; 0 goes back to the plan's"),
	}
	others, err := e.parse(f, args[1:], 1)
	if err != nil {
		return err
	}
	named := map[string]*int64{}
	f.Visit(func(set *flag.Flag) { named[set.Name] = limits[set.Name] })
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	o, err := (&org.Orgs{Store: s, Now: time.Now}).Set(ctx, others[0], org.Change{
		PerMinute: named["per-minute"], PerDay: named["per-day"], InFlight: named["in-flight"], Tokens: named["tokens-per-minute"],
	})
	if err != nil {
		return plain(err)
	}
	receipt, waitErr := e.receipt(ctx, s)
	return errors.Join(e.json(shownOrg{
		ID: o.ID, Name: o.Name, Plan: o.Plan, PerMinute: o.Terms().MinuteLimit(), PerDay: o.Terms().DayLimit(),
		InFlight: o.Terms().InFlightLimit(), TokensPerMinute: o.Terms().TokenLimit(), PerMinuteOverride: o.PerMinute, PerDayOverride: o.PerDay,
		InFlightOverride: o.InFlight, TokensOverride: o.Tokens, Receipt: receipt,
	}), waitErr)
}

// shownOrg is an organization as operators see it. The limits are those in force.
type shownOrg struct {
	ID                string `json:"id"`
	Name              string `json:"name"`
	Plan              string `json:"plan"`
	PerMinute         int64  `json:"per_minute"`
	PerDay            int64  `json:"per_day"`
	InFlight          int64  `json:"in_flight"`
	TokensPerMinute   int64  `json:"tokens_per_minute"` // 0 is unlimited
	PerMinuteOverride *int64 `json:"per_minute_override"`
	PerDayOverride    *int64 `json:"per_day_override"`
	InFlightOverride  *int64 `json:"in_flight_override"`
	TokensOverride    *int64 `json:"tokens_per_minute_override"`

	Receipt *shownReceipt `json:"receipt,omitempty"`
}
