package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
)

// OpenAccount implements [billing.Store].
func (s *Store) OpenAccount(ctx context.Context, accountID string, now time.Time) (billing.Account, error) {
	var a billing.Account
	err := s.Tx(ctx, "open billing account", func(ctx context.Context, tx pgx.Tx) (err error) {
		if _, err = tx.Exec(ctx, insertBillingAccount, accountID, now); err != nil {
			return err
		}
		a, err = one[billing.Account](ctx, tx, selectBillingAccount, accountID)
		return err
	})
	return a, err
}

// BillingAccount implements [billing.Store].
func (s *Store) BillingAccount(ctx context.Context, accountID string) (billing.Account, error) {
	a, err := one[billing.Account](ctx, s.pool, selectBillingAccount, accountID)
	return a, missing(err, billing.ErrNoAccount, "load billing account")
}

// AccountOfCustomer implements [billing.Store].
func (s *Store) AccountOfCustomer(ctx context.Context, customerID string) (billing.Account, error) {
	a, err := one[billing.Account](ctx, s.pool, selectBillingCustomer, customerID)
	return a, missing(err, billing.ErrNoAccount, "load billing account")
}

// SetCustomer implements [billing.Store].
func (s *Store) SetCustomer(ctx context.Context, accountID, customerID string) (billing.Account, error) {
	var a billing.Account
	err := s.Tx(ctx, "set customer", func(ctx context.Context, tx pgx.Tx) (err error) {
		if _, err = tx.Exec(ctx, updateBillingCustomer, accountID, customerID); err != nil {
			return err
		}
		a, err = one[billing.Account](ctx, tx, selectBillingAccount, accountID)
		return err
	})
	return a, err
}

// Apply implements [billing.Store]. The row of the account is held from its revision to the commit.
func (s *Store) Apply(ctx context.Context, a billing.Account, snapshot billing.Snapshot, now time.Time) (billing.Applied, error) {
	var done billing.Applied
	err := s.changing(ctx, "apply billing", func(ctx context.Context, tx pgx.Tx) error {
		held, err := one[billing.Account](ctx, tx, lockBillingAccount, a.AccountID)
		if err != nil {
			return missing(err, billing.ErrNoAccount, "load billing account")
		}
		if held.Revision != a.Revision {
			return billing.ErrStale
		}
		done, err = s.applyBilling(ctx, tx, held, snapshot, now)
		return err
	})
	return done, err
}

func (s *Store) applyBilling(
	ctx context.Context, tx pgx.Tx, a billing.Account, snapshot billing.Snapshot, now time.Time,
) (billing.Applied, error) {
	if err := replaceSubscriptions(ctx, tx, a.AccountID, snapshot.Subscriptions); err != nil {
		return billing.Applied{}, err
	}
	planID, graceEnds := billing.InForce(snapshot.Subscriptions, now)
	done := billing.Applied{Before: a.Plan, After: planID}
	terms, err := billedTerms(ctx, tx, a)
	if err != nil {
		return done, err
	}
	if planID != a.Plan { // else an operator's plan would be undone by every comparison
		terms.Plan = planID
		if err := s.setPaidPlan(ctx, tx, a, planID, now); err != nil {
			return done, err
		}
	}
	apps, err := rows[billing.AppState](ctx, tx, selectAppStates, a.AccountID, app.AppsPerDeveloperMax)
	if err != nil {
		return done, fmt.Errorf("list apps: %w", err)
	}
	room := billing.RoomFor(apps, terms.AppLimit(), a.OverSince, now)
	if _, err := tx.Exec(ctx, suspendApps, list(room.Suspend), now); err != nil {
		return done, fmt.Errorf("suspend apps: %w", err)
	}
	if _, err := tx.Exec(ctx, suspendApps, list(room.Resume), nil); err != nil {
		return done, fmt.Errorf("resume apps: %w", err)
	}
	done.Suspended, done.Resumed = len(room.Suspend), len(room.Resume)
	customer := a.CustomerID
	if snapshot.CustomerGone {
		customer = nil
	}
	_, err = tx.Exec(ctx, updateBillingAccount, a.AccountID, customer, planID, room.Since, now, billing.NextCheck(now, graceEnds, room))
	if err != nil {
		return done, fmt.Errorf("update billing account: %w", err)
	}
	if planID == a.Plan && done.Suspended+done.Resumed == 0 {
		return done, nil
	}
	_, err = s.announceGrants(ctx, tx, grantsOf(a), a.AccountID)
	return done, err
}

