package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/mail"
)

// CreateDeveloper implements [account.Store].
func (s *Store) CreateDeveloper(ctx context.Context, c account.Credentials, links ...account.MailedLink) error {
	err := s.Tx(ctx, "create developer", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertDeveloper, c.ID, c.Name, c.Email, c.PasswordHash, c.Plan, c.PerMinute, c.PerDay,
			c.VerifiedAt, c.CreatedAt)
		for i := 0; err == nil && i < len(links); i++ {
			err = addLink(ctx, tx, c.ID, links[i])
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Chain: c.ID, Actor: c.ID, Kind: audit.Account, Target: c.ID, After: accountView(c.Developer)})
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
	return s.Tx(ctx, "set password hash", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, updatePasswordHash, id, hash)
		return err
	})
}

// SetPassword implements [account.Store].
func (s *Store) SetPassword(ctx context.Context, id, hash, keep string, letters ...mail.Letter) (ended int64, err error) {
	err = s.Tx(ctx, "set password", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, updatePasswordHash, id, hash); err != nil {
			return fmt.Errorf("update password: %w", err)
		}
		tag, err := endSessions(ctx, tx, id, keep)
		if err != nil {
			return fmt.Errorf("end other sessions: %w", err)
		}
		ended = tag.RowsAffected()
		err = s.record(ctx, tx, audit.Entry{Chain: id, Kind: audit.Password, Target: id, After: sessionsEnded(ended)})
		if err != nil {
			return err
		}
		return queueMail(ctx, tx, letters...)
	})
	return ended, err
}

// endSessions ends the sessions of a developer but keep; without keep, all of them.
func endSessions(ctx context.Context, tx pgx.Tx, developerID, keep string) (pgconn.CommandTag, error) {
	if keep == "" {
		return tx.Exec(ctx, deleteAllSessions, developerID)
	}
	return tx.Exec(ctx, deleteOtherSessions, developerID, keep)
}

// ChangeDeveloper implements [account.Store].
func (s *Store) ChangeDeveloper(ctx context.Context, email string, c account.Change, now time.Time) (account.Developer, error) {
	var d account.Developer
	err := s.changing(ctx, "change developer", func(ctx context.Context, tx pgx.Tx) (err error) {
		if d, err = one[account.Developer](ctx, tx, selectDeveloperByEmail, email); err != nil {
			return missing(err, account.ErrNoDeveloper, "load developer")
		}
		before := accountView(d)
		d = c.Apply(d, now)
		if _, err := tx.Exec(ctx, updateTerms, d.ID, d.Plan, d.PerMinute, d.PerDay, d.VerifiedAt, d.InFlight, d.Tokens); err != nil {
			return fmt.Errorf("update terms: %w", err)
		}
		err = s.record(ctx, tx, audit.Entry{Chain: d.ID, Kind: audit.Account, Target: d.ID, Before: before, After: accountView(d)})
		if err != nil {
			return err
		}
		_, err = s.announceGrants(ctx, tx, selectGrantsOfDeveloper, d.ID)
		return err
	})
	return d, err
}

// RecordLock implements [account.Store].
func (s *Store) RecordLock(ctx context.Context, developerID string) error {
	chain := developerID
	if chain == "" {
		chain = audit.Installation
	}
	return s.Record(ctx, audit.Entry{Chain: chain, Kind: audit.Account, Target: developerID, After: map[string]any{"locked": true}})
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
