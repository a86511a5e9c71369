package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
)

// CreateSession implements [account.Store].
func (s *Store) CreateSession(ctx context.Context, session account.Session, refresh []byte, keep int) error {
	return s.Tx(ctx, "create session", func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertSession, session.ID, session.DeveloperID, session.Address, session.UserAgent, session.CreatedAt,
			session.ExpiresAt)
		if err != nil {
			return fmt.Errorf("insert session: %w", err)
		}
		if _, err := tx.Exec(ctx, insertRefresh, refresh, session.ID, session.CreatedAt); err != nil {
			return fmt.Errorf("insert refresh: %w", err)
		}
		if _, err := tx.Exec(ctx, deleteOldSessions, session.DeveloperID, keep); err != nil {
			return fmt.Errorf("end old sessions: %w", err)
		}
		return s.record(ctx, tx, audit.Entry{
			Chain: session.DeveloperID, Actor: session.DeveloperID, Kind: audit.Session, Target: session.ID,
			After: map[string]any{"user_agent": session.UserAgent},
		})
	})
}

// Session implements [account.Store].
func (s *Store) Session(ctx context.Context, id string) (account.Session, error) {
	session, err := one[account.Session](ctx, s.pool, selectSession, id)
	return session, missing(err, account.ErrNoSession, "load session")
}

// Sessions implements [account.Store].
func (s *Store) Sessions(ctx context.Context, developerID string, now time.Time, limit int) ([]account.Session, error) {
	sessions, err := rows[account.Session](ctx, s.pool, selectSessions, developerID, now, limit)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return sessions, nil
}

// EndSession implements [account.Store].
func (s *Store) EndSession(ctx context.Context, developerID, id string) error {
	return s.Tx(ctx, "end session", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, deleteSession, id, developerID)
		if err == nil && tag.RowsAffected() == 0 {
			return account.ErrSessionGone
		}
		if err != nil {
			return fmt.Errorf("delete session: %w", err)
		}
		return s.record(ctx, tx, audit.Entry{Chain: developerID, Kind: audit.Session, Target: id, After: sessionsEnded(1)})
	})
}

// EndOtherSessions implements [account.Store].
func (s *Store) EndOtherSessions(ctx context.Context, developerID, keep string) (ended int64, err error) {
	err = s.Tx(ctx, "end other sessions", func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, deleteOtherSessions, developerID, keep)
		if err != nil {
			return fmt.Errorf("delete sessions: %w", err)
		}
		ended = tag.RowsAffected()
		return s.record(ctx, tx, audit.Entry{Chain: developerID, Kind: audit.Session, Target: developerID, After: sessionsEnded(ended)})
	})
	return ended, err
}

// refreshRow is a refresh cookie as it is stored.
type refreshRow struct {
	SessionID string     `db:"session_id"`
	UsedAt    *time.Time `db:"used_at"`
}

// RenewSession implements [account.Store].
func (s *Store) RenewSession(ctx context.Context, old, fresh []byte, now time.Time) (account.Session, error) {
	var (
		session account.Session
		outcome error // of a transaction that is committed all the same
	)
	err := s.Tx(ctx, "renew session", func(ctx context.Context, tx pgx.Tx) error {
		outcome = nil
		r, err := one[refreshRow](ctx, tx, selectRefresh, old)
		if err != nil {
			return missing(err, account.ErrNoRefresh, "load refresh")
		}
		if session, err = one[account.Session](ctx, tx, selectSession, r.SessionID); err != nil {
			return missing(err, account.ErrNoRefresh, "load session")
		}
		switch {
		case !now.Before(session.ExpiresAt):
			return account.ErrNoRefresh
		case r.UsedAt != nil && now.Sub(*r.UsedAt) < account.RefreshGrace:
			return account.ErrRefreshBusy
		case r.UsedAt != nil:
			outcome = account.ErrRefreshReused
			if _, err := tx.Exec(ctx, deleteSession, session.ID, session.DeveloperID); err != nil {
				return fmt.Errorf("end session: %w", err)
			}
			return s.record(ctx, tx, audit.Entry{
				Chain: session.DeveloperID, Kind: audit.Session, Target: session.ID, After: map[string]any{"sessions_ended": 1, "cookie_used_twice": true},
			})
		}
		session = session.Renewed(now)
		_, err1 := tx.Exec(ctx, useRefresh, old, now)
		_, err2 := tx.Exec(ctx, insertRefresh, fresh, session.ID, now)
		_, err3 := tx.Exec(ctx, extendSession, session.ID, session.UsedAt, session.ExpiresAt)
		return errors.Join(err1, err2, err3)
	})
	if err == nil {
		err = outcome
	}
	return session, err
}