// grantsOf selects the keys that an account pays for; a developer's include those made for an organization, which stay as they are.
func grantsOf(a billing.Account) string {
	if a.Organization {
		return selectGrantsOfOrg
	}
	return selectGrantsOfDeveloper
}

// billedTerms are what the developer or the organization of an account may do.
func billedTerms(ctx context.Context, tx pgx.Tx, a billing.Account) (plan.Terms, error) {
	if a.Organization {
		o, err := one[org.Org](ctx, tx, selectOrg, a.AccountID)
		return o.Terms(), missing(err, org.ErrNoOrg, "load organization")
	}
	d, err := one[account.Developer](ctx, tx, selectDeveloper, a.AccountID)
	if err != nil {
		return plan.Terms{}, fmt.Errorf("load developer: %w", err)
	}
	return d.Terms(), nil
}

// setPaidPlan gives an account the plan that is paid for. An organization that bought one is no longer sponsored by its founder, also
// after its own plan has ended. Organizations that have the plan of their founder follow; they are due at once, since it may have no
// room for their apps.
func (s *Store) setPaidPlan(ctx context.Context, tx pgx.Tx, a billing.Account, planID string, now time.Time) error {
	statement := updateDeveloperPlan
	if a.Organization {
		statement = updateOrgPaidPlan
	}
	if _, err := tx.Exec(ctx, statement, a.AccountID, planID); err != nil {
		return fmt.Errorf("update plan: %w", err)
	}
	err := s.record(ctx, tx, billingEntry(a, map[string]any{"paid_plan": a.Plan}, map[string]any{"paid_plan": planID}))
	if err != nil || a.Organization {
		return err
	}
	sponsored, err := rows[org.Org](ctx, tx, selectSponsored, a.AccountID)
	if err != nil {
		return fmt.Errorf("list sponsored organizations: %w", err)
	}
	for _, o := range sponsored {
		_, err1 := tx.Exec(ctx, updateOrgPlan, o.ID, planID)
		_, err2 := tx.Exec(ctx, insertBillingAccount, o.ID, now)
		_, err3 := tx.Exec(ctx, updateBillingDue, o.ID, now)
		if err := errors.Join(err1, err2, err3); err != nil {
			return fmt.Errorf("update the plan of an organization: %w", err)
		}
		err := s.record(ctx, tx, audit.Entry{
			Chain: o.ID, Kind: audit.Org, Target: o.ID, Before: map[string]any{"plan": o.Plan}, After: map[string]any{"plan": planID},
		})
		if err != nil {
			return err
		}
		if _, err := s.announceGrants(ctx, tx, selectGrantsOfOrg, o.ID); err != nil {
			return err
		}
	}
	return nil
}

// billingEntry is a record in the log of the developer or the organization.
func billingEntry(a billing.Account, before, after map[string]any) audit.Entry {
	e := audit.Entry{Chain: a.AccountID, Kind: audit.Account, Target: a.AccountID, After: after}
	if a.Organization {
		e.Kind = audit.Org
	}
	if before != nil {
		e.Before = before
	}
	return e
}

