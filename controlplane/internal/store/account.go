package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
)

// CreateDeveloper implements [account.Store].
func (s *Store) CreateDeveloper(ctx context.Context, c account.Credentials) error {
	err := s.Tx(ctx, "create developer", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertDeveloper, c.ID, c.Name, c.Email, c.PasswordHash, c.Plan, c.PerMinute, c.PerDay,
			c.VerifiedAt, c.CreatedAt)
		return err
	})
	if violates(err, "developers_email_key") {
		return account.ErrEmailTaken
	}
	return err
}

// CredentialsByEmail implements [account.Store].
func (s *Store) CredentialsByEmail(ctx context.Context, email string) (account.Credentials, error) {
	c, err := one[account.Credentials](ctx, s.pool, selectCredentialsByEmail, email)
	return c, missing(err, account.ErrNoDeveloper, "load credentials")
}

// Developer implements [account.Store].
func (s *Store) Developer(ctx context.Context, id string) (account.Developer, error) {
	d, err := one[account.Developer](ctx, s.pool, selectDeveloper, id)
	return d, missing(err, account.ErrNoDeveloper, "load developer")
}

// SetPasswordHash implements [account.Store].
func (s *Store) SetPasswordHash(ctx context.Context, id, hash string) error {
	return s.Tx(ctx, "set password hash", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, updatePasswordHash, id, hash)
		return err
	})
}

// ChangeDeveloper implements [account.Store].
func (s *Store) ChangeDeveloper(ctx context.Context, email string, c account.Change, now time.Time) (account.Developer, error) {
	var d account.Developer
	err := s.changing(ctx, "change developer", func(tx pgx.Tx) (err error) {
		if d, err = one[account.Developer](ctx, tx, selectDeveloperByEmail, email); err != nil {
			return missing(err, account.ErrNoDeveloper, "load developer")
		}
		d = c.Apply(d, now)
		if _, err := tx.Exec(ctx, updateTerms, d.ID, d.Plan, d.PerMinute, d.PerDay, d.VerifiedAt); err != nil {
			return fmt.Errorf("update terms: %w", err)
		}
		_, err = s.announceGrants(ctx, tx, selectGrantsOfDeveloper, d.ID)
		return err
	})
	return d, err
}

// CreateSession implements [account.Store].
func (s *Store) CreateSession(ctx context.Context, session account.Session, keep int) error {
	return s.Tx(ctx, "create session", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, insertSession, session.ID, session.DeveloperID, session.CreatedAt, session.ExpiresAt); err != nil {
			return fmt.Errorf("insert session: %w", err)
		}
		if _, err := tx.Exec(ctx, deleteOldSessions, session.DeveloperID, keep); err != nil {
			return fmt.Errorf("end old sessions: %w", err)
		}
		return nil
	})
}

// Session implements [account.Store].
func (s *Store) Session(ctx context.Context, id string) (account.Session, error) {
	session, err := one[account.Session](ctx, s.pool, selectSession, id)
	return session, missing(err, account.ErrNoSession, "load session")
}

// missing makes a domain's error of "no rows" and says what was done for the others.
func missing(err, none error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return none
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
