package billing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/customer"
	"github.com/stripe/stripe-go/v76/dispute"
	"github.com/stripe/stripe-go/v76/subscription"

	"modelgate.internal/shared/apierr"
)

// Modes of billing.
const (
	ModeOff       = "off"
	ModeSimulated = "simulated"
	ModeTest      = "test"
	ModeLive      = "live"
)

// APIURL is where Stripe is. Any other address is a simulator, which gets no key of Stripe's.
const APIURL = "https://api.stripe.com"

// Settings are those of the configuration.
type Settings struct {
	SecretKey      string
	PublishableKey string
	WebhookSecrets []string // any of them is good: two while one is being replaced
	APIURL         string
	Client         *http.Client
}

// SimulatorKey is what the key for a simulator begins with.
const SimulatorKey = "sk_simulated_"

// Processor speaks with Stripe. It is immutable.
type Processor struct {
	mode           string
	publishable    string
	webhookSecrets []string
	key            string
	backend        stripe.Backend
}

// NewProcessor checks the settings. Without a secret key there is no processor, which is no error.
func NewProcessor(s Settings) (*Processor, error) {
	if s.SecretKey == "" {
		if len(s.WebhookSecrets) > 0 || s.PublishableKey != "" {
			return nil, errors.New("stripe_webhook_secret and stripe_publishable_key are of no use without stripe_secret_key")
		}
		return nil, nil //nolint:nilnil // not configured is a state of its own
	}
	mode, err := modeOf(s.SecretKey, s.APIURL)
	if err != nil {
		return nil, err
	}
	if len(s.WebhookSecrets) == 0 {
		return nil, errors.New("stripe_webhook_secret is not set: notifications could not be verified")
	}
	client := s.Client
	if client == nil {
		client = &http.Client{Timeout: RequestTimeout}
	}
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: new(s.APIURL), HTTPClient: client, MaxNetworkRetries: stripe.Int64(RequestRetries),
		EnableTelemetry: new(false), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
	return &Processor{mode: mode, publishable: s.PublishableKey, webhookSecrets: s.WebhookSecrets, key: s.SecretKey, backend: backend}, nil
}

// modeOf judges a key together with where it is sent.
func modeOf(key, apiURL string) (string, error) {
	u, err := url.Parse(apiURL)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("stripe_api_url: %q is not of the form https://host", apiURL)
	}
	ours := strings.HasPrefix(key, SimulatorKey)
	switch {
	case apiURL != APIURL && !ours:
		return "", fmt.Errorf("stripe_api_url names a simulator, which gets no key but one that begins with %s", SimulatorKey)
	case apiURL != APIURL:
		return ModeSimulated, nil
	case ours:
		return "", errors.New("stripe_secret_key is a simulator's: set stripe_api_url to the simulator")
	case strings.HasPrefix(key, "sk_live_"), strings.HasPrefix(key, "rk_live_"):
		return ModeLive, nil
	case strings.HasPrefix(key, "sk_test_"), strings.HasPrefix(key, "rk_test_"):
		return ModeTest, nil
	default:
		return "", errors.New("stripe_secret_key is not a secret key: those begin with sk_live_, sk_test_, rk_live_ or rk_test_")
	}
}

// snapshot fetches what is true of a customer now.
func (p *Processor) snapshot(ctx context.Context, customerID string) (Snapshot, error) {
	params := &stripe.SubscriptionListParams{Customer: new(customerID), Status: new("all")}
	params.Context, params.Single = ctx, true
	params.Limit = stripe.Int64(SubscriptionsRead)
	params.AddExpand("data.latest_invoice.payment_intent")
	found := subscription.Client{B: p.backend, Key: p.key}.List(params)
	var s Snapshot
	for found.Next() {
		s.Subscriptions = append(s.Subscriptions, read(found.Subscription()))
	}
	err := found.Err()
	if missing(err) {
		return Snapshot{CustomerGone: true}, nil
	}
	if err != nil {
		return Snapshot{}, refused(err, "list subscriptions")
	}
	if Open(s.Subscriptions) != nil {
		return s, nil // of a customer that was not deleted: that ends all subscriptions
	}
	get := &stripe.CustomerParams{}
	get.Context = ctx
	c, err := customer.Client{B: p.backend, Key: p.key}.Get(customerID, get)
	if missing(err) {
		s.CustomerGone = true
		return s, nil
	}
	if err != nil {
		return Snapshot{}, refused(err, "load the customer")
	}
	s.CustomerGone = c.Deleted
	return s, nil
}

