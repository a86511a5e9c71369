package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/ingest"
)

// bookLease is the lease of the replica that closes days and deletes old rollups.
const bookLease = "usage_closing"

// Closed is what is known of the days that were proven.
type Closed struct {
	Drift int64 // over all of them
	Days  int64
	At    time.Time // of the newest proof; zero without any
}

// Book is what the closing job needs of the store.
type Book interface {
	Lease(ctx context.Context, name, holder string, now, until time.Time) (bool, error)
	// CloseDay compares, by key, what the nodes sent for the UTC day with the rollups, and keeps and returns the difference.
	CloseDay(ctx context.Context, day, now time.Time) (drift int64, err error)
	Closed(ctx context.Context) (Closed, error)
	// PruneUsage deletes some of the minutes and hours that begin before the given times, and returns how many rows.
	PruneUsage(ctx context.Context, minutes, hours time.Time) (int64, error)
	// PruneCalls deletes some of the log of calls that arrived before the time, and returns how many.
	PruneCalls(ctx context.Context, before time.Time) (int64, error)
}

// Closer proves, day by day, that what is stored is what the nodes sent, and deletes rollups that are kept no longer. Of all
// replicas one at a time does it: the lease is extended before each day and each page. All of them show the outcome as a metric.
type Closer struct {
	book   Book
	log    *slog.Logger
	now    func() time.Time
	holder string
	all    time.Time // when all days were proven last
	closed atomic.Pointer[Closed]
}

// NewCloser returns a closer that registers its metrics with reg.
func NewCloser(book Book, log *slog.Logger, now func() time.Time, reg prometheus.Registerer) (*Closer, error) {
	c := &Closer{book: book, log: log, now: now, holder: rand.Text()}
	c.closed.Store(&Closed{})
	for _, m := range []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "modelgate_usage_drift", Help: "Calls and tokens by which the rollups differ from what the nodes sent, over all days; 0 is right.",
		}, func() float64 { return float64(c.closed.Load().Drift) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "modelgate_usage_closed_timestamp_seconds", Help: "When the rollups were last compared with what the nodes sent.",
		}, func() float64 { return float64(max(c.closed.Load().At.Unix(), 0)) }),
	} {
		if err := reg.Register(m); err != nil {
			return nil, fmt.Errorf("register usage gauges: %w", err)
		}
	}
	return c, nil
}

// Run closes until ctx ends. A round that fails is logged and tried again with the next.
func (c *Closer) Run(ctx context.Context) error {
	tick := time.NewTicker(closeEvery)
	defer tick.Stop()
	for {
		if err := c.Round(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "usage was not compared with what the nodes sent", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Round proves today and the days before it, once a day all that records can arrive for, and reads the outcome of all.
func (c *Closer) Round(ctx context.Context) error {
	now := c.now()
	mine, err := c.close(ctx, now)
	if err != nil {
		return err
	}
	if mine {
		if err := c.prune(ctx, now); err != nil {
			return err
		}
	}
	closed, err := c.book.Closed(ctx)
	if err != nil {
		return err
	}
	c.closed.Store(&closed)
	return nil
}

// lease takes the lease or extends it; false if another replica has it.
func (c *Closer) lease(ctx context.Context) (mine bool, err error) {
	now := c.now()
	mine, err = c.book.Lease(ctx, bookLease, c.holder, now, now.Add(closeLeaseFor))
	if err != nil {
		return false, fmt.Errorf("take the lease: %w", err)
	}
	return mine, nil
}

// close proves day by day as long as it holds the lease, and returns whether it does at the end.
func (c *Closer) close(ctx context.Context, now time.Time) (mine bool, err error) {
	days := closeLateDays
	every := now.Sub(c.all) >= closeAllEvery
	if every {
		days = int(ingest.AgeMax / day)
	}
	for i := -1; i <= days; i++ { // a node's clock may be ahead
		if mine, err = c.lease(ctx); err != nil || !mine {
			return false, err
		}
		at := startOfDay(now).AddDate(0, 0, -i)
		drift, err := c.book.CloseDay(ctx, at, now)
		if err != nil {
			return false, err
		}
		if drift != 0 {
			c.log.ErrorContext(ctx, "usage differs from what the nodes sent", slog.Time("day", at), slog.Int64("drift", drift))
		}
	}
	if every {
		c.all = now
	}
	return mine, nil
}

// prune deletes page by page as long as it holds the lease.
func (c *Closer) prune(ctx context.Context, now time.Time) error {
	for {
		n, err := c.book.PruneUsage(ctx, now.Add(-ingest.MinutesKept), now.Add(-ingest.HoursKept))
		if err != nil {
			return err
		}
		calls, err := c.book.PruneCalls(ctx, now.Add(-ingest.CallsKept))
		if err != nil || n+calls == 0 {
			return err
		}
		mine, err := c.lease(ctx)
		if err != nil || !mine {
			return err
		}
	}
}
