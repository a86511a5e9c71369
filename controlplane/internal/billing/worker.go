package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Wake makes the worker look for notifications now.
func (b *Billing) Wake() {
	select {
	case b.wake <- struct{}{}:
	default: // told already
	}
}

// Run applies notifications, and looks at accounts whose time has come, until ctx ends; it returns its error. Failures are logged
// and tried again.
func (b *Billing) Run(ctx context.Context) error {
	tick := time.NewTicker(PollEvery)
	defer tick.Stop()
	var counted time.Time
	for {
		err := b.Work(ctx)
		if now := b.now(); now.Sub(counted) >= CountEvery {
			counted, err = now, errors.Join(err, b.Count(ctx))
		}
		if err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "billing was not worked on", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.wake:
		case <-tick.C:
		}
	}
}

// Work does what is due now.
func (b *Billing) Work(ctx context.Context) error {
	if err := b.events(ctx); err != nil {
		return err
	}
	return b.accounts(ctx)
}

func (b *Billing) events(ctx context.Context) error {
	for ctx.Err() == nil {
		now := b.now()
		found, err := b.Store.ClaimEvents(ctx, now, now.Add(ClaimFor), ClaimMax)
		if err != nil {
			return err
		}
		for _, e := range found {
			if err := b.handle(ctx, e); err != nil {
				return err
			}
		}
		if len(found) < ClaimMax {
			return nil
		}
	}
	return nil
}

// handle applies a notification and notes what became of it. One that is not noted is due again when the claim is over.
func (b *Billing) handle(ctx context.Context, e Event) error {
	outcome, err := b.apply(ctx, e)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case err == nil:
		b.metrics.event(outcomeOf(outcome))
		return b.Store.FinishEvent(ctx, e.ID, outcome, b.now())
	case e.Attempts >= AttemptsMax:
		b.metrics.event(outcomeDead)
		b.Log.ErrorContext(ctx, "billing event given up", slog.String("event_id", e.ID), slog.String("type", e.Type), slog.Any("err", err))
		return b.Store.BuryEvent(ctx, e.ID, short(err), b.now())
	default:
		b.metrics.event(outcomePostponed)
		b.Log.WarnContext(ctx, "billing event postponed", slog.String("event_id", e.ID), slog.String("type", e.Type),
			slog.Int64("attempt", e.Attempts), slog.Any("err", err))
		return b.Store.PostponeEvent(ctx, e.ID, short(err), b.now().Add(backoff(e.Attempts)))
	}
}

// outcomeOf is applied or ignored, for the metrics, of what is kept as the reason.
func outcomeOf(reason string) string {
	if reason == outcomeApplied {
		return outcomeApplied
	}
	return outcomeIgnored
}

// apply makes true what a notification hints at.
func (b *Billing) apply(ctx context.Context, e Event) (outcome string, err error) {
	ctx, cancel := context.WithTimeout(ctx, ApplyTimeout)
	defer cancel()
	if !handled(e.Type) {
		return "ignored: not used", nil
	}
	dispute := strings.HasPrefix(e.Type, "charge.dispute.")
	var disputed *time.Time
	if dispute {
		if e.CustomerID, disputed, err = b.Stripe.dispute(ctx, e.ObjectID); err != nil {
			return "", err
		}
	}
	a, err := b.Store.AccountOfCustomer(ctx, e.CustomerID)
	if errors.Is(err, ErrNoAccount) {
		return "ignored: not a customer of ours", nil
	}
	if err != nil {
		return "", err
	}
	if dispute {
		if disputed != nil {
			b.Log.ErrorContext(ctx, "a payment is disputed", slog.String("account_id", a.AccountID), slog.String("dispute_id", e.ObjectID))
		}
		if err := b.Store.SetDisputed(ctx, a.AccountID, disputed); err != nil {
			return "", err
		}
	}
	return outcomeApplied, b.Sync(ctx, a.AccountID)
}

// accounts looks at those whose deadline or hourly comparison has come.
func (b *Billing) accounts(ctx context.Context) error {
	for ctx.Err() == nil {
		now := b.now()
		found, err := b.Store.ClaimAccounts(ctx, now, now.Add(ClaimFor), ClaimMax)
		if err != nil {
			return err
		}
		var errs []error
		for _, id := range found {
			sync, cancel := context.WithTimeout(ctx, ApplyTimeout)
			done, err := b.sync(sync, id)
			b.metrics.comparison(done, err)
			if err != nil {
				errs = append(errs, fmt.Errorf("account %s: %w", id, err)) // it is due again when the claim is over
			}
			cancel()
		}
		if len(errs) > 0 {
			return errors.Join(errs...)
		}
		if len(found) < ClaimMax {
			b.metrics.compared.Set(float64(now.Unix()))
			return nil
		}
	}
	return nil
}

// backoff is the pause after so many attempts.
func backoff(attempts int64) time.Duration {
	return min(BackoffMin<<min(max(attempts-1, 0), 20), BackoffMax)
}

// short is a reason as it is kept.
func short(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", ""), "")
	if len(text) > ReasonBytes {
		text = strings.ToValidUTF8(text[:ReasonBytes], "")
	}
	return text
}