// read takes what matters of a subscription.
func read(s *stripe.Subscription) Subscription {
	sub := Subscription{
		ID: s.ID, Status: string(s.Status), PeriodEnd: time.Unix(s.CurrentPeriodEnd, 0).UTC(), CancelAtPeriodEnd: s.CancelAtPeriodEnd,
	}
	if s.Items != nil && len(s.Items.Data) > 0 {
		sub.Plan, sub.Interval = planOfPrice(s.Items.Data[0].Price)
	}
	switch first := firstPayment(s); {
	case s.Status == stripe.SubscriptionStatusActive && first == stripe.PaymentIntentStatusProcessing:
		sub.Status = Processing
	case s.Status == stripe.SubscriptionStatusPastDue && first == "":
		since := time.Unix(s.CurrentPeriodStart, 0).UTC()
		if i := s.LatestInvoice; i != nil && i.Created > 0 {
			since = time.Unix(i.Created, 0).UTC()
		}
		sub.UnpaidSince = &since
	}
	return sub
}

// firstPayment is the state of the payment of a first invoice that is not paid yet; empty when that one is paid. A bank may take
// days to answer, during which Stripe calls the subscription active, and past_due when the answer is no.
func firstPayment(s *stripe.Subscription) stripe.PaymentIntentStatus {
	i := s.LatestInvoice
	if i == nil || i.BillingReason != stripe.InvoiceBillingReasonSubscriptionCreate || i.Status != stripe.InvoiceStatusOpen || i.PaymentIntent == nil {
		return ""
	}
	return i.PaymentIntent.Status
}

// dispute returns whose payment a dispute is about and when it began; nil when it is settled in our favour.
func (p *Processor) dispute(ctx context.Context, id string) (customerID string, at *time.Time, err error) {
	params := &stripe.DisputeParams{}
	params.Context = ctx
	params.AddExpand("charge")
	d, err := dispute.Client{B: p.backend, Key: p.key}.Get(id, params)
	if err != nil {
		return "", nil, refused(err, "load the dispute")
	}
	if d.Charge != nil && d.Charge.Customer != nil {
		customerID = d.Charge.Customer.ID
	}
	if d.Status != stripe.DisputeStatusWon && d.Status != stripe.DisputeStatusWarningClosed {
		t := time.Unix(d.Created, 0).UTC()
		at = &t
	}
	return customerID, at, nil
}

// missing reports whether Stripe does not know what was asked for.
func missing(err error) bool {
	e, ok := errors.AsType[*stripe.Error](err)
	return ok && e.HTTPStatusCode == http.StatusNotFound
}

// refused makes an answer of a failure of Stripe's.
func refused(err error, what string) error {
	err = fmt.Errorf("%s: %w", what, err)
	e, ok := errors.AsType[*stripe.Error](err)
	switch {
	case ok && e.HTTPStatusCode == http.StatusPaymentRequired:
		return apierr.New(apierr.Conflict, "The payment was declined. Change the payment method in the billing portal and try again.").Because(err)
	case ok && e.HTTPStatusCode == http.StatusUnauthorized:
		return apierr.New(apierr.BadGateway, "The payment processor does not take our key. An operator has to correct stripe_secret_key.").Because(err)
	default:
		return apierr.New(apierr.BadGateway, "The payment processor cannot be asked right now. Nothing was changed; try again in a moment.").Because(err)
	}
}
