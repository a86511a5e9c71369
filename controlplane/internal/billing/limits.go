package billing

import "time"

// Bounds of billing.
const (
	SignatureTolerance = 300 * time.Second // age of a notification's signature
	GraceFor           = 7 * 24 * time.Hour
	ChooseFor          = 7 * 24 * time.Hour // to choose among apps that a smaller plan has no room for

	ReconcileEvery  = time.Hour        // how often every customer is compared with Stripe
	PollEvery       = time.Second      // for notifications that another process stored
	CountEvery      = 15 * time.Second // how often what waits is counted, for the metrics
	ClaimFor        = 5 * time.Minute  // how long work belongs to who took it
	ClaimMax        = 50               // notifications or accounts taken at a time
	ApplyTimeout    = 30 * time.Second // one notification or account
	AttemptsMax     = 12               // to apply a notification; with the pauses about eight hours
	BackoffMin      = 5 * time.Second
	BackoffMax      = 2 * time.Hour
	SyncTries       = 8                   // fetches when others apply at the same time
	EventsKept      = 90 * 24 * time.Hour // of applied notifications
	ReasonBytes     = 500                 // of a failure that are kept
	EventsListedMax = 200

	RequestTimeout    = 10 * time.Second // one request to Stripe
	RequestRetries    = 2
	SubscriptionsRead = 100 // of a customer, newest first
	CheckoutsRead     = 20  // of an account that may still be open
	InvoicesRead      = 24  // of a customer, newest first
	SessionIDMax      = 255 // bytes
)
