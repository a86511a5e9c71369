package ingest_test

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
)

// receiver is a replica that counts some rows at a time.
func receiver(t *testing.T, f *fixture, s *store.Store, rows int) *ingest.Receiver {
	t.Helper()
	r, err := ingest.NewReceiver(s, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	r.Now, r.PartRows = func() time.Time { return f.now }, rows
	return r
}

// TestAReceiverThatDiesBetweenParts: what it has counted is not counted again, and the rest is.
func TestAReceiverThatDiesBetweenParts(t *testing.T) {
	f := newFixture(t, false)
	records := traffic(rand.New(rand.NewPCG(1, 4)), 100, 5, f.now)
	upload := compress(encode(records))
	storetest.Deaths(t, f.url, func(victim *store.Store, die func(func(context.Context) error)) {
		for _, table := range []string{"usage_minute", "usage_hour", "usage_day", "usage_app_hour", "usage_account_day", "usage_edge_day", "usage_calls", "usage_calls_left"} {
			if _, err := f.db.Exec(t.Context(), "DELETE FROM "+table); err != nil {
				t.Fatal(err)
			}
		}
		f.node = uuid.NewString()
		take := func(ctx context.Context, s *store.Store) error {
			_, err := receiver(t, f, s, 20).Take(ctx, f.upload("i"), bytes.NewReader(upload))
			return err
		}
		die(func(ctx context.Context) error { return take(ctx, victim) })
		counted := f.number("SELECT COALESCE(sum(calls), 0)::INT8 FROM usage_day")
		if next := f.number("SELECT COALESCE(max(next_seq), 1) FROM usage_progress WHERE node_id = $1", f.node); next != counted+1 {
			t.Errorf("%d calls are counted, and the next record is %d", counted, next)
		}
		if err := take(t.Context(), storetest.Open(t, f.url)); err != nil {
			t.Fatal(err)
		}
		check(t, f, 0, records)
		checkEdges(t, f, records)
		if got := f.number("SELECT count(*) FROM usage_calls") + f.number("SELECT COALESCE(sum(calls), 0)::INT8 FROM usage_calls_left"); got != f.number(
			"SELECT sum(calls)::INT8 FROM usage_day WHERE app_id <> '00000000-0000-0000-0000-000000000000'") {
			t.Errorf("%d calls are in the log or left out of it", got)
		}
	})
}

// TestNoTransactionIsLong: none of an upload of many keys adds to more rows than one should.
func TestNoTransactionIsLong(t *testing.T) {
	f := newFixture(t, false)
	const rows = 50
	s := &longest{Store: storetest.Open(t, f.url)}
	r, err := ingest.NewReceiver(s, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	r.Now, r.PartRows = func() time.Time { return f.now }, rows
	records := traffic(rand.New(rand.NewPCG(1, 5)), 1000, 30, f.now)
	ack, err := r.Take(t.Context(), f.upload("i"), bytes.NewReader(compress(encode(records))))
	if err != nil || ack.Seq != uint64(len(records)) {
		t.Fatalf("acknowledged %d: %v", ack.Seq, err)
	}
	if s.rows != rows || s.parts < 2 {
		t.Errorf("%d transactions, the longest adds to %d rollups of a minute, not %d", s.parts, s.rows, rows)
	}
	if s.calls > ingest.CallsMax {
		t.Errorf("%d entries in the log of calls", s.calls)
	}
	check(t, f, 0, records)
	checkEdges(t, f, records)
}

// longest is a store that looks at what it is given.
type longest struct {
	ingest.Store
	parts, rows, calls int
}

func (l *longest) ApplyUsage(ctx context.Context, node, incarnation string, at time.Time, decide func(uint64) (*ingest.Delta, error)) (uint64, error) {
	return l.Store.ApplyUsage(ctx, node, incarnation, at, func(next uint64) (*ingest.Delta, error) {
		d, err := decide(next)
		if d != nil {
			l.parts++
			l.calls += len(d.Calls)
			l.rows = max(l.rows, len(d.Minutes), len(d.Hours), len(d.Days), len(d.Edges), len(d.Keys), len(d.Accounts))
		}
		return d, err
	})
}
