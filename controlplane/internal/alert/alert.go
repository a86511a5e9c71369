package alert

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// SecretPrefix begins every signing secret.
const SecretPrefix = "mgwh_"

// Settings are what an account wants to be told, and how.
type Settings struct {
	AccountID    string // a developer or an organization
	Organization bool
	Thresholds   []int64 // percent of the day quota, of those that [Thresholds] lists, ascending
	Mail         bool
	WebhookURL   string        // empty without one
	Secret       secret.Sealed // of the webhook; without ciphertext when there is none
}

// HasSecret reports whether a signing secret was made.
func (s Settings) HasSecret() bool { return len(s.Secret.Ciphertext) > 0 }

// Thresholds are the percentages of a day quota that can be told.
func Thresholds() []int64 { return []int64{50, 80, 100} }

// Usage is how an account that has settings stands on a day.
type Usage struct {
	Settings
	Name  string // of the developer or the organization
	Calls int64
	Limit int64 // of the day; below 1 is unlimited
	Told  int64 // the highest threshold that was told of for the day; 0 for none
}

// Delivery is a notification for a webhook.
type Delivery struct {
	ID        string
	AccountID string
	Day       time.Time
	Threshold int64 // 0 for a test
	Body      string
	State     string // Waiting, Done or Dead
	Reason    string // why the last attempt failed
	Attempts  int64  // the one under way included
	CreatedAt time.Time
}

// Types of notifications, as their bodies name them.
const (
	TypeThreshold = "usage.threshold"
	TypeTest      = "usage.test" // has no threshold, calls or limit
)

// States of a notification.
const (
	Waiting = "waiting"
	Done    = "done"
	Dead    = "dead"
)

// Store is what this package asks of storage.
type Store interface {
	// AlertSettings returns settings that ask for nothing if the account has none.
	AlertSettings(ctx context.Context, accountID string) (Settings, error)
	// SetAlerts keeps the settings, and the secret only if there is one in them.
	SetAlerts(ctx context.Context, s Settings) error
	// RotateAlertSecret returns ErrNoWebhook if the account has none.
	RotateAlertSecret(ctx context.Context, accountID string, sealed secret.Sealed) error
	// QueueTest queues a test for the webhook of an account: ErrNoWebhook without one, ErrTested after another test since then.
	QueueTest(ctx context.Context, d Delivery, since time.Time) error
	// AlertDeliveries returns the newest notifications of an account.
	AlertDeliveries(ctx context.Context, accountID string, limit int) ([]Delivery, error)

	// Lease takes or extends a lease; false if somebody else has it.
	Lease(ctx context.Context, name, holder string, now, until time.Time) (mine bool, err error)
	// AlertUsage returns accounts with settings that made calls on the day, in the order of their ids, from the one after the given id on.
	AlertUsage(ctx context.Context, day time.Time, after string, limit int) ([]Usage, error)
	// AlertReaders returns the confirmed addresses of the developer, or of the members of the organization who may pay.
	AlertReaders(ctx context.Context, accountID string) ([]string, error)
	// Tell moves the mark of the account to the threshold of the day and queues the letters and the delivery, which may be nil. False
	// says that the mark was there, or further, and nothing was queued.
	Tell(ctx context.Context, accountID string, day time.Time, threshold int64, letters []mail.Letter, d *Delivery) (bool, error)

	// ClaimDeliveries takes up to limit notifications that are due. They are due again at until, unless something is noted of them.
	ClaimDeliveries(ctx context.Context, now, until time.Time, limit int) ([]Delivery, error)
	// SettleDelivery notes what became of an attempt; next is for one that waits.
	SettleDelivery(ctx context.Context, id, state, reason string, next time.Time) error
}

// What can be wrong with settings.
var (
	ErrNoWebhook   = apierr.New(apierr.Conflict, "There is no webhook. Set webhook_url with PUT /dev/billing/alerts first.")
	ErrTested      = apierr.New(apierr.Limited, "A test was sent just now. Wait a moment before the next one.").After(TestEvery)
	ErrUnconfirmed = apierr.New(apierr.Conflict, "Alerts go to confirmed addresses only, and there is none. Confirm your e-mail address first, or turn mail off.")
)

