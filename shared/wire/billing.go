package wire

import "time"

// BillingConfig answers GET /dev/billing/config.
type BillingConfig struct {
	Mode           string       `json:"mode"` // off, simulated, test, live
	PublishableKey *string      `json:"publishable_key"`
	Plans          []PricedPlan `json:"plans"`
}

// PricedPlan is a plan and what it costs.
type PricedPlan struct {
	Plan   Plan    `json:"plan"`
	Prices []Price `json:"prices"` // empty for a plan that cannot be bought
}

// Price is what a plan costs for each interval.
type Price struct {
	Interval string `json:"interval"` // month, year
	Amount   int64  `json:"amount"`   // in the currency's smallest unit
	Currency string `json:"currency"` // ISO 4217, lower case
}

// CheckoutRequest is the body of POST /dev/billing/checkout.
type CheckoutRequest struct {
	Plan     string `json:"plan" bind:"required,enum=starter|pro|enterprise"`
	Interval string `json:"interval" bind:"enum=month|year,default=month"`
}

// CheckoutSession answers POST /dev/billing/checkout.
type CheckoutSession struct {
	URL       string `json:"url"`
	SessionID string `json:"session_id"`
}

// CheckoutState answers GET /dev/billing/verify-session.
type CheckoutState struct {
	SessionID string  `json:"session_id"`
	Status    string  `json:"status"` // open, processing, requires_action, payment_failed, active, expired
	Plan      string  `json:"plan"`
	URL       *string `json:"url"` // where to go on; null when there is nothing to do

	Receipt *Receipt `json:"receipt,omitempty"` // of an active plan; nil with wait=none
}

// BillingEventReceived answers POST /dev/billing/webhook.
type BillingEventReceived struct {
	Received bool `json:"received"` // always true
}

// BillingPortal answers POST /dev/billing/portal.
type BillingPortal struct {
	URL string `json:"url"`
}

// BillingState answers GET and POST /dev/billing/subscription and PUT /dev/billing/apps.
type BillingState struct {
	Plan         string               `json:"plan"`         // in force
	Subscription *BillingSubscription `json:"subscription"` // null without one that can be charged
	DisputedAt   *time.Time           `json:"disputed_at"`  // when a payment was disputed that is not settled
	OverLimit    *OverLimit           `json:"over_limit"`   // null when the plan has room for all apps

	Receipt *Receipt `json:"receipt,omitempty"` // of a change; nil with wait=none
}

// BillingSubscription is a subscription that can be charged.
type BillingSubscription struct {
	Plan              string     `json:"plan"` // what it pays for; empty for a price that is none of ours
	Interval          string     `json:"interval"`
	Status            string     `json:"status"` // trialing, active, processing, past_due, unpaid, paused
	PeriodEnd         time.Time  `json:"period_end"`
	CancelAtPeriodEnd bool       `json:"cancel_at_period_end"`
	NextAmount        *int64     `json:"next_amount"`    // charged at the end of the period; null when nothing is
	Currency          *string    `json:"currency"`       // of next_amount
	PaymentMethod     *string    `json:"payment_method"` // "visa 4242"
	GraceEndsAt       *time.Time `json:"grace_ends_at"`  // when an unpaid plan ends
}

// OverLimit says that an account has more apps than its plan allows.
type OverLimit struct {
	Allowed   int64        `json:"allowed"`
	SuspendAt time.Time    `json:"suspend_at"` // when the apps that do not stay are suspended
	Apps      []LimitedApp `json:"apps"`
}

// LimitedApp is an app of an account that has too many.
type LimitedApp struct {
	AppID     string `json:"app_id"`
	Name      string `json:"name"`
	Stays     bool   `json:"stays"` // the plan has room for it
	Suspended bool   `json:"suspended"`
}

// KeepAppsRequest is the body of PUT /dev/billing/apps.
type KeepAppsRequest struct {
	AppIDs []string `json:"app_ids" bind:"required,max=100"`
}

// ChangePlanRequest is the body of POST /dev/billing/subscription.
type ChangePlanRequest struct {
	Plan     string `json:"plan" bind:"required,enum=starter|pro|enterprise"`
	Interval string `json:"interval" bind:"enum=month|year,default=month"`
}

// BillingPreview answers GET /dev/billing/preview.
type BillingPreview struct {
	DueNow   int64         `json:"due_now"` // in the currency's smallest unit; below zero is credit
	Currency string        `json:"currency"`
	Lines    []InvoiceLine `json:"lines"`
}

// InvoiceLine is one line of an invoice.
type InvoiceLine struct {
	Description string `json:"description"`
	Amount      int64  `json:"amount"`
	Proration   bool   `json:"proration"`
}

// InvoiceList answers GET /dev/billing/invoices.
type InvoiceList struct {
	Invoices []Invoice `json:"invoices"`
}

// Invoice is an invoice, newest first in lists.
type Invoice struct {
	InvoiceID string    `json:"invoice_id"`
	Number    *string   `json:"number"` // null for a draft
	Status    string    `json:"status"` // draft, open, paid, uncollectible, void
	Amount    int64     `json:"amount"`
	Currency  string    `json:"currency"`
	CreatedAt time.Time `json:"created_at"`
	URL       *string   `json:"url"` // its page; null for a draft
}

// AlertSettings answers GET and PUT /dev/billing/alerts.
type AlertSettings struct {
	Thresholds    []int64         `json:"thresholds"` // percent of the day quota
	Mail          bool            `json:"mail"`
	WebhookURL    *string         `json:"webhook_url"`
	WebhookSecret *string         `json:"webhook_secret"` // only in the answer that made it
	Deliveries    []AlertDelivery `json:"deliveries"`     // newest first
}

// AlertDelivery is a notification that was to be sent to a webhook.
type AlertDelivery struct {
	ID        string    `json:"id"`
	Day       string    `json:"day"` // UTC
	Threshold int64     `json:"threshold"`
	State     string    `json:"state"` // waiting, done, dead
	Attempts  int64     `json:"attempts"`
	Reason    *string   `json:"reason"` // why the last attempt failed
	CreatedAt time.Time `json:"created_at"`
}

// AlertRequest is the body of PUT /dev/billing/alerts.
type AlertRequest struct {
	Thresholds []int64 `json:"thresholds" bind:"required,max=3"`
	Mail       bool    `json:"mail" bind:"required"`
	WebhookURL *string `json:"webhook_url" bind:"max=2048"`
}

// AlertSecret answers POST /dev/billing/alerts/secret.
type AlertSecret struct {
	WebhookSecret string `json:"webhook_secret"`
}

// UsageAlert is the body of a notification to the webhook of an account.
type UsageAlert struct {
	ID        string    `json:"id"`   // the same in every attempt
	Type      string    `json:"type"` // usage.threshold, or usage.test, which has no threshold, calls or limit
	CreatedAt time.Time `json:"created_at"`
	AccountID string    `json:"account_id"`
	Scope     string    `json:"scope"` // account or organization
	Day       string    `json:"day"`   // UTC
	Threshold int64     `json:"threshold"`
	Calls     int64     `json:"calls"` // of the day, when it was looked at
	Limit     int64     `json:"limit"`
}
