package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Housekeep removes what nobody will ask for any more (ended sessions, old records of who read a key) every HousekeepingEvery. It
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
	if _, err := s.pool.Exec(ctx, deleteOldKeyReads, s.Now().Add(-KeyReadsKept)); err != nil {
		return fmt.Errorf("delete old records of key reads: %w", err)
	}
	return nil
}