// Alerts is the work with alerts.
type Alerts struct {
	Store     Store
	Vault     *secret.Vault
	Mailer    *mail.Mailer
	PublicURL string // of the portal, without a slash at its end
	Log       *slog.Logger
	Now       func() time.Time
}

// Get returns the settings of an account and its newest notifications.
func (a *Alerts) Get(ctx context.Context, accountID string) (Settings, []Delivery, error) {
	s, err := a.Store.AlertSettings(ctx, accountID)
	if err != nil {
		return s, nil, err
	}
	list, err := a.Store.AlertDeliveries(ctx, accountID, DeliveriesListed)
	return s, list, err
}

// Set replaces the settings of an account. The signing secret is returned when one was made, for the first webhook. Errors: 409 for mails
// without a confirmed address, 422, 503 for mails without a server.
func (a *Alerts) Set(ctx context.Context, s Settings) (newSecret string, err error) {
	for _, percent := range s.Thresholds {
		if !slices.Contains(Thresholds(), percent) {
			return "", invalid("thresholds", fmt.Sprintf("each must be one of %v", Thresholds()), percent)
		}
	}
	s.Thresholds = slices.Compact(slices.Sorted(slices.Values(s.Thresholds)))
	if s.WebhookURL != "" {
		if err := a.checkURL(s.WebhookURL); err != nil {
			return "", err
		}
	}
	if s.Mail {
		if !a.Mailer.Configured() {
			return "", mail.ErrNotConfigured
		}
		readers, err := a.Store.AlertReaders(ctx, s.AccountID)
		if err != nil {
			return "", err
		}
		if len(readers) == 0 {
			return "", ErrUnconfirmed
		}
	}
	before, err := a.Store.AlertSettings(ctx, s.AccountID)
	if err != nil {
		return "", err
	}
	if s.WebhookURL != "" && !before.HasSecret() {
		if newSecret, s.Secret, err = a.newSecret(s.AccountID); err != nil {
			return "", err
		}
	}
	return newSecret, a.Store.SetAlerts(ctx, s)
}

// Rotate replaces the signing secret, at once. Error: ErrNoWebhook.
func (a *Alerts) Rotate(ctx context.Context, accountID string) (newSecret string, err error) {
	newSecret, sealed, err := a.newSecret(accountID)
	if err != nil {
		return "", err
	}
	return newSecret, a.Store.RotateAlertSecret(ctx, accountID, sealed)
}

// Test queues a notification that says nothing, so that a receiver can be tried. Errors: ErrNoWebhook, ErrTested.
func (a *Alerts) Test(ctx context.Context, accountID string, organization bool) error {
	now := a.now()
	d, err := delivery(Settings{AccountID: accountID, Organization: organization}, wire.UsageAlert{Type: TypeTest}, now)
	if err != nil {
		return err
	}
	return a.Store.QueueTest(ctx, *d, now.Add(-TestEvery))
}

func (a *Alerts) newSecret(accountID string) (string, secret.Sealed, error) {
	b := make([]byte, SecretBytes)
	rand.Read(b) // never fails: it ends the process instead
	text := SecretPrefix + base64.RawURLEncoding.EncodeToString(b)
	sealed, err := a.Vault.Seal([]byte(text), SealContext(accountID))
	if err != nil {
		return "", secret.Sealed{}, fmt.Errorf("seal a signing secret: %w", err)
	}
	return text, sealed, nil
}

// SealContext binds a sealed signing secret to its account.
func SealContext(accountID string) string { return "usage_alerts|" + accountID }

// invalid is the 422 for a property of the settings.
func invalid(property, what string, input any) error {
	return apierr.Violations(apierr.Item{
		Type: "value_error", Loc: []any{"body", property}, Msg: "Value error, " + what, Input: input, Ctx: map[string]any{"error": what},
	})
}

// now is the time as the database keeps it.
func (a *Alerts) now() time.Time { return a.Now().UTC().Truncate(time.Microsecond) }
