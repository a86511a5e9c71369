package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/secret"
)

// alertRow is the settings of an account as they are stored.
type alertRow struct {
	AccountID    string  `db:"account_id"`
	Organization bool    `db:"organization"`
	Thresholds   []int64 `db:"thresholds"`
	Mail         bool    `db:"mail"`
	WebhookURL   string  `db:"webhook_url"`
	KEKID        string  `db:"kek_id"`
	SealedKey    []byte  `db:"sealed_key"`
	Nonce        []byte  `db:"nonce"`
	Ciphertext   []byte  `db:"ciphertext"`
}

func (r alertRow) settings() alert.Settings {
	return alert.Settings{
		AccountID: r.AccountID, Organization: r.Organization, Thresholds: r.Thresholds, Mail: r.Mail, WebhookURL: r.WebhookURL,
		Secret: secret.Sealed{KEKID: r.KEKID, SealedKey: r.SealedKey, Nonce: r.Nonce, Ciphertext: r.Ciphertext},
	}
}

// AlertSettings implements [alert.Store].
func (s *Store) AlertSettings(ctx context.Context, accountID string) (alert.Settings, error) {
	return alertSettings(ctx, s.pool, accountID)
}

func alertSettings(ctx context.Context, q querier, accountID string) (alert.Settings, error) {
	r, err := one[alertRow](ctx, q, selectAlerts, accountID)
	if errors.Is(err, pgx.ErrNoRows) {
		return alert.Settings{AccountID: accountID, Thresholds: alert.Thresholds()}, nil
	}
	if err != nil {
		return alert.Settings{}, fmt.Errorf("load alert settings: %w", err)
	}
	return r.settings(), nil
}

// SetAlerts implements [alert.Store].
func (s *Store) SetAlerts(ctx context.Context, a alert.Settings) error {
	return s.Tx(ctx, "set alerts", func(ctx context.Context, tx pgx.Tx) error {
		before, err := alertSettings(ctx, tx, a.AccountID)
		if err != nil {
			return err
		}
		thresholds := a.Thresholds
		if thresholds == nil {
			thresholds = []int64{}
		}
		if _, err := tx.Exec(ctx, upsertAlerts, a.AccountID, thresholds, a.Mail, a.WebhookURL, []byte{}); err != nil {
			return fmt.Errorf("update alert settings: %w", err)
		}
		if a.HasSecret() {
			_, err := tx.Exec(ctx, updateAlertSealed, a.AccountID, a.Secret.KEKID, a.Secret.SealedKey, a.Secret.Nonce, a.Secret.Ciphertext)
			if err != nil {
				return fmt.Errorf("update the secret of a webhook: %w", err)
			}
		}
		return s.record(ctx, tx, alertEntry(a, alertShown(before), alertShown(a)))
	})
}

// alertShown is what the audit log shows of settings.
func alertShown(a alert.Settings) map[string]any {
	return map[string]any{"thresholds": a.Thresholds, "mail": a.Mail, "webhook_url": a.WebhookURL}
}

func alertEntry(a alert.Settings, before, after map[string]any) audit.Entry {
	e := audit.Entry{Chain: a.AccountID, Kind: audit.Account, Target: a.AccountID, After: map[string]any{"usage_alerts": after}}
	if a.Organization {
		e.Kind = audit.Org
	}
	if before != nil {
		e.Before = map[string]any{"usage_alerts": before}
	}
	return e
}

// RotateAlertSecret implements [alert.Store].
func (s *Store) RotateAlertSecret(ctx context.Context, accountID string, sealed secret.Sealed) error {
	return s.Tx(ctx, "rotate alert secret", func(ctx context.Context, tx pgx.Tx) error {
		a, err := alertSettings(ctx, tx, accountID)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, updateAlertSealed, accountID, sealed.KEKID, sealed.SealedKey, sealed.Nonce, sealed.Ciphertext)
		if err != nil {
			return fmt.Errorf("update the secret of a webhook: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return alert.ErrNoWebhook
		}
		return s.record(ctx, tx, alertEntry(a, nil, map[string]any{"webhook_secret": "replaced"}))
	})
}

