package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
)

// Account is a customer of ours as billing knows it: a row that exists since the first checkout.
type Account struct {
	AccountID    string // the developer or the organization
	Organization bool
	CustomerID   *string // at Stripe; nil before the first checkout and after the customer was deleted there
	Plan         string  // that followed from the subscriptions when they were last applied
	Revision     int64   // counts what was applied
	OverSince    *time.Time
	DisputedAt   *time.Time // when a payment was disputed that is not settled
	SyncedAt     *time.Time
}

// Snapshot is what Stripe said about an account.
type Snapshot struct {
	CustomerGone  bool
	Subscriptions []Subscription
}

// Applied is what became of a snapshot.
type Applied struct {
	Before, After string // plan that the subscriptions pay for
	Suspended     int    // apps
	Resumed       int    // apps
}

// Checkout is a session that an account began.
type Checkout struct {
	SessionID string
	AccountID string
	Plan      string
	CreatedAt time.Time
}

// Event is a notification: who to look at, not what to believe.
type Event struct {
	ID         string
	Type       string
	CustomerID string // empty when the object does not name one
	ObjectID   string
	CreatedAt  time.Time
	Attempts   int64 // to apply it, the one under way included
}

// StoredEvent is a notification with what became of it.
type StoredEvent struct {
	Event
	State      string // waiting, done, dead
	Reason     string
	ReceivedAt time.Time
}

// EventCounts are how many notifications are not done.
type EventCounts struct {
	Waiting int64
	Dead    int64
	Oldest  *time.Time // when the oldest that waits was received; nil when none does
}

// States of a notification.
const (
	EventWaiting = "waiting"
	EventDone    = "done"
	EventDead    = "dead"
)

// ErrStale says that another snapshot was applied after the account's revision was read.
var ErrStale = errors.New("another state was applied meanwhile")

// ErrNoAccount says that nobody has the customer.
var ErrNoAccount = errors.New("no account has this customer")

// Store is what this package asks of storage.
type Store interface {
	// OpenAccount returns the row of an account and makes it if there is none.
	OpenAccount(ctx context.Context, accountID string, now time.Time) (Account, error)
	// BillingAccount returns ErrNoAccount if the account never had to do with billing.
	BillingAccount(ctx context.Context, accountID string) (Account, error)
	// AccountOfCustomer returns ErrNoAccount if nobody has the customer.
	AccountOfCustomer(ctx context.Context, customerID string) (Account, error)
	// SetCustomer names the customer of an account that has none; the row that is returned may have got another one before.
	SetCustomer(ctx context.Context, accountID, customerID string) (Account, error)
	// Apply makes a snapshot true: subscriptions, plan, apps, and what the nodes know of the keys. ErrStale unless the account
	// still has the revision of a.
	Apply(ctx context.Context, a Account, s Snapshot, now time.Time) (Applied, error)
	SetDisputed(ctx context.Context, accountID string, at *time.Time) error
	Subscriptions(ctx context.Context, accountID string) ([]Subscription, error)
	// AppStates returns the apps in the order in which there is room for them.
	AppStates(ctx context.Context, accountID string) ([]AppState, error)
	// KeepApps marks the apps of an account to keep, and no others. Ids of other apps are ErrNoSuchApp.
	KeepApps(ctx context.Context, accountID string, appIDs []string) error

	AddCheckout(ctx context.Context, a Account, c Checkout) error
	// RecordVisit notes in the audit log that the billing portal was opened.
	RecordVisit(ctx context.Context, a Account) error
	// Checkouts returns what the account began since, newest first.
	Checkouts(ctx context.Context, accountID string, since time.Time) ([]Checkout, error)
	// Checkout returns ErrNoSession if there is no such session.
	Checkout(ctx context.Context, sessionID string) (Checkout, error)

	// AddEvent stores a notification once; false says that it was known.
	AddEvent(ctx context.Context, e Event, now time.Time) (fresh bool, err error)
	ClaimEvents(ctx context.Context, now, until time.Time, limit int) ([]Event, error)
	FinishEvent(ctx context.Context, id, outcome string, now time.Time) error
	PostponeEvent(ctx context.Context, id, reason string, next time.Time) error
	BuryEvent(ctx context.Context, id, reason string, now time.Time) error
	// ClaimAccounts takes accounts that are to be looked at.
	ClaimAccounts(ctx context.Context, now, until time.Time, limit int) ([]string, error)
	CountEvents(ctx context.Context) (EventCounts, error)
	// RecordOtherMode notes in the audit log of the installation that a notification of the other mode was refused.
	RecordOtherMode(ctx context.Context, e Event, live bool) error
}

