package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/mail"
)

// SendLink implements [account.LinkStore].
func (s *Store) SendLink(ctx context.Context, email string, m account.MailedLink) error {
	return s.Tx(ctx, "send link", func(ctx context.Context, tx pgx.Tx) error {
		d, err := one[account.Developer](ctx, tx, selectDeveloperByEmail, email)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("load developer: %w", err)
		}
		if m.Link.Kind == account.LinkVerify { // a stranger's request leaves no record, since it must cost the same for nobody's address
			err := s.record(ctx, tx, audit.Entry{Chain: d.ID, Kind: audit.Mail, Target: d.ID, After: map[string]any{"template": m.Letter.Template}})
			if err != nil {
				return err
			}
		}
		return addLink(ctx, tx, d.ID, m)
	})
}

// addLink replaces the links of a kind and queues the mail with the new one. Without a developer the link works for nobody
// and the mail is never sent, which takes the same statements.
func addLink(ctx context.Context, tx pgx.Tx, developerID string, m account.MailedLink) error {
	owner := &developerID
	if developerID == "" {
		owner, m.Link.ExpiresAt, m.Letter.ExpiresAt = nil, m.Link.CreatedAt, m.Letter.CreatedAt
	}
	if _, err := tx.Exec(ctx, deleteLinksOfKind, owner, m.Link.Kind); err != nil {
		return fmt.Errorf("delete older links: %w", err)
	}
	if _, err := tx.Exec(ctx, insertLink, m.Link.Hash, m.Link.Kind, owner, m.Link.CreatedAt, m.Link.ExpiresAt); err != nil {
		return fmt.Errorf("insert link: %w", err)
	}
	return queueMail(ctx, tx, m.Letter)
}

// LinkOwner implements [account.LinkStore].
func (s *Store) LinkOwner(ctx context.Context, hash []byte, kind string, now time.Time) (account.Developer, error) {
	d, err := one[account.Developer](ctx, s.pool, selectLinkOwner, hash, kind, now)
	return d, missing(err, account.ErrLinkExpired, "load the owner of a link")
}

// VerifyEmail implements [account.LinkStore].
func (s *Store) VerifyEmail(ctx context.Context, hash []byte, now time.Time) error {
	return s.Tx(ctx, "verify e-mail", func(ctx context.Context, tx pgx.Tx) error {
		id, err := takeLink(ctx, tx, hash, account.LinkVerify, now)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{
			Chain: id, Actor: id, Kind: audit.Account, Target: id, After: map[string]any{"verified_at": now},
		})
	})
}

// ResetPassword implements [account.LinkStore].
func (s *Store) ResetPassword(ctx context.Context, hash []byte, passwordHash string, now time.Time, letters ...mail.Letter) error {
	return s.Tx(ctx, "reset password", func(ctx context.Context, tx pgx.Tx) error {
		id, err := takeLink(ctx, tx, hash, account.LinkReset, now)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, updatePasswordHash, id, passwordHash); err != nil {
			return fmt.Errorf("update password: %w", err)
		}
		tag, err := endSessions(ctx, tx, id, "")
		if err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		err = s.record(ctx, tx, audit.Entry{
			Chain: id, Actor: id, Kind: audit.Password, Target: id, After: sessionsEnded(tag.RowsAffected()),
		})
		if err != nil {
			return err
		}
		return queueMail(ctx, tx, letters...)
	})
}

// takeLink uses up a link. Whoever has it reads the mails of the address, which is verified with that.
func takeLink(ctx context.Context, tx pgx.Tx, hash []byte, kind string, now time.Time) (developerID string, err error) {
	err = tx.QueryRow(ctx, useLink, hash, kind, now).Scan(&developerID)
	if err != nil {
		return "", missing(err, account.ErrLinkExpired, "use a link")
	}
	if _, err := tx.Exec(ctx, verifyDeveloper, developerID, now); err != nil {
		return "", fmt.Errorf("verify developer: %w", err)
	}
	return developerID, nil
}
