package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/alert"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/shared/plane"
)

// Housekeep removes what nobody will ask for any more (ended sessions and values of keys, old records of who read a
// key, calibrations, results of idempotent calls, dead mails, applied billing events, old notifications) every HousekeepingEvery. It
// returns when ctx ends; a failure is logged and tried again with the next round.
func (s *Store) Housekeep(ctx context.Context) error {
	tick := time.NewTicker(HousekeepingEvery)
	defer tick.Stop()
	for {
		if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("housekeeping failed", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (s *Store) tidy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, HousekeepingTimeout)
	defer cancel()
	now := s.Now()
	for _, old := range []struct {
		what, sql string
		before    time.Time
	}{
		{"expired sessions", deleteExpiredSessions, now},
		{"expired links", deleteExpiredLinks, now},
		{"old refreshes", deleteOldRefreshes, now.Add(-account.RefreshKept)},
		{"old records of key reads", deleteOldKeyReads, now.Add(-KeyReadsKept)},
		{"old idempotent requests", deleteOldKeyRequests, now.Add(-app.OnceFor)},
		{"old idempotent calls", deleteOldReplays, now.Add(-plane.ReplayFor)},
		{"old dead mails", deleteOldMail, now.Add(-mail.DeadKept)},
		{"old billing events", deleteOldEvents, now.Add(-billing.EventsKept)},
		{"old notifications", deleteOldDeliveries, now.Add(-alert.DeliveriesKept)},
	} {
		if err := s.deleteOld(ctx, old.sql, old.before); err != nil {
			return fmt.Errorf("delete %s: %w", old.what, err)
		}
	}
	if err := s.retireCameras(ctx, now.Add(-playground.CamerasKept)); err != nil {
		return err
	}
	return s.retireValues(ctx)
}

// deleteOld deletes page by page, so that no transaction is long.
func (s *Store) deleteOld(ctx context.Context, sql string, before time.Time) error {
	for {
		tag, err := s.alone(ctx, sql, before, PruneRows)
		if err != nil || tag.RowsAffected() < PruneRows {
			return err
		}
	}
}
