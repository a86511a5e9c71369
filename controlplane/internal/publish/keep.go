package publish

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// logLease is the lease of the replica that deletes old history.
const logLease = "config_log"

// Keep deletes history that is older than LogKept or more than LogVersionsMax versions back, every KeepEvery until ctx ends.
// Of all replicas on a database one at a time does it. It returns ctx's error; a failure is logged and tried again.
func (p *Publisher) Keep(ctx context.Context) error {
	holder := uuid.NewString()
	tick := time.NewTicker(KeepEvery)
	defer tick.Stop()
	for {
		deleted, err := p.trim(ctx, holder)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			p.o.Log.WarnContext(ctx, "old config history was not deleted", slog.Any("error", err))
		case deleted > 0:
			p.o.Log.InfoContext(ctx, "old config history deleted", slog.Int64("changes", deleted))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// trim deletes page by page as long as it holds the lease.
func (p *Publisher) trim(ctx context.Context, holder string) (deleted int64, err error) {
	for {
		now := p.o.Now()
		mine, err := p.log.Lease(ctx, logLease, holder, now, now.Add(keepLeaseFor))
		if err != nil {
			return deleted, fmt.Errorf("take the lease: %w", err)
		}
		if !mine {
			return deleted, nil
		}
		n, err := p.log.TrimLog(ctx, now.Add(-LogKept), LogVersionsMax, LogPageRowsMax)
		if err != nil {
			return deleted, fmt.Errorf("delete old history: %w", err)
		}
		deleted += n
		if n == 0 {
			return deleted, nil
		}
	}
}