func replaceSubscriptions(ctx context.Context, tx pgx.Tx, accountID string, subs []billing.Subscription) error {
	if _, err := tx.Exec(ctx, deleteSubscriptions, accountID); err != nil {
		return fmt.Errorf("delete subscriptions: %w", err)
	}
	for _, sub := range subs {
		_, err := tx.Exec(ctx, insertSubscription, sub.ID, accountID, sub.Status, sub.Plan, sub.Interval, sub.PeriodEnd, sub.CancelAtPeriodEnd,
			sub.UnpaidSince)
		if err != nil {
			return fmt.Errorf("insert subscription: %w", err)
		}
	}
	return nil
}

// SetDisputed implements [billing.Store].
func (s *Store) SetDisputed(ctx context.Context, accountID string, at *time.Time) error {
	return s.exec(ctx, "set disputed", updateDisputed, accountID, at)
}

// Subscriptions implements [billing.Store].
func (s *Store) Subscriptions(ctx context.Context, accountID string) ([]billing.Subscription, error) {
	found, err := rows[billing.Subscription](ctx, s.pool, selectSubscriptions, accountID)
	if err != nil {
		return nil, fmt.Errorf("list subscriptions: %w", err)
	}
	return found, nil
}

// AppStates implements [billing.Store].
func (s *Store) AppStates(ctx context.Context, accountID string) ([]billing.AppState, error) {
	found, err := rows[billing.AppState](ctx, s.pool, selectAppStates, accountID, app.AppsPerDeveloperMax)
	if err != nil {
		return nil, fmt.Errorf("list apps: %w", err)
	}
	return found, nil
}

// KeepApps implements [billing.Store].
func (s *Store) KeepApps(ctx context.Context, accountID string, appIDs []string) error {
	appIDs = slices.Compact(slices.Sorted(slices.Values(appIDs)))
	return s.Tx(ctx, "keep apps", func(ctx context.Context, tx pgx.Tx) error {
		n, err := count(ctx, tx, countAppsNamed, accountID, list(appIDs))
		if err != nil {
			return err
		}
		if n != int64(len(appIDs)) {
			return billing.ErrNoSuchApp
		}
		if _, err = tx.Exec(ctx, updateAppsKept, accountID, list(appIDs)); err != nil {
			return fmt.Errorf("mark apps: %w", err)
		}
		a, err := one[billing.Account](ctx, tx, selectBillingAccount, accountID)
		if err != nil {
			return missing(err, billing.ErrNoAccount, "load billing account")
		}
		return s.record(ctx, tx, billingEntry(a, nil, map[string]any{"kept_apps": list(appIDs)}))
	})
}

// AddCheckout implements [billing.Store].
func (s *Store) AddCheckout(ctx context.Context, a billing.Account, c billing.Checkout) error {
	return s.Tx(ctx, "add checkout", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, insertCheckout, c.SessionID, c.AccountID, c.Plan, c.CreatedAt); err != nil {
			return fmt.Errorf("insert checkout: %w", err)
		}
		return s.record(ctx, tx, billingEntry(a, nil, map[string]any{"checkout": c.Plan, "session_id": c.SessionID}))
	})
}

// RecordVisit implements [billing.Store].
func (s *Store) RecordVisit(ctx context.Context, a billing.Account) error {
	return s.Tx(ctx, "record a visit of the billing portal", func(ctx context.Context, tx pgx.Tx) error {
		return s.record(ctx, tx, billingEntry(a, nil, map[string]any{"billing_portal": "opened"}))
	})
}

// Checkouts implements [billing.Store].
func (s *Store) Checkouts(ctx context.Context, accountID string, since time.Time) ([]billing.Checkout, error) {
	found, err := rows[billing.Checkout](ctx, s.pool, selectCheckouts, accountID, since, billing.CheckoutsRead)
	if err != nil {
		return nil, fmt.Errorf("list checkouts: %w", err)
	}
	return found, nil
}

// Checkout implements [billing.Store].
func (s *Store) Checkout(ctx context.Context, sessionID string) (billing.Checkout, error) {
	c, err := one[billing.Checkout](ctx, s.pool, selectCheckout, sessionID)
	return c, missing(err, billing.ErrNoSession, "load checkout")
}
