package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/shared/plane"
)

// ScheduleDeletion implements [account.DeletionStore].
func (s *Store) ScheduleDeletion(ctx context.Context, developerID string, d account.Deletion, letters ...mail.Letter) (account.Deletion, error) {
	scheduled := d
	err := s.Tx(ctx, "schedule deletion", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := membership(ctx, tx, developerID); !errors.Is(err, org.ErrNoOrg) {
			return errors.Join(err, account.ErrInOrg)
		}
		subs, err := rows[billing.Subscription](ctx, tx, selectSubscriptions, developerID)
		if err != nil {
			return fmt.Errorf("list subscriptions: %w", err)
		}
		if slices.ContainsFunc(subs, func(one billing.Subscription) bool {
			return !one.CancelAtPeriodEnd && billing.Open([]billing.Subscription{one}) != nil
		}) {
			return account.ErrSubscribed
		}
		tag, err := tx.Exec(ctx, insertDeletion, developerID, d.RequestedAt, d.DeleteAt)
		if err != nil {
			return fmt.Errorf("insert deletion: %w", err)
		}
		if _, err := endSessions(ctx, tx, developerID, ""); err != nil {
			return fmt.Errorf("end sessions: %w", err)
		}
		scheduled = d
		if tag.RowsAffected() == 0 {
			if scheduled, err = one[account.Deletion](ctx, tx, selectDeletion, developerID); err != nil {
				return fmt.Errorf("load deletion: %w", err)
			}
			return s.record(ctx, tx, deletionEntry(developerID, nil, map[string]any{"delete_at": scheduled.DeleteAt}))
		}
		if err := s.record(ctx, tx, deletionEntry(developerID, nil, map[string]any{"delete_at": scheduled.DeleteAt})); err != nil {
			return err
		}
		return queueMail(ctx, tx, letters...)
	})
	return scheduled, err
}

// Deletion implements [account.DeletionStore].
func (s *Store) Deletion(ctx context.Context, developerID string) (*account.Deletion, error) {
	return deletion(ctx, s.pool, developerID)
}

func deletion(ctx context.Context, q querier, developerID string) (*account.Deletion, error) {
	d, err := one[account.Deletion](ctx, q, selectDeletion, developerID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // nothing is scheduled
	}
	if err != nil {
		return nil, fmt.Errorf("load deletion: %w", err)
	}
	return &d, nil
}

// CancelDeletion implements [account.DeletionStore].
func (s *Store) CancelDeletion(ctx context.Context, developerID string, now time.Time) error {
	return s.Tx(ctx, "cancel deletion", func(ctx context.Context, tx pgx.Tx) error {
		before, err := deletion(ctx, tx, developerID)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, cancelDeletion, developerID, now)
		if err != nil {
			return fmt.Errorf("cancel deletion: %w", err)
		}
		if before == nil || tag.RowsAffected() == 0 {
			return account.ErrNotScheduled
		}
		return s.record(ctx, tx, deletionEntry(developerID, map[string]any{"delete_at": before.DeleteAt}, nil))
	})
}

func deletionEntry(developerID string, before, after any) audit.Entry {
	return audit.Entry{Chain: developerID, Kind: audit.Account, Target: developerID, Before: before, After: after}
}

// DueDeletions implements [account.RemovalStore].
func (s *Store) DueDeletions(ctx context.Context, now time.Time, limit int) ([]string, error) {
	type row struct {
		DeveloperID string `db:"developer_id"`
	}
	found, err := rows[row](ctx, s.pool, selectDueDeletions, now, limit)
	if err != nil {
		return nil, fmt.Errorf("list due deletions: %w", err)
	}
	ids := make([]string, len(found))
	for i, r := range found {
		ids[i] = r.DeveloperID
	}
	return ids, nil
}

// removedRow is an account that is being removed.
type removedRow struct {
	ID    string  `db:"id"`
	Email string  `db:"email"`
	AppID *string `db:"app_id"` // one that is left
}

// RemoveAccount implements [account.RemovalStore]. It goes app by app, so that no transaction grows with the account. What
// else belongs to it goes with the rows of the app and the developer (ON DELETE CASCADE); usage refers to nothing.
func (s *Store) RemoveAccount(ctx context.Context, developerID string, now time.Time) (done bool, err error) {
	err = s.changing(ctx, "remove account", func(ctx context.Context, tx pgx.Tx) error {
		done = false
		d, err := one[removedRow](ctx, tx, selectDeveloperToRemove, developerID, now)
		if errors.Is(err, pgx.ErrNoRows) {
			done = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("load account: %w", err)
		}
		var gone []plane.Change
		if d.AppID != nil {
			if gone, err = goneOf(ctx, tx, selectHashesOfApp, *d.AppID); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, deleteApp, *d.AppID)
		} else {
			done = true
			gone, err = s.removeDeveloper(ctx, tx, d)
		}
		if err != nil {
			return err
		}
		_, err = s.announce(ctx, tx, gone...)
		return err
	})
	return done && err == nil, err
}

// removeDeveloper removes what is left of an account when it has no apps of its own any more. What it made for an organization
// that it joined meanwhile goes to an owner of that. The audit log of the account goes, too: it holds addresses. That of the
// installation remembers that there was an account with the id.
func (s *Store) removeDeveloper(ctx context.Context, tx pgx.Tx, d removedRow) (gone []plane.Change, err error) {
	m, err := membership(ctx, tx, d.ID)
	switch {
	case errors.Is(err, org.ErrNoOrg):
	case err != nil:
		return nil, err
	default:
		if err := s.leave(ctx, tx, m.ID, d.ID); err != nil {
			return nil, err
		}
	}
	if gone, err = goneOf(ctx, tx, selectHashesOfDeveloper, d.ID); err != nil {
		return nil, err
	}
	scenes, err := scenesGone(ctx, tx, d.ID)
	if err != nil {
		return nil, err
	}
	gone = append(gone, scenes...)
	if _, err := tx.Exec(ctx, deleteMailTo, d.Email); err != nil {
		return nil, fmt.Errorf("delete mails: %w", err)
	}
	for _, statement := range []string{deleteAuditRecords, deleteAuditHead, deleteDeveloper} {
		if _, err := tx.Exec(ctx, statement, d.ID); err != nil {
			return nil, fmt.Errorf("delete developer: %w", err)
		}
	}
	return gone, s.record(ctx, tx, audit.Entry{
		Chain: audit.Installation, Kind: audit.Account, Target: d.ID, After: map[string]any{"removed": true},
	})
}

// leave ends a membership and gives what the member made to the oldest other owner; without one that is an error.
func (s *Store) leave(ctx context.Context, tx pgx.Tx, orgID, developerID string) error {
	if _, err := tx.Exec(ctx, deleteMember, developerID); err != nil {
		return fmt.Errorf("delete member: %w", err)
	}
	if err := s.recordMember(ctx, tx, orgID, developerID, map[string]any{"org_id": orgID}, nil); err != nil {
		return err
	}
	return s.inherit(ctx, tx, orgID, developerID)
}
