package store

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/sketch"
)

// rollups are the rows that a segment changes in one table, as columns: at most plane.SegmentRecordsMax, in one statement.
type rollups struct {
	add, replace                         string
	apps, keys, accounts                 ids
	buckets                              []time.Time
	models, tasks, sources, ends         []string
	statuses                             []int64
	calls, failures, tokensIn, tokensOut []int64
	ttft, took                           [][]byte
}

// ids are a column of UUIDs. As uuid.UUID each of them would be written as a text and read again.
type ids = pgtype.FlatArray[pgtype.UUID]

func idOf(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func newRollups(add, replace string, n int) *rollups {
	return &rollups{
		add: add, replace: replace,
		apps: make(ids, n), keys: make(ids, n), accounts: make(ids, n), buckets: make([]time.Time, n),
		models: make([]string, n), tasks: make([]string, n), sources: make([]string, n), ends: make([]string, n),
		statuses: make([]int64, n), calls: make([]int64, n), failures: make([]int64, n), tokensIn: make([]int64, n),
		tokensOut: make([]int64, n), ttft: make([][]byte, n), took: make([][]byte, n),
	}
}

func rollupsOf(add, replace string, list []ingest.Rollup) *rollups {
	t := newRollups(add, replace, len(list))
	for i := range list {
		r := &list[i]
		t.apps[i], t.keys[i], t.accounts[i] = idOf(r.App), idOf(r.Key), idOf(r.Account)
		t.buckets[i], t.statuses[i] = time.Unix(r.Bucket, 0).UTC(), int64(r.Status)
		t.models[i], t.tasks[i], t.sources[i], t.ends[i] = r.Model, r.Task, r.Source, r.End
		t.calls[i], t.failures[i], t.tokensIn[i], t.tokensOut[i] = r.Calls, r.Errors, r.TokensIn, r.TokensOut
		t.ttft[i], t.took[i] = r.TTFT.Append([]byte{}), r.Took.Append([]byte{})
	}
	return t
}

// appHours adds hours up by app and account, in the order of the apps.
func appHours(hours []ingest.Rollup) []ingest.Rollup {
	var (
		list []ingest.Rollup
		at   = make(map[ingest.RollupID]int)
	)
	for i := range hours {
		h := &hours[i]
		id := ingest.RollupID{App: h.App, Bucket: h.Bucket, Account: h.Account}
		n, found := at[id]
		if !found {
			n = len(list)
			at[id] = n
			list = append(list, ingest.Rollup{RollupID: id})
		}
		sum := &list[n]
		sum.Calls += h.Calls
		sum.Errors += h.Errors
		sum.TokensIn += h.TokensIn
		sum.TokensOut += h.TokensOut
		sum.TTFT.Merge(h.TTFT)
		sum.Took.Merge(h.Took)
	}
	return list
}

// queue adds the rows. The database adds sketches up by putting them behind each other; those that have become long thereby are
// what compacted gets, to be written anew.
func (t *rollups) queue(b *pgx.Batch, compacted *[]*rollups) {
	if len(t.calls) == 0 {
		return
	}
	b.Queue(t.add, append(t.columns(), SketchBytes)...).Query(func(rows pgx.Rows) error {
		long, err := pgx.CollectRows(rows, pgx.RowToStructByName[longRow])
		if err != nil || len(long) == 0 {
			return err
		}
		c := newRollups("", t.replace, len(long))
		for i, r := range long {
			c.apps[i], c.keys[i], c.accounts[i], c.buckets[i], c.statuses[i] = r.App, r.Key, r.Account, r.Bucket, r.Status
			c.models[i], c.tasks[i], c.sources[i], c.ends[i] = r.Model, r.Task, r.Source, r.End
			if c.ttft[i], err = compact(r.TTFT); err != nil {
				return err
			}
			if c.took[i], err = compact(r.Took); err != nil {
				return err
			}
		}
		*compacted = append(*compacted, c)
		return nil
	})
}

// queueReplace writes the sketches of rows that are there.
func (t *rollups) queueReplace(b *pgx.Batch) { b.Queue(t.replace, t.columns()...) }

func (t *rollups) columns() []any {
	return []any{
		t.apps, t.buckets, t.keys, t.accounts, t.models, t.tasks, t.statuses, t.sources, t.ends,
		t.calls, t.failures, t.tokensIn, t.tokensOut, t.ttft, t.took,
	}
}

// compact is a stored sketch with every bin once.
func compact(stored []byte) ([]byte, error) {
	var s sketch.Sketch
	if err := s.Decode(stored); err != nil {
		return nil, fmt.Errorf("read a stored sketch: %w", err)
	}
	return s.Append([]byte{}), nil
}

// longRow is a rollup whose sketches are to be compacted.
type longRow struct {
	App     pgtype.UUID `db:"app_id"`
	Bucket  time.Time   `db:"bucket"`
	Key     pgtype.UUID `db:"key_id"`
	Account pgtype.UUID `db:"account_id"`
	Model   string      `db:"model"`
	Task    string      `db:"task"`
	Status  int64       `db:"status"`
	Source  string      `db:"source"`
	End     string      `db:"end_reason"`
	TTFT    []byte      `db:"ttft"`
	Took    []byte      `db:"took"`
}
