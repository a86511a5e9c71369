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
	if _, err := s.pool.Exec(ctx, deleteExpiredSessions, s.Now()); err != nil {
		return fmt.Errorf("delete expired sessions: %w", err)
	}
	if _, err := s.pool.Exec(ctx, deleteExpiredLinks, s.Now()); err != nil {
		return fmt.Errorf("delete expired links: %w", err)
	}
	if _, err := s.pool.Exec(ctx, deleteOldRefreshes, s.Now().Add(-account.RefreshKept)); err != nil {
		return fmt.Errorf("delete old refreshes: %w", err)
	}
	if _, err := s.pool.Exec(ctx, deleteOldKeyReads, s.Now().Add(-KeyReadsKept)); err != nil {
		return fmt.Errorf("delete old records of key reads: %w", err)
	}
	if _, err := s.pool.Exec(ctx, deleteOldKeyRequests, s.Now().Add(-app.OnceFor)); err != nil {
		return fmt.Errorf("delete old idempotent requests: %w", err)
	}
	if err := s.retireCameras(ctx, s.Now().Add(-playground.CamerasKept)); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, deleteOldReplays, s.Now().Add(-plane.ReplayFor)); err != nil {
		return fmt.Errorf("delete old idempotent calls: %w", err)
	}
	if err := s.retireValues(ctx); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, deleteOldMail, s.Now().Add(-mail.DeadKept)); err != nil {
		return fmt.Errorf("delete old dead mails: %w", err)
	}
	if _, err := s.pool.Exec(ctx, deleteOldEvents, s.Now().Add(-billing.EventsKept)); err != nil {
		return fmt.Errorf("delete old billing events: %w", err)
	}
	if _, err := s.pool.Exec(ctx, deleteOldDeliveries, s.Now().Add(-alert.DeliveriesKept)); err != nil {
		return fmt.Errorf("delete old notifications: %w", err)
	}
	return nil
}