// What can be wrong.
var (
	ErrNotConfigured = apierr.New(apierr.Unavailable, "Billing is not configured: an operator has to set stripe_secret_key and stripe_webhook_secret.")
	ErrNoSession     = apierr.New(apierr.NotFound, "There is no such checkout session.")
	ErrNoSuchApp     = apierr.New(apierr.NotFound, "There is no such app.")
	ErrNoCustomer    = apierr.New(apierr.Conflict, "There is nothing to manage yet: buy a plan first, with POST /dev/billing/checkout.")
	ErrSubscribed    = apierr.New(apierr.Conflict,
		"You have a subscription already. Change its plan with POST /dev/billing/subscription, or cancel it in the billing portal.")
	ErrSamePlan       = apierr.New(apierr.Conflict, "This plan is in force already.")
	ErrNoSubscription = apierr.New(apierr.Conflict, "You have no subscription to change. Buy a plan with POST /dev/billing/checkout.")
	ErrSignature      = apierr.New(apierr.BadRequest, "The signature is missing, wrong or too old.")
	ErrMode           = apierr.New(apierr.BadRequest,
		"The notification is of another mode than stripe_secret_key: one of them is live, the other is not. Correct the endpoint at Stripe or the key.")
)

// Billing is the work with Stripe.
type Billing struct {
	Store     Store
	Stripe    *Processor // nil when billing is not configured
	PublicURL string     // of the portal, without a slash at its end
	Log       *slog.Logger
	Now       func() time.Time

	wake    chan struct{}
	metrics *metrics
}

// New returns a Billing whose metrics are registered with reg; p is nil when it is not configured.
func New(s Store, p *Processor, publicURL string, log *slog.Logger, now func() time.Time, reg prometheus.Registerer) (*Billing, error) {
	m, err := newMetrics(reg)
	if err != nil {
		return nil, err
	}
	return &Billing{Store: s, Stripe: p, PublicURL: publicURL, Log: log, Now: now, wake: make(chan struct{}, 1), metrics: m}, nil
}

// Mode is "off", "simulated", "test" or "live".
func (b *Billing) Mode() string {
	if b.Stripe == nil {
		return ModeOff
	}
	return b.Stripe.mode
}

// PublishableKey is for the browser; empty without one.
func (b *Billing) PublishableKey() string {
	if b.Stripe == nil {
		return ""
	}
	return b.Stripe.publishable
}

// Sync fetches what Stripe knows of an account and applies it. Errors: 502, 503; ErrNoAccount for who never paid.
func (b *Billing) Sync(ctx context.Context, accountID string) error {
	_, err := b.sync(ctx, accountID)
	return err
}

func (b *Billing) sync(ctx context.Context, accountID string) (Applied, error) {
	if b.Stripe == nil {
		return Applied{}, ErrNotConfigured
	}
	for range SyncTries {
		a, err := b.Store.BillingAccount(ctx, accountID)
		if err != nil {
			return Applied{}, err
		}
		var s Snapshot
		if a.CustomerID != nil {
			if s, err = b.Stripe.snapshot(ctx, *a.CustomerID); err != nil {
				return Applied{}, err
			}
		}
		b.warn(ctx, a, s)
		applied, err := b.Store.Apply(ctx, a, s, b.now())
		if errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			return Applied{}, fmt.Errorf("apply the subscriptions of an account: %w", err)
		}
		if applied.Before != applied.After || applied.Suspended+applied.Resumed > 0 {
			b.Log.InfoContext(ctx, "plan applied", slog.String("account_id", accountID), slog.String("before", applied.Before),
				slog.String("after", applied.After), slog.Int("apps_suspended", applied.Suspended), slog.Int("apps_resumed", applied.Resumed))
		}
		return applied, nil
	}
	return Applied{}, fmt.Errorf("apply the subscriptions of an account: %w, %d times in a row", ErrStale, SyncTries)
}

// warn says what a person has to look at.
func (b *Billing) warn(ctx context.Context, a Account, s Snapshot) {
	charged := 0
	for _, sub := range s.Subscriptions {
		if sub.Status == Active || sub.Status == Trialing || sub.Status == Processing || sub.Status == PastDue {
			charged++
			if sub.Plan == "" {
				b.Log.WarnContext(ctx, "a subscription has a price that is none of ours", slog.String("account_id", a.AccountID), slog.String("subscription_id", sub.ID))
			}
		}
	}
	if charged > 1 {
		b.Log.ErrorContext(ctx, "an account is charged for more than one subscription", slog.String("account_id", a.AccountID), slog.Int("subscriptions", charged))
	}
}

// Buyer is who pays.
type Buyer struct {
	AccountID string // a developer or an organization
	Email     string
	Name      string
}

// priced checks that a plan can be bought for the interval.
func priced(planID, interval string) error {
	p, ok := plan.ByID(planID)
	if !ok {
		return apierr.New(apierr.NotFound, "There is no such plan.")
	}
	if _, ok := p.Price(interval); !ok {
		return apierr.New(apierr.Conflict, "The "+p.Name+" plan cannot be bought by the "+interval+".")
	}
	return nil
}

// now is the time as the database keeps it.
func (b *Billing) now() time.Time { return b.Now().UTC().Truncate(time.Microsecond) }
