package billing

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"modelgate.internal/shared/apierr"
)

// Receive verifies a notification, stores it once and wakes the worker. Errors: 400, also for one of the other mode than the key has,
// which is noted in the audit log; 503.
func (b *Billing) Receive(ctx context.Context, body []byte, signature string) error {
	if b.Stripe == nil {
		return ErrNotConfigured
	}
	if err := b.Stripe.verify(body, signature); err != nil {
		b.metrics.event(outcomeBadSignature)
		return err
	}
	e, live, err := readEvent(body)
	if err != nil {
		return err
	}
	if live != (b.Stripe.mode == ModeLive) {
		b.metrics.event(outcomeOtherMode)
		if err := b.Store.RecordOtherMode(ctx, e, live); err != nil {
			return err
		}
		return ErrMode
	}
	fresh, err := b.Store.AddEvent(ctx, e, b.now())
	if err != nil {
		return err
	}
	if fresh {
		b.metrics.event(outcomeStored)
	} else {
		b.metrics.event(outcomeKnown)
	}
	b.Log.InfoContext(ctx, "billing event", slog.String("event_id", e.ID), slog.String("type", e.Type), slog.Bool("fresh", fresh))
	b.Wake()
	return nil
}

// verify checks the signature over the raw bytes against each secret.
func (p *Processor) verify(body []byte, signature string) error {
	var last error
	for _, secret := range p.webhookSecrets {
		if last = webhook.ValidatePayloadWithTolerance(body, signature, secret, SignatureTolerance); last == nil {
			return nil
		}
	}
	return ErrSignature.Because(last)
}

// readEvent takes what is used of a notification, and whether it is about money. Its objects name their customer by id; a customer is its own.
func readEvent(body []byte) (event Event, live bool, err error) {
	var e struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Created int64  `json:"created"`
		Live    bool   `json:"livemode"`
		Data    struct {
			Object struct {
				ID       string          `json:"id"`
				Object   string          `json:"object"`
				Customer json.RawMessage `json:"customer"`
			} `json:"object"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" || e.Type == "" {
		return Event{}, false, apierr.New(apierr.BadRequest, "The body is not an event.").Because(err)
	}
	o := e.Data.Object
	event = Event{ID: e.ID, Type: e.Type, ObjectID: o.ID, CreatedAt: time.Unix(e.Created, 0).UTC()}
	if o.Object == "customer" {
		event.CustomerID = o.ID
	} else {
		event.CustomerID = customerOf(o.Customer)
	}
	return event, e.Live, nil
}

// customerOf reads a customer that may be an id, an object or null.
func customerOf(raw json.RawMessage) string {
	var id string
	if json.Unmarshal(raw, &id) == nil {
		return id
	}
	var object struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &object)
	return object.ID
}

// handled reports whether notifications of the kind change anything here. All others are stored and ignored.
func handled(kind string) bool {
	switch kind {
	case "checkout.session.completed", "checkout.session.expired", "checkout.session.async_payment_succeeded",
		"checkout.session.async_payment_failed", "invoice.paid", "invoice.payment_failed", "invoice.payment_action_required",
		"customer.deleted", "charge.dispute.created", "charge.dispute.closed":
		return true
	default:
		return strings.HasPrefix(kind, "customer.subscription.")
	}
}
