package billing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/invoice"
	"github.com/stripe/stripe-go/v76/subscription"

	"modelgate.internal/shared/id"
)

// View is how an account stands.
type View struct {
	Subscription *Subscription // nil without one that can be charged
	Payment      string        // summary of the payment method, as "visa 4242"; empty without one
	NextAmount   *int64        // what is charged at the end of the period; nil when nothing is
	Currency     string
	GraceEnds    *time.Time // when an unpaid plan ends
	DisputedAt   *time.Time
	Room         Room
	Apps         []AppState // in the order in which there is room for them; only when there is not room for all
}

// View shows how an account stands. limit is the number of apps of the plan in force, 0 for unlimited. Errors: 502, 503.
func (b *Billing) View(ctx context.Context, accountID string, limit int64) (View, error) {
	if b.Stripe == nil {
		return View{}, ErrNotConfigured
	}
	var v View
	a, err := b.Store.BillingAccount(ctx, accountID)
	if errors.Is(err, ErrNoAccount) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.DisputedAt = a.DisputedAt
	apps, err := b.Store.AppStates(ctx, accountID)
	if err != nil {
		return v, err
	}
	if v.Room = RoomFor(apps, limit, a.OverSince, b.now()); v.Room.Over {
		v.Apps = apps
	}
	subs, err := b.Store.Subscriptions(ctx, accountID)
	if err != nil {
		return v, err
	}
	if v.Subscription = Open(subs); v.Subscription == nil {
		return v, nil
	}
	if ends := v.Subscription.graceEnds(); !ends.IsZero() {
		v.GraceEnds = &ends
	}
	return v, b.Stripe.detail(ctx, &v)
}

// detail adds what only Stripe knows.
func (p *Processor) detail(ctx context.Context, v *View) error {
	params := &stripe.SubscriptionParams{}
	params.Context = ctx
	params.AddExpand("default_payment_method")
	s, err := subscription.Client{B: p.backend, Key: p.key}.Get(v.Subscription.ID, params)
	if err != nil {
		return refused(err, "load the subscription")
	}
	if m := s.DefaultPaymentMethod; m != nil && m.Card != nil {
		v.Payment = string(m.Card.Brand) + " " + m.Card.Last4
	} else if m != nil {
		v.Payment = string(m.Type)
	}
	if !v.Subscription.Renews() || s.CancelAtPeriodEnd || s.Items == nil || len(s.Items.Data) == 0 || s.Items.Data[0].Price == nil {
		return nil
	}
	amount := s.Items.Data[0].Price.UnitAmount
	v.NextAmount, v.Currency = &amount, string(s.Items.Data[0].Price.Currency)
	return nil
}

// Preview is what a change of plan would cost.
type Preview struct {
	DueNow   int64 // in the currency's smallest unit; below zero is credit for the next invoices
	Currency string
	Lines    []Line
}

// Line is one line of an invoice.
type Line struct {
	Description string
	Amount      int64
	Proration   bool
}

// open returns the subscription that a change is about, its item and the price it would get.
func (b *Billing) open(ctx context.Context, accountID, planID, interval string) (s *stripe.Subscription, itemID, priceID string, err error) {
	if b.Stripe == nil {
		return nil, "", "", ErrNotConfigured
	}
	if err := priced(planID, interval); err != nil {
		return nil, "", "", err
	}
	subs, err := b.Store.Subscriptions(ctx, accountID)
	if err != nil {
		return nil, "", "", err
	}
	current := Open(subs)
	if current == nil {
		return nil, "", "", ErrNoSubscription
	}
	if current.Plan == planID && current.Interval == interval {
		return nil, "", "", ErrSamePlan
	}
	params := &stripe.SubscriptionParams{}
	params.Context = ctx
	if s, err = (subscription.Client{B: b.Stripe.backend, Key: b.Stripe.key}).Get(current.ID, params); err != nil {
		return nil, "", "", refused(err, "load the subscription")
	}
	if s.Items == nil || len(s.Items.Data) == 0 {
		return nil, "", "", ErrNoSubscription
	}
	priceID, err = b.Stripe.priceID(ctx, planID, interval)
	return s, s.Items.Data[0].ID, priceID, err
}

