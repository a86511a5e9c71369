package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/org"
)

// Invites implements [org.InviteStore].
func (s *Store) Invites(ctx context.Context, orgID string, limit int) ([]org.Invite, error) {
	found, err := rows[org.Invite](ctx, s.pool, selectInvites, orgID, limit)
	if err != nil {
		return nil, fmt.Errorf("list invites: %w", err)
	}
	return found, nil
}

// Invite implements [org.InviteStore].
func (s *Store) Invite(ctx context.Context, id string) (org.Invite, error) {
	return loadInvite(ctx, s.pool, id)
}

func loadInvite(ctx context.Context, q querier, id string) (org.Invite, error) {
	i, err := one[org.Invite](ctx, q, selectInvite, id)
	return i, missing(err, org.ErrNoInvite, "load invite")
}

// ownInvite loads an invite of the organization of a developer who may invite for its role.
func ownInvite(ctx context.Context, tx pgx.Tx, by, id string) (org.Invite, error) {
	m, err := manager(ctx, tx, by)
	if err != nil {
		return org.Invite{}, err
	}
	i, err := loadInvite(ctx, tx, id)
	if err == nil && i.OrgID != m.ID {
		err = org.ErrNoInvite
	}
	if err == nil {
		err = allowRole(m, i.Role)
	}
	return i, err
}

// CreateInvite implements [org.InviteStore].
func (s *Store) CreateInvite(ctx context.Context, by string, i org.Invite, letters ...mail.Letter) error {
	return s.Tx(ctx, "create invite", func(ctx context.Context, tx pgx.Tx) error {
		m, err := manager(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := allowRole(m, i.Role); err != nil {
			return err
		}
		for _, bound := range []struct {
			statement string
			args      []any
			max       int64
			err       error
		}{
			{countMembersByEmail, []any{m.ID, i.Email}, 1, org.ErrMember},
			{countPendingInvitesOf, []any{m.ID, i.CreatedAt, i.Email}, 1, org.ErrInvited},
			{countPendingInvites, []any{m.ID, i.CreatedAt}, org.InvitesMax, org.ErrInvitesFull},
		} {
			have, err := count(ctx, tx, bound.statement, bound.args...)
			if err != nil {
				return err
			}
			if have >= bound.max {
				return bound.err
			}
		}
		if _, err := tx.Exec(ctx, insertInvite, i.ID, m.ID, i.Email, i.Role, i.Status, i.Inviter, i.CreatedAt, i.ExpiresAt); err != nil {
			return fmt.Errorf("insert invite: %w", err)
		}
		if err := s.recordInvite(ctx, tx, i, nil, inviteView(i)); err != nil {
			return err
		}
		return queueMail(ctx, tx, letters...)
	})
}

// RenewInvite implements [org.InviteStore].
func (s *Store) RenewInvite(ctx context.Context, by, id string, expires time.Time, letters ...mail.Letter) (org.Invite, error) {
	var i org.Invite
	err := s.Tx(ctx, "renew invite", func(ctx context.Context, tx pgx.Tx) (err error) {
		if i, err = ownInvite(ctx, tx, by, id); err != nil {
			return err
		}
		if i.Status != org.Pending {
			return org.ErrClosed
		}
		before := inviteView(i)
		i.ExpiresAt = expires
		if _, err := tx.Exec(ctx, renewInvite, i.ID, expires); err != nil {
			return fmt.Errorf("renew invite: %w", err)
		}
		if err := s.recordInvite(ctx, tx, i, before, inviteView(i)); err != nil {
			return err
		}
		return queueMail(ctx, tx, letters...)
	})
	return i, err
}

// RevokeInvite implements [org.InviteStore].
func (s *Store) RevokeInvite(ctx context.Context, by, id string, now time.Time) error {
	return s.Tx(ctx, "revoke invite", func(ctx context.Context, tx pgx.Tx) error {
		i, err := ownInvite(ctx, tx, by, id)
		if err != nil {
			return err
		}
		return s.closeInvite(ctx, tx, i, org.Revoked, now)
	})
}

// closeInvite takes an invite out of the pending ones.
func (s *Store) closeInvite(ctx context.Context, tx pgx.Tx, i org.Invite, status string, now time.Time) error {
	if i.State(now) != org.Pending {
		return org.ErrClosed
	}
	tag, err := tx.Exec(ctx, closeInvite, i.ID, status)
	if err != nil {
		return fmt.Errorf("close invite: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return org.ErrClosed
	}
	before := inviteView(i)
	i.Status = status
	return s.recordInvite(ctx, tx, i, before, inviteView(i))
}

// AcceptInvite implements [org.InviteStore].
func (s *Store) AcceptInvite(ctx context.Context, by, id string, verified bool, now time.Time) (org.Invite, error) {
	var i org.Invite
	err := s.Tx(ctx, "accept invite", func(ctx context.Context, tx pgx.Tx) (err error) {
		if i, err = loadInvite(ctx, tx, id); err != nil {
			return err
		}
		d, err := one[account.Developer](ctx, tx, selectDeveloper, by)
		switch {
		case err != nil:
			return missing(err, account.ErrNoSession, "load developer")
		case d.Email != i.Email:
			return org.ErrOtherEmail
		case i.State(now) != org.Pending:
			return org.ErrClosed
		case verified && d.VerifiedAt == nil:
			return org.ErrUnverified
		}
		if err := room(ctx, tx, i.OrgID, d); err != nil {
			return err
		}
		if err := s.closeInvite(ctx, tx, i, org.Accepted, now); err != nil {
			return err
		}
		return s.addMember(ctx, tx, i.OrgID, d.ID, i.Role, now)
	})
	return i, taken(err)
}

func (s *Store) recordInvite(ctx context.Context, tx pgx.Tx, i org.Invite, before, after map[string]any) error {
	e := audit.Entry{Chain: i.OrgID, Kind: audit.Invite, Target: i.ID, After: after}
	if before != nil {
		e.Before = before
	}
	return s.record(ctx, tx, e)
}

func inviteView(i org.Invite) map[string]any {
	return map[string]any{"email": i.Email, "role": i.Role, "status": i.Status, "expires_at": i.ExpiresAt}
}
