package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/shared/wire"
)

// watchLease is the lease of the replica that looks at the counts.
const watchLease = "usage_alerts"

// Watch looks at the counts every WatchEvery until ctx ends, and returns its error. Failures are logged and tried again.
func (a *Alerts) Watch(ctx context.Context) error {
	holder := uuid.NewString()
	tick := time.NewTicker(WatchEvery)
	defer tick.Stop()
	for {
		if err := a.Look(ctx, holder); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "usage alerts were not looked at", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Look tells every account what is to be told now, as long as the holder has the lease. An account that cannot be told is no reason not
// to tell another one.
func (a *Alerts) Look(ctx context.Context, holder string) error {
	var errs []error
	for after := ""; ; {
		now := a.now()
		mine, err := a.Store.Lease(ctx, watchLease, holder, now, now.Add(WatchLeaseFor))
		if err != nil || !mine {
			return errors.Join(append(errs, err)...)
		}
		day := now.Truncate(24 * time.Hour)
		found, err := a.Store.AlertUsage(ctx, day, after, WatchMax)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, u := range found {
			if threshold := due(u); threshold > 0 {
				if err := a.tell(ctx, u, day, threshold, now); err != nil {
					errs = append(errs, fmt.Errorf("tell the account %s: %w", u.AccountID, err))
				}
			}
		}
		if len(found) < WatchMax {
			return errors.Join(errs...)
		}
		after = found[len(found)-1].AccountID
	}
}

// due is the highest threshold that is passed and was not told of; 0 for none.
func due(u Usage) int64 {
	var highest int64
	for _, percent := range u.Thresholds {
		// calls >= limit*percent/100, in a form that does not overflow for any limit an operator can set
		if u.Limit > 0 && percent > u.Told && float64(u.Calls)*100 >= float64(u.Limit)*float64(percent) {
			highest = max(highest, percent)
		}
	}
	return highest
}

func (a *Alerts) tell(ctx context.Context, u Usage, day time.Time, threshold int64, now time.Time) error {
	var letters []mail.Letter
	if u.Mail && a.Mailer.Configured() {
		readers, err := a.Store.AlertReaders(ctx, u.AccountID)
		if err != nil {
			return err
		}
		for _, to := range readers {
			l, err := a.Mailer.Letter(mail.Message{To: to, Content: mail.UsageAlert{
				Name: u.Name, Organization: u.Organization, Threshold: threshold, Calls: u.Calls, Limit: u.Limit, Resets: day.Add(24 * time.Hour), PortalURL: a.PublicURL,
			}}, now.Add(LetterTTL))
			if err != nil {
				return err
			}
			letters = append(letters, l)
		}
	}
	var d *Delivery
	if u.WebhookURL != "" {
		var err error
		if d, err = delivery(u.Settings, wire.UsageAlert{Type: TypeThreshold, Threshold: threshold, Calls: u.Calls, Limit: u.Limit}, now); err != nil {
			return err
		}
	}
	told, err := a.Store.Tell(ctx, u.AccountID, day, threshold, letters, d)
	if err == nil && told {
		a.Log.InfoContext(ctx, "usage alert", slog.String("account_id", u.AccountID), slog.Int64("threshold", threshold),
			slog.Int64("calls", u.Calls), slog.Int64("limit", u.Limit), slog.Int("mails", len(letters)), slog.Bool("webhook", d != nil))
	}
	return err
}

// delivery makes a notification of what it is to say, for the day of now.
func delivery(s Settings, says wire.UsageAlert, now time.Time) (*Delivery, error) {
	day := now.Truncate(24 * time.Hour)
	says.ID, says.CreatedAt, says.AccountID, says.Day = uuid.NewString(), now, s.AccountID, day.Format(time.DateOnly)
	says.Scope = "account"
	if s.Organization {
		says.Scope = "organization"
	}
	body, err := json.Marshal(says)
	if err != nil {
		return nil, fmt.Errorf("encode a notification: %w", err)
	}
	return &Delivery{
		ID: says.ID, AccountID: s.AccountID, Day: day, Threshold: says.Threshold, Body: string(body), State: Waiting, CreatedAt: now,
	}, nil
}