// Preview says what a change to another plan would cost now. Errors: 409, 502, 503.
func (b *Billing) Preview(ctx context.Context, accountID, planID, interval string) (Preview, error) {
	s, itemID, priceID, err := b.open(ctx, accountID, planID, interval)
	if err != nil {
		return Preview{}, err
	}
	params := &stripe.InvoiceUpcomingParams{
		Customer: &s.Customer.ID, Subscription: &s.ID, SubscriptionItems: []*stripe.SubscriptionItemsParams{{ID: &itemID, Price: &priceID}},
		SubscriptionProrationBehavior: new("always_invoice"),
	}
	params.Context = ctx
	i, err := invoice.Client{B: b.Stripe.backend, Key: b.Stripe.key}.Upcoming(params)
	if err != nil {
		return Preview{}, refused(err, "preview an invoice")
	}
	p := Preview{Currency: string(i.Currency), DueNow: i.Total}
	if i.Lines != nil {
		for _, l := range i.Lines.Data {
			p.Lines = append(p.Lines, Line{Description: l.Description, Amount: l.Amount, Proration: l.Proration})
		}
	}
	return p, nil
}

// Change moves the subscription to another plan. The difference is charged at once; if that fails nothing changes. Errors: 409,
// also when the payment is declined; 502, 503.
func (b *Billing) Change(ctx context.Context, accountID, planID, interval string) error {
	s, itemID, priceID, err := b.open(ctx, accountID, planID, interval)
	if err != nil {
		return err
	}
	params := &stripe.SubscriptionParams{
		Items:             []*stripe.SubscriptionItemsParams{{ID: &itemID, Price: &priceID}},
		ProrationBehavior: new("always_invoice"), PaymentBehavior: new("error_if_incomplete"),
	}
	params.Context = ctx
	if _, err := (subscription.Client{B: b.Stripe.backend, Key: b.Stripe.key}).Update(s.ID, params); err != nil {
		return refused(err, "change the subscription")
	}
	return b.Sync(ctx, accountID)
}

// Keep says which apps to keep when the plan has not room for all. Errors: ErrNoSuchApp, 502, 503.
func (b *Billing) Keep(ctx context.Context, accountID string, appIDs []string) error {
	if b.Stripe == nil {
		return ErrNotConfigured
	}
	if slices.ContainsFunc(appIDs, func(appID string) bool { return !id.Valid(appID) }) {
		return ErrNoSuchApp
	}
	if _, err := b.Store.OpenAccount(ctx, accountID, b.now()); err != nil {
		return err
	}
	if err := b.Store.KeepApps(ctx, accountID, appIDs); err != nil {
		return err
	}
	return b.Sync(ctx, accountID)
}

// Invoice is an invoice of an account.
type Invoice struct {
	ID        string
	Number    string
	Status    string
	Amount    int64
	Currency  string
	CreatedAt time.Time
	URL       string // of the page at Stripe; empty for a draft
}

// Invoices returns the newest invoices of an account. Errors: 502, 503.
func (b *Billing) Invoices(ctx context.Context, accountID string) ([]Invoice, error) {
	if b.Stripe == nil {
		return nil, ErrNotConfigured
	}
	a, err := b.Store.BillingAccount(ctx, accountID)
	if errors.Is(err, ErrNoAccount) || err == nil && a.CustomerID == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	params := &stripe.InvoiceListParams{Customer: a.CustomerID}
	params.Context, params.Single = ctx, true
	params.Limit = stripe.Int64(InvoicesRead)
	found := invoice.Client{B: b.Stripe.backend, Key: b.Stripe.key}.List(params)
	var list []Invoice
	for found.Next() {
		i := found.Invoice()
		list = append(list, Invoice{
			ID: i.ID, Number: i.Number, Status: string(i.Status), Amount: i.Total, Currency: string(i.Currency),
			CreatedAt: time.Unix(i.Created, 0).UTC(), URL: i.HostedInvoiceURL,
		})
	}
	if err := found.Err(); err != nil {
		return nil, refused(err, "list invoices")
	}
	return list, nil
}
