package billing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
	portal "github.com/stripe/stripe-go/v76/billingportal/session"
	checkout "github.com/stripe/stripe-go/v76/checkout/session"
	"github.com/stripe/stripe-go/v76/customer"
	"github.com/stripe/stripe-go/v76/subscription"
)

// Session is where to send the browser.
type Session struct {
	ID  string
	URL string
}

// States of a checkout, as its buyer sees them.
const (
	CheckoutOpen       = "open"
	CheckoutProcessing = "processing"
	CheckoutAction     = "requires_action"
	CheckoutFailed     = "payment_failed"
	CheckoutActive     = "active"
	CheckoutExpired    = "expired"
)

// CheckoutState is how a checkout stands.
type CheckoutState struct {
	SessionID string
	Status    string
	Plan      string
	URL       string // where to go on; empty when there is nothing to do
}

// checkoutsLookedAt is how far back sessions that may still be open began: Stripe ends them after a day.
const checkoutsLookedAt = 25 * time.Hour

// Begin starts a checkout. An account that has a subscription changes that instead, so that nobody pays twice; for the same
// reason sessions that are still open, and subscriptions whose first payment was never finished, end here. Errors: 409, 502, 503.
func (b *Billing) Begin(ctx context.Context, who Buyer, planID, interval string) (Session, error) {
	if b.Stripe == nil {
		return Session{}, ErrNotConfigured
	}
	if err := priced(planID, interval); err != nil {
		return Session{}, err
	}
	a, err := b.customer(ctx, who)
	if err != nil {
		return Session{}, err
	}
	if err := b.clear(ctx, a); err != nil {
		return Session{}, err
	}
	priceID, err := b.Stripe.priceID(ctx, planID, interval)
	if err != nil {
		return Session{}, err
	}
	back := b.page(a)
	params := &stripe.CheckoutSessionParams{
		Mode: new(string(stripe.CheckoutSessionModeSubscription)), Customer: a.CustomerID,
		ClientReferenceID: new(a.AccountID), SuccessURL: new(returned(back)),
		CancelURL: new(back), LineItems: []*stripe.CheckoutSessionLineItemParams{{Price: &priceID, Quantity: stripe.Int64(1)}},
	}
	params.Context = ctx
	s, err := checkout.Client{B: b.Stripe.backend, Key: b.Stripe.key}.New(params)
	if err != nil {
		return Session{}, refused(err, "begin a checkout")
	}
	if err := b.Store.AddCheckout(ctx, a, Checkout{SessionID: s.ID, AccountID: a.AccountID, Plan: planID, CreatedAt: b.now()}); err != nil {
		return Session{}, err
	}
	return Session{ID: s.ID, URL: s.URL}, nil
}

// page is the page of the portal about an account.
func (b *Billing) page(a Account) string {
	if a.Organization {
		return b.PublicURL + "/dev/#/billing?scope=organization"
	}
	return b.PublicURL + "/dev/#/billing"
}

// returned is a page that is told the checkout from which the browser comes.
func returned(page string) string {
	sep := "?"
	if strings.Contains(page, "?") {
		sep = "&"
	}
	return page + sep + "session_id={CHECKOUT_SESSION_ID}"
}

// customer returns the account with its customer at Stripe, which is made at the first time. The idempotency key has two requests
// at once make one customer.
func (b *Billing) customer(ctx context.Context, who Buyer) (Account, error) {
	a, err := b.Store.OpenAccount(ctx, who.AccountID, b.now())
	if err != nil || a.CustomerID != nil {
		return a, err
	}
	params := &stripe.CustomerParams{Email: &who.Email, Name: &who.Name}
	params.Context = ctx
	params.AddMetadata("account_id", who.AccountID)
	params.SetIdempotencyKey(fmt.Sprintf("modelgate-customer-%s-%d", who.AccountID, a.Revision))
	c, err := customer.Client{B: b.Stripe.backend, Key: b.Stripe.key}.New(params)
	if err != nil {
		return Account{}, refused(err, "make a customer")
	}
	return b.Store.SetCustomer(ctx, who.AccountID, c.ID)
}

// clear makes sure that the account pays nothing and is about to pay nothing.
func (b *Billing) clear(ctx context.Context, a Account) error {
	if err := b.Sync(ctx, a.AccountID); err != nil {
		return err
	}
	subs, err := b.Store.Subscriptions(ctx, a.AccountID)
	if err != nil {
		return err
	}
	if Open(subs) != nil {
		return ErrSubscribed
	}
	for _, s := range subs {
		if s.Status != Incomplete {
			continue
		}
		params := &stripe.SubscriptionCancelParams{}
		params.Context = ctx
		_, err := subscription.Client{B: b.Stripe.backend, Key: b.Stripe.key}.Cancel(s.ID, params)
		if err != nil && !missing(err) {
			return refused(err, "end an unpaid subscription")
		}
	}
	began, err := b.Store.Checkouts(ctx, a.AccountID, b.now().Add(-checkoutsLookedAt))
	if err != nil {
		return err
	}
	for _, c := range began {
		params := &stripe.CheckoutSessionExpireParams{}
		params.Context = ctx
		_, err := checkout.Client{B: b.Stripe.backend, Key: b.Stripe.key}.Expire(c.SessionID, params)
		if e, ok := errors.AsType[*stripe.Error](err); err != nil && (!ok || e.HTTPStatusCode >= 500) {
			return refused(err, "end an open checkout")
		} // a 4xx says that it is not open any more
	}
	return nil
}