// AlertUsage implements [alert.Store].
func (s *Store) AlertUsage(ctx context.Context, day time.Time, after string, limit int) ([]alert.Usage, error) {
	type row struct {
		alertRow
		Name   string `db:"name"`
		Plan   string `db:"plan"`
		PerDay *int64 `db:"per_day"`
		Calls  int64  `db:"calls"`
		Told   int64  `db:"told"`
	}
	if after == "" {
		after = uuid.Nil.String()
	}
	found, err := rows[row](ctx, s.pool, selectAlertUsage, day.UTC(), after, limit)
	if err != nil {
		return nil, fmt.Errorf("read usage for alerts: %w", err)
	}
	usage := make([]alert.Usage, len(found))
	for i, r := range found {
		terms := plan.Terms{AccountID: r.AccountID, Plan: r.Plan, PerDay: r.PerDay}
		usage[i] = alert.Usage{Settings: r.settings(), Name: r.Name, Calls: r.Calls, Limit: terms.DayLimit(), Told: r.Told}
	}
	return usage, nil
}

// AlertReaders implements [alert.Store].
func (s *Store) AlertReaders(ctx context.Context, accountID string) ([]string, error) {
	type row struct {
		Email string `db:"email"`
	}
	found, err := rows[row](ctx, s.pool, selectAlertReaders, accountID, org.Roles(org.Pay))
	if err != nil {
		return nil, fmt.Errorf("list readers of alerts: %w", err)
	}
	emails := make([]string, len(found))
	for i, r := range found {
		emails[i] = r.Email
	}
	return emails, nil
}

// Tell implements [alert.Store].
func (s *Store) Tell(
	ctx context.Context, accountID string, day time.Time, threshold int64, letters []mail.Letter, d *alert.Delivery,
) (told bool, err error) {
	err = s.Tx(ctx, "tell of usage", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, markAlertTold, accountID, day.UTC(), threshold)
		if err != nil {
			return fmt.Errorf("mark an alert: %w", err)
		}
		if told = tag.RowsAffected() > 0; !told {
			return nil
		}
		if d != nil {
			if err := queueDelivery(ctx, tx, *d); err != nil {
				return err
			}
		}
		return queueMail(ctx, tx, letters...)
	})
	return told && err == nil, err
}

func queueDelivery(ctx context.Context, tx pgx.Tx, d alert.Delivery) error {
	_, err := tx.Exec(ctx, insertDelivery, d.ID, d.AccountID, d.Day.UTC(), d.Threshold, d.Body, d.State, d.Reason, d.Attempts, d.CreatedAt)
	if err != nil {
		return fmt.Errorf("queue a notification: %w", err)
	}
	return nil
}

// QueueTest implements [alert.Store].
func (s *Store) QueueTest(ctx context.Context, d alert.Delivery, since time.Time) error {
	return s.Tx(ctx, "queue a test of a webhook", func(ctx context.Context, tx pgx.Tx) error {
		a, err := alertSettings(ctx, tx, d.AccountID)
		if err != nil {
			return err
		}
		if a.WebhookURL == "" {
			return alert.ErrNoWebhook
		}
		n, err := count(ctx, tx, countTests, d.AccountID, since)
		if err != nil {
			return err
		}
		if n > 0 {
			return alert.ErrTested
		}
		if err := queueDelivery(ctx, tx, d); err != nil {
			return err
		}
		return s.record(ctx, tx, alertEntry(a, nil, map[string]any{"webhook": "tested"}))
	})
}

// AlertDeliveries implements [alert.Store].
func (s *Store) AlertDeliveries(ctx context.Context, accountID string, limit int) ([]alert.Delivery, error) {
	found, err := rows[alert.Delivery](ctx, s.pool, selectDeliveries, accountID, limit)
	if err != nil {
		return nil, fmt.Errorf("list notifications: %w", err)
	}
	return found, nil
}

// ClaimDeliveries implements [alert.Store].
func (s *Store) ClaimDeliveries(ctx context.Context, now, until time.Time, limit int) ([]alert.Delivery, error) {
	var found []alert.Delivery
	err := s.Tx(ctx, "claim notifications", func(ctx context.Context, tx pgx.Tx) (err error) {
		found, err = rows[alert.Delivery](ctx, tx, claimDeliveries, now, until, limit)
		return err
	})
	return found, err
}

// SettleDelivery implements [alert.Store].
func (s *Store) SettleDelivery(ctx context.Context, id, state, reason string, next time.Time) error {
	return s.exec(ctx, "settle notification", settleDelivery, id, state, reason, next)
}
