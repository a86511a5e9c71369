package ledger_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
)

const (
	lease    = "usage_closing"
	leaseFor = 10 * time.Minute // longer than the lease that a dead closer leaves behind
	patience = 30 * time.Second
)

func closerOf(t *testing.T, book ledger.Book, at func() time.Time) *ledger.Closer {
	t.Helper()
	c, err := ledger.NewCloser(book, slog.New(slog.DiscardHandler), at, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAClosingProcessThatDies: another one proves all days, finds the same difference, and deletes what is old and nothing else.
func TestAClosingProcessThatDies(t *testing.T) {
	url := storetest.Database(t)
	s := storetest.Open(t, url)
	at := now
	clock := func() time.Time { return at }
	heir := closerOf(t, s, clock)
	put(t, s, []ingest.Rollup{{RollupID: ingest.RollupID{App: uuid.New(), Bucket: now.Unix() - now.Unix()%3600, Status: 200}, Calls: 9}})
	short := ingest.Delta{Next: 2, Edges: []ingest.EdgeDay{{EdgeID: ingest.EdgeID{Key: uuid.New(), Bucket: now.Truncate(24 * time.Hour).Unix()}, Calls: 4}}}
	apply(t, s, &short)
	storetest.Deaths(t, url, func(victim *store.Store, die func(func(context.Context) error)) {
		old, young := uuid.New(), uuid.New()
		minute := func(app uuid.UUID, age time.Duration) ingest.Rollup {
			return ingest.Rollup{RollupID: ingest.RollupID{App: app, Bucket: at.Add(-age).Truncate(time.Minute).Unix(), Status: 200}, Calls: 1}
		}
		apply(t, s, &ingest.Delta{Next: 2, Minutes: []ingest.Rollup{minute(old, ingest.MinutesKept+time.Hour), minute(young, 0)}})
		die(closerOf(t, victim, clock).Round)
		at = at.Add(leaseFor)
		for end := time.Now().Add(patience); ; { // the database may not have noticed the death
			err := heir.Round(t.Context())
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		at = at.Add(leaseFor)
		closed, err := s.Closed(t.Context())
		if err != nil || closed.Drift != 4 || closed.Days < int64(ingest.AgeMax/(24*time.Hour)) || !closed.At.Equal(at.Add(-leaseFor)) {
			t.Errorf("closed %+v, %v", closed, err)
		}
		for app, want := range map[uuid.UUID]int64{old: 0, young: 1} {
			u, err := s.Usage(t.Context(), ledger.Range{
				AppID: app.String(), Unit: ledger.Minute, From: at.AddDate(0, 0, -30), To: at, FirstDay: at.Truncate(24 * time.Hour), EndDay: at.Truncate(24 * time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
			var calls int64
			for _, p := range u.Parts {
				if p.Sort == ledger.SortApp {
					calls += p.Usage.Calls
				}
			}
			if calls != want {
				t.Errorf("%d calls by the minute are kept, want %d", calls, want)
			}
		}
	})
}

func apply(t *testing.T, s *store.Store, d *ingest.Delta) {
	t.Helper()
	if _, err := s.ApplyUsage(t.Context(), uuid.NewString(), "i", now, func(uint64) (*ingest.Delta, error) { return d, nil }); err != nil {
		t.Fatal(err)
	}
}

// stolen is a book whose lease goes to another replica after the first day.
type stolen struct {
	*store.Store
	t    *testing.T
	days int
}

func (b *stolen) CloseDay(ctx context.Context, day, at time.Time) (int64, error) {
	b.days++
	if mine, err := b.Lease(ctx, lease, "another", at.Add(leaseFor), at.Add(2*leaseFor)); err != nil || !mine {
		b.t.Fatalf("the lease after its end: %t, %v", mine, err)
	}
	return b.Store.CloseDay(ctx, day, at)
}

func (b *stolen) PruneUsage(context.Context, time.Time, time.Time) (int64, error) {
	b.t.Error("deleted without the lease")
	return 0, nil
}

// TestOneCloserAtATime: one that was slow and lost its lease stops at the next day.
func TestOneCloserAtATime(t *testing.T) {
	b := &stolen{Store: storetest.Open(t, storetest.Database(t)), t: t}
	if err := closerOf(t, b, func() time.Time { return now }).Round(t.Context()); err != nil || b.days != 1 {
		t.Errorf("%d days were proven after the lease was lost, %v", b.days-1, err)
	}
}