// Portal opens Stripe's portal for customers. Errors: ErrNoCustomer, 502, 503.
func (b *Billing) Portal(ctx context.Context, accountID string) (Session, error) {
	if b.Stripe == nil {
		return Session{}, ErrNotConfigured
	}
	a, err := b.Store.BillingAccount(ctx, accountID)
	if errors.Is(err, ErrNoAccount) || err == nil && a.CustomerID == nil {
		return Session{}, ErrNoCustomer
	}
	if err != nil {
		return Session{}, err
	}
	params := &stripe.BillingPortalSessionParams{Customer: a.CustomerID, ReturnURL: new(b.PublicURL + "/dev/#/billing")}
	params.Context = ctx
	s, err := portal.Client{B: b.Stripe.backend, Key: b.Stripe.key}.New(params)
	if err != nil {
		return Session{}, refused(err, "open the portal")
	}
	if err := b.Store.RecordVisit(ctx, a); err != nil {
		return Session{}, err
	}
	return Session{ID: s.ID, URL: s.URL}, nil
}

// Checkout returns a session that was begun here, of any account. Errors: ErrNoSession, 503.
func (b *Billing) Checkout(ctx context.Context, sessionID string) (Checkout, error) {
	if b.Stripe == nil {
		return Checkout{}, ErrNotConfigured
	}
	return b.Store.Checkout(ctx, sessionID)
}

// Verify says how a checkout of the account stands, and applies it if it is paid. Errors: ErrNoSession, 502, 503.
func (b *Billing) Verify(ctx context.Context, accountID, sessionID string) (CheckoutState, error) {
	c, err := b.Checkout(ctx, sessionID)
	if err != nil {
		return CheckoutState{}, err
	}
	if c.AccountID != accountID {
		return CheckoutState{}, ErrNoSession
	}
	params := &stripe.CheckoutSessionParams{}
	params.Context = ctx
	params.AddExpand("subscription.latest_invoice.payment_intent")
	s, err := checkout.Client{B: b.Stripe.backend, Key: b.Stripe.key}.Get(url.PathEscape(sessionID), params)
	if err != nil {
		return CheckoutState{}, refused(err, "load a checkout")
	}
	state := CheckoutState{SessionID: sessionID, Plan: c.Plan}
	state.Status, state.URL = judge(s)
	switch state.Status {
	case CheckoutActive:
		return state, b.Sync(ctx, accountID)
	case CheckoutFailed:
		if state.URL == "" {
			p, err := b.Portal(ctx, accountID)
			state.URL = p.URL
			return state, err
		}
	}
	return state, nil
}

// judge is the table of states: the session first, then the subscription, then the payment.
func judge(s *stripe.CheckoutSession) (status, next string) {
	switch s.Status {
	case stripe.CheckoutSessionStatusOpen:
		return CheckoutOpen, s.URL
	case stripe.CheckoutSessionStatusExpired:
		return CheckoutExpired, ""
	default:
	}
	if s.Subscription == nil {
		return CheckoutProcessing, ""
	}
	if firstPayment(s.Subscription) == stripe.PaymentIntentStatusProcessing {
		return CheckoutProcessing, ""
	}
	switch s.Subscription.Status {
	case stripe.SubscriptionStatusActive, stripe.SubscriptionStatusTrialing:
		return CheckoutActive, ""
	case stripe.SubscriptionStatusIncompleteExpired, stripe.SubscriptionStatusCanceled:
		return CheckoutExpired, ""
	case stripe.SubscriptionStatusPastDue, stripe.SubscriptionStatusUnpaid, stripe.SubscriptionStatusPaused:
		return CheckoutFailed, ""
	default:
	}
	invoice := s.Subscription.LatestInvoice
	if invoice == nil || invoice.PaymentIntent == nil {
		return CheckoutProcessing, ""
	}
	switch invoice.PaymentIntent.Status {
	case stripe.PaymentIntentStatusRequiresAction:
		return CheckoutAction, invoice.HostedInvoiceURL
	case stripe.PaymentIntentStatusRequiresPaymentMethod, stripe.PaymentIntentStatusCanceled:
		return CheckoutFailed, invoice.HostedInvoiceURL
	default:
		return CheckoutProcessing, ""
	}
}
