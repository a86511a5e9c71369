package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/billing"
)

// processor reads the settings of billing; nil when it is not configured.
func (c *Config) processor() (*billing.Processor, error) {
	s := billing.Settings{PublishableKey: c.StripePublishableKey, APIURL: strings.TrimSuffix(c.StripeAPIURL, "/")}
	var errs []error
	if c.StripeSecretKey.IsSet() {
		text, err := value("stripe_secret_key", c.StripeSecretKey)
		s.SecretKey = strings.TrimSpace(text)
		errs = append(errs, err)
	}
	if c.StripeWebhookSecret.IsSet() {
		text, err := value("stripe_webhook_secret", c.StripeWebhookSecret)
		s.WebhookSecrets = strings.Fields(text)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return billing.NewProcessor(s)
}

// stripe runs the commands about billing.
func (e *env) stripe(ctx context.Context, args []string) error {
	sub := ""
	if len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	switch sub {
	case "setup":
		return e.bare("stripe setup", "Makes the products and prices of the plan table at Stripe, or checks them, and checks the webhook endpoint.",
			args, func() error { return e.stripeSetup(ctx) })
	case "events":
		return e.stripeEvents(ctx, args)
	case "replay":
		return e.stripeReplay(ctx, args)
	case "reconcile":
		return e.bare("stripe reconcile", "Has the running servers compare every customer with Stripe now.", args, func() error { return e.stripeReconcile(ctx) })
	default:
		return errors.New("stripe setup, events, replay or reconcile?")
	}
}

func (e *env) stripeSetup(ctx context.Context) error {
	p, err := e.cfg.processor()
	if err != nil {
		return err
	}
	b, err := billing.New(nil, p, strings.TrimSuffix(e.cfg.PublicURL, "/"), e.log, time.Now, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	if err := b.Setup(ctx, func(line string) { fmt.Fprintln(e.stdout, line) }); err != nil {
		return plain(err)
	}
	return plain(b.CheckWebhook(ctx))
}

func (e *env) stripeEvents(ctx context.Context, args []string) error {
	f := e.flags("stripe events", "Lists the notifications of Stripe's, newest first: those that were given up, or others.")
	state := f.String("state", billing.EventDead, "dead, waiting, done, or all")
	if _, err := e.parse(f, args, 0); err != nil {
		return err
	}
	switch *state {
	case "all":
		*state = ""
	case billing.EventDead, billing.EventWaiting, billing.EventDone:
	default:
		return fmt.Errorf("--state %q: want dead, waiting, done or all", *state)
	}
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := s.Events(ctx, *state)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RECEIVED\tEVENT\tTYPE\tOBJECT\tSTATE\tATTEMPTS\tREASON")
	for _, one := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", one.ReceivedAt.UTC().Format(time.RFC3339), one.ID, one.Type, one.ObjectID, one.State, one.Attempts, one.Reason)
	}
	return w.Flush()
}

func (e *env) stripeReplay(ctx context.Context, args []string) error {
	f := e.flags("stripe replay [EVENT...]", "Has the running servers apply notifications again: those named, or all that were given up.")
	ids, err := e.parse(f, args, anyNumber)
	if err != nil {
		return err
	}
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.ReplayEvents(ctx, ids, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%d notifications wait again\n", n)
	return nil
}

func (e *env) stripeReconcile(ctx context.Context) error {
	s, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.ReconcileAll(ctx, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%d accounts are due\n", n)
	return nil
}
