package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
)

// googleRow is a developer with the account at Google that belongs to it.
type googleRow struct {
	account.Developer
	GoogleSub *string `db:"google_sub"`
}

// DeveloperByGoogle implements [account.GoogleStore].
func (s *Store) DeveloperByGoogle(ctx context.Context, subject string, made account.Developer) (account.Developer, error) {
	d, err := s.developerByGoogle(ctx, subject, made)
	if violates(err, "developers_google_sub_key") || violates(err, "developers_email_key") { // made by somebody else meanwhile
		d, err = s.developerByGoogle(ctx, subject, made)
	}
	return d, err
}

func (s *Store) developerByGoogle(ctx context.Context, subject string, made account.Developer) (account.Developer, error) {
	var d account.Developer
	err := s.Tx(ctx, "developer by google", func(ctx context.Context, tx pgx.Tx) (err error) {
		if d, err = one[account.Developer](ctx, tx, selectDeveloperByGoogle, subject); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		has, err := one[googleRow](ctx, tx, selectGoogleOfEmail, made.Email)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			d = made
			_, err = tx.Exec(ctx, insertDeveloper, d.ID, d.Name, d.Email, "", d.Plan, d.PerMinute, d.PerDay, d.VerifiedAt, d.CreatedAt)
			if err != nil {
				return fmt.Errorf("insert developer: %w", err)
			}
		case err != nil:
			return fmt.Errorf("load developer: %w", err)
		case has.GoogleSub != nil:
			return account.ErrGoogleOther
		case has.VerifiedAt == nil:
			return account.ErrGoogleUnverified
		default:
			d = has.Developer
		}
		if _, err = tx.Exec(ctx, linkGoogle, d.ID, subject); err != nil {
			return fmt.Errorf("link google: %w", err)
		}
		return s.record(ctx, tx, audit.Entry{Chain: d.ID, Actor: d.ID, Kind: audit.Account, Target: d.ID, After: accountView(d)})
	})
	return d, err
}
