package ingest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage/usagetest"
)

// fixture is a database with two replicas on it.
type fixture struct {
	t        testing.TB
	url      string
	db       *pgx.Conn
	replicas []*ingest.Receiver
	metrics  []*prometheus.Registry
	now      time.Time
	node     string
}

func newFixture(t testing.TB, twice bool) *fixture {
	t.Helper()
	url := storetest.Database(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(t.Context()) })
	f := &fixture{t: t, url: url, db: db, now: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), node: uuid.NewString()}
	for range 2 {
		s := storetest.Open(t, url)
		if twice {
			s.RunTwice(func() bool { return rand.N(2) == 0 })
		}
		reg := prometheus.NewRegistry()
		r, err := ingest.NewReceiver(s, slog.New(slog.DiscardHandler), reg)
		if err != nil {
			t.Fatal(err)
		}
		r.Now = func() time.Time { return f.now }
		f.replicas, f.metrics = append(f.replicas, r), append(f.metrics, reg)
	}
	return f
}

// take sends an upload to a replica.
func (f *fixture) take(replica int, incarnation string, upload []byte) (uint64, error) {
	ack, err := f.replicas[replica].Take(f.t.Context(), f.upload(incarnation), bytes.NewReader(compress(upload)))
	return ack.Seq, err
}

func (f *fixture) upload(incarnation string) ingest.Upload {
	return ingest.Upload{NodeID: f.node, Node: "eu-1", Incarnation: incarnation, Segment: 1}
}

func (f *fixture) number(sql string, args ...any) (n int64) {
	f.t.Helper()
	if err := f.db.QueryRow(f.t.Context(), sql, args...).Scan(&n); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// counter returns the sum of a counter over the replicas.
func (f *fixture) counter(name, outcome string) (sum float64) {
	f.t.Helper()
	for _, reg := range f.metrics {
		families, err := reg.Gather()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if family.GetName() == name && m.GetLabel()[0].GetValue() == outcome {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

func compress(upload []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer z.Close()
	return z.EncodeAll(upload, nil)
}

func encode(records []plane.UsageRecord) []byte { return usagetest.Upload(records) }

// traffic returns records as a gateway writes them: apps with some keys each, a few models, the odd error.
func traffic(dice *rand.Rand, n, apps int, until time.Time) []plane.UsageRecord {
	type key struct{ account, app, key string }
	id := func() string {
		var u uuid.UUID
		for i := range u {
			u[i] = byte(dice.Uint32())
		}
		return u.String()
	}
	var keys []key
	for range apps {
		account, app := id(), id()
		for range 3 {
			keys = append(keys, key{account, app, id()})
		}
	}
	records := make([]plane.UsageRecord, n)
	at := until.Add(-time.Duration(n) * time.Second)
	for i := range records {
		k := keys[dice.IntN(len(keys))]
		at = at.Add(time.Second)
		r := plane.UsageRecord{
			Seq: uint64(i + 1), RequestID: fmt.Sprintf("req_%020d", i), At: at, AccountID: k.account, DeveloperID: k.account,
			AppID: k.app, KeyID: k.key, Endpoint: "agent", Model: "Darwin", Task: "conversation", Backend: "upstream",
			Status: 200, End: plane.EndDone, Source: plane.SourceProvider,
			TokensIn: dice.Int64N(2000), TokensOut: dice.Int64N(800), TTFT: 210 * time.Millisecond, Took: time.Duration(1+dice.IntN(9_000)) * time.Millisecond,
		}
		switch dice.IntN(20) {
		case 0:
			r.Status, r.End, r.Source, r.TokensIn, r.TokensOut = 429, plane.EndRefused, plane.SourceNone, 0, 0
		case 1:
			r.Status, r.End, r.Source, r.TokensIn, r.TokensOut = 502, plane.EndFailed, plane.SourceNone, 0, 0
		case 2:
			r.Sandbox = true
		case 3:
			r.End, r.Source = plane.EndUpstreamCut, plane.SourceCounted
		case 4:
			r.AppID = ""
		case 5:
			r.End, r.Source, r.TTFT, r.Took = plane.EndNodeCrash, plane.SourceCounted, 0, 0
		}
		records[i] = r
	}
	return records
}
