package billing

import (
	"context"
	"fmt"
	"strings"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/price"
	"github.com/stripe/stripe-go/v76/product"
	"github.com/stripe/stripe-go/v76/webhookendpoint"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
)

// Prices are found by their lookup key. When an amount changes, the key moves to a new price; subscriptions stay with the old
// one, which is known by its metadata.
const (
	lookupPrefix = "modelgate_"
	metaPlan     = "modelgate_plan"
)

// LookupKey names the price of a plan at Stripe.
func LookupKey(planID, interval string) string { return lookupPrefix + planID + "_" + interval }

func productID(planID string) string { return lookupPrefix + planID }

// planOfPrice is the plan that a price is for; empty for a price that is not ours.
func planOfPrice(p *stripe.Price) (planID, interval string) {
	if p == nil {
		return "", ""
	}
	if p.Recurring != nil {
		interval = string(p.Recurring.Interval)
	}
	id := p.Metadata[metaPlan]
	if id == "" {
		if key, ours := strings.CutPrefix(p.LookupKey, lookupPrefix); ours {
			id, _, _ = strings.Cut(key, "_")
		}
	}
	if _, ok := plan.ByID(id); !ok {
		id = ""
	}
	return id, interval
}

// priceID finds the price of a plan.
func (p *Processor) priceID(ctx context.Context, planID, interval string) (string, error) {
	found, err := p.prices(ctx, LookupKey(planID, interval))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", apierr.New(apierr.Unavailable, "The prices are not set up: an operator has to run controlplane stripe setup.")
	}
	return found[0].ID, nil
}

func (p *Processor) prices(ctx context.Context, lookup string) ([]*stripe.Price, error) {
	params := &stripe.PriceListParams{LookupKeys: []*string{&lookup}, Active: new(true)}
	params.Context, params.Single = ctx, true
	list := price.Client{B: p.backend, Key: p.key}.List(params)
	var found []*stripe.Price
	for list.Next() {
		found = append(found, list.Price())
	}
	if err := list.Err(); err != nil {
		return nil, refused(err, "list prices")
	}
	return found, nil
}

// Setup makes the products and prices of the plan table, or checks that they are as they should be, and says what it did. It can
// be run any number of times.
func (b *Billing) Setup(ctx context.Context, say func(string)) error {
	if b.Stripe == nil {
		return ErrNotConfigured
	}
	for _, one := range plan.All() {
		if len(one.Prices) == 0 {
			continue
		}
		if err := b.Stripe.ensureProduct(ctx, one); err != nil {
			return err
		}
		for _, cost := range one.Prices {
			done, err := b.Stripe.ensurePrice(ctx, one, cost)
			if err != nil {
				return err
			}
			say(fmt.Sprintf("%-28s %8d %s  %s", LookupKey(one.ID, cost.Interval), cost.Amount, cost.Currency, done))
		}
	}
	return nil
}

func (p *Processor) ensureProduct(ctx context.Context, one plan.Plan) error {
	get := &stripe.ProductParams{}
	get.Context = ctx
	_, err := product.Client{B: p.backend, Key: p.key}.Get(productID(one.ID), get)
	if err == nil {
		return nil
	}
	if !missing(err) {
		return refused(err, "load a product")
	}
	params := &stripe.ProductParams{ID: new(productID(one.ID)), Name: new("Modelgate " + one.Name)}
	params.Context = ctx
	params.AddMetadata(metaPlan, one.ID)
	if _, err := (product.Client{B: p.backend, Key: p.key}).New(params); err != nil {
		return refused(err, "make a product")
	}
	return nil
}

func (p *Processor) ensurePrice(ctx context.Context, one plan.Plan, cost plan.Price) (done string, err error) {
	key := LookupKey(one.ID, cost.Interval)
	found, err := p.prices(ctx, key)
	if err != nil {
		return "", err
	}
	if len(found) > 0 && found[0].UnitAmount == cost.Amount && string(found[0].Currency) == cost.Currency && found[0].Metadata[metaPlan] == one.ID {
		return "as it should be", nil
	}
	params := &stripe.PriceParams{
		Product: new(productID(one.ID)), UnitAmount: new(cost.Amount), Currency: new(cost.Currency),
		LookupKey: new(key), TransferLookupKey: new(true),
		Recurring: &stripe.PriceRecurringParams{Interval: new(cost.Interval)},
	}
	params.Context = ctx
	params.AddMetadata(metaPlan, one.ID)
	if _, err := (price.Client{B: p.backend, Key: p.key}).New(params); err != nil {
		return "", refused(err, "make a price")
	}
	if len(found) > 0 {
		return "changed; subscriptions keep the old price", nil
	}
	return "made", nil
}

// CheckWebhook reports what is wrong with the endpoint that Stripe sends notifications to: none has our address, or it sends
// another version of the interface than [stripe.APIVersion].
func (b *Billing) CheckWebhook(ctx context.Context) error {
	if b.Stripe == nil {
		return nil
	}
	params := &stripe.WebhookEndpointListParams{}
	params.Context = ctx
	params.Limit = stripe.Int64(100)
	list := webhookendpoint.Client{B: b.Stripe.backend, Key: b.Stripe.key}.List(params)
	address := b.PublicURL + "/dev/billing/webhook"
	for list.Next() {
		e := list.WebhookEndpoint()
		if e.URL != address {
			continue
		}
		if e.APIVersion != stripe.APIVersion {
			return fmt.Errorf("the webhook endpoint %s sends version %q, want %s: make a new one with that version", e.ID, e.APIVersion, stripe.APIVersion)
		}
		if e.Status != "enabled" {
			return fmt.Errorf("the webhook endpoint %s is %s", e.ID, e.Status)
		}
		return nil
	}
	if err := list.Err(); err != nil {
		return refused(err, "list webhook endpoints")
	}
	return fmt.Errorf("no webhook endpoint has the address %s: changes are noticed within %s only", address, ReconcileEvery)
}
