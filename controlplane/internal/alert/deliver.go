package alert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Deliver sends notifications that are due until ctx ends, and returns its error. Failures of the database are logged and tried again.
func (a *Alerts) Deliver(ctx context.Context) error {
	tick := time.NewTicker(PollEvery)
	defer tick.Stop()
	for {
		if err := a.Send(ctx); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "usage alerts were not delivered", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Send sends until nothing more is due.
func (a *Alerts) Send(ctx context.Context) error {
	to := client(a.development())
	for ctx.Err() == nil {
		now := a.now()
		found, err := a.Store.ClaimDeliveries(ctx, now, now.Add(ClaimFor), ClaimMax)
		if err != nil {
			return err
		}
		for _, d := range found {
			if ctx.Err() != nil {
				return ctx.Err() // what was not sent is due again when the claim is over
			}
			if err := a.settle(ctx, d, a.attempt(ctx, to, d)); err != nil {
				return err
			}
		}
		if len(found) < ClaimMax {
			return nil
		}
	}
	return nil
}

// errUnset says that the account has no webhook any more: sending again would change nothing.
var errUnset = errors.New("the webhook was removed")

// attempt sends a notification once. The error is short and tells nothing about what is behind an address.
func (a *Alerts) attempt(ctx context.Context, to *http.Client, d Delivery) error {
	s, err := a.Store.AlertSettings(ctx, d.AccountID)
	if err != nil {
		a.Log.WarnContext(ctx, "the settings of a webhook were not read", slog.String("delivery_id", d.ID), slog.Any("err", err))
		return errors.New("its settings could not be read")
	}
	if s.WebhookURL == "" {
		return errUnset
	}
	key, err := a.Vault.Open(s.Secret, SealContext(d.AccountID))
	if err != nil {
		return errors.New("its signing secret cannot be opened: replace it")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.WebhookURL, strings.NewReader(d.Body))
	if err != nil {
		return errors.New("its address cannot be read")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Modelgate-Alerts/1")
	r.Header.Set(SignatureHeader, Sign([]byte(d.Body), string(key), a.now()))
	res, err := to.Do(r)
	switch {
	case errors.Is(err, errInside):
		return errInside
	case err != nil:
		a.Log.DebugContext(ctx, "webhook not reached", slog.String("delivery_id", d.ID), slog.Any("err", err))
		return errors.New("it could not be reached, or did not answer in time")
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, AnswerBytes) // what it says does not matter
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d", res.StatusCode)
	}
	return nil
}

// settle notes what became of an attempt, even when the process is about to stop.
func (a *Alerts) settle(ctx context.Context, d Delivery, failure error) error {
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	now := a.now()
	if failure == nil {
		a.Log.InfoContext(ctx, "webhook delivered", slog.String("delivery_id", d.ID), slog.Int64("attempt", d.Attempts))
		return a.Store.SettleDelivery(note, d.ID, Done, "", now)
	}
	state := Waiting
	if errors.Is(failure, errUnset) || now.Sub(d.CreatedAt) >= DeliverFor {
		state = Dead
	}
	a.Log.WarnContext(ctx, "webhook not delivered", slog.String("delivery_id", d.ID), slog.Int64("attempt", d.Attempts),
		slog.String("state", state), slog.Any("err", failure))
	return a.Store.SettleDelivery(note, d.ID, state, failure.Error(), now.Add(backoff(d.Attempts)))
}

// backoff is the pause after so many attempts.
func backoff(attempts int64) time.Duration {
	return min(BackoffMin<<min(max(attempts-1, 0), 20), BackoffMax)
}
