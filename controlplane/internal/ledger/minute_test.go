package ledger_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/ledger"
	"modelgate.internal/shared/wire"
)

// TestMinuteUsed: what limits per minute count is told by key and by app, of this UTC minute and the one before, and nothing else.
func TestMinuteUsed(t *testing.T) {
	l, s, db := open(t)
	account, app := uuid.New(), uuid.New()
	busy, quiet, darwin, others := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	insert(t, db, `INSERT INTO developers (id, name, email, password_hash, plan, created_at) VALUES ($1, 'Ada', 'ada@example.com', 'x', 'free', now())`, account)
	insert(t, db, `INSERT INTO apps (id, developer_id, name, description, environment, families, tasks, rate_limit, active, created_at, updated_at)
		VALUES ($1, $2, 'Bot', '', 'live', '{}', '{}', 70, TRUE, now(), now())`, app, account)
	for key, of := range map[uuid.UUID]*uuid.UUID{busy: &app, quiet: &app, others: &app, darwin: nil} {
		insert(t, db, `INSERT INTO api_keys (id, developer_id, app_id, kind, hint, name, scopes, metadata, created_at)
			VALUES ($1, $2, $3, CASE WHEN $3::UUID IS NULL THEN 'darwin' ELSE 'live' END, 'svc_…hint', '', '{}', '{}', now())`, key, account, of)
	}
	from := now.Truncate(time.Minute)
	count := func(of, app, key uuid.UUID, at time.Time, status int, end string, calls int64) ingest.Rollup {
		return ingest.Rollup{RollupID: ingest.RollupID{App: app, Key: key, Account: of, Bucket: at.Unix(), Status: status, End: end}, Calls: calls}
	}
	before := from.Add(-time.Minute)
	d := ingest.Delta{Next: 2, Keys: []ingest.KeyUse{{Key: busy, At: now.Add(-5 * time.Second)}}, Minutes: []ingest.Rollup{
		count(account, app, busy, from, 200, "done", 4),
		count(account, app, busy, from, 422, "refused", 2), // the limit counts what was let in, whatever became of it
		count(account, app, busy, from, 200, "upstream_lost", 1),
		count(account, app, busy, before, 200, "done", 7),
		count(account, app, busy, from, 429, "refused", 1000),
		count(account, app, busy, from, 503, "refused", 1000),
		count(account, app, busy, from, 502, "failed", 1000),
		count(account, app, busy, before.Add(-time.Minute), 200, "done", 1000),
		count(account, app, quiet, before, 200, "done", 3),
		count(account, uuid.Nil, darwin, from.Add(time.Minute), 200, "done", 5), // of a node whose clock is ahead
		count(account, uuid.New(), uuid.New(), from, 200, "done", 1000),         // deleted since
		count(uuid.New(), app, others, from, 200, "done", 1000),                 // when the app was another account's
	}}
	if _, err := s.ApplyUsage(t.Context(), uuid.NewString(), "i", now, func(uint64) (*ingest.Delta, error) { return &d, nil }); err != nil {
		t.Fatal(err)
	}
	keys, apps, err := l.MinuteUsed(t.Context(), account.String(), now)
	if err != nil {
		t.Fatal(err)
	}
	wantKeys := []wire.MinuteUse{
		{Used: 7, Before: 7, ResetsAt: now.Add(55 * time.Second)},
		{Used: 5, ResetsAt: now.Add(time.Minute)},
		{Before: 3, ResetsAt: from.Add(time.Minute)},
	}
	if len(keys) != len(wantKeys) || len(apps) != 1 {
		t.Fatalf("%d keys and %d apps: %+v %+v", len(keys), len(apps), keys, apps)
	}
	for i, id := range []uuid.UUID{busy, darwin, quiet} {
		if k := keys[i]; k.KeyID != id.String() || k.MinuteUse != wantKeys[i] || (k.AppID == nil) != (id == darwin) || k.Hint != "svc_…hint" {
			t.Errorf("key %d: %+v, want %s with %+v", i, k, id, wantKeys[i])
		}
	}
	if want := (wire.AppMinute{AppID: app.String(), Limit: 70, MinuteUse: wire.MinuteUse{Used: 7, Before: 10, ResetsAt: now.Add(55 * time.Second)}}); apps[0] != want {
		t.Errorf("app: %+v, want %+v", apps[0], want)
	}
	keys, apps, err = l.MinuteUsed(t.Context(), account.String(), now.Add(3*time.Minute))
	if err != nil || len(keys) != 0 || len(apps) != 0 {
		t.Errorf("later: %+v %+v %v", keys, apps, err)
	}
}

// TestMinuteUsedIsBounded: an account with very many keys is told of the busiest.
func TestMinuteUsedIsBounded(t *testing.T) {
	l, s, db := open(t)
	account, most := uuid.New(), int64(ledger.MinuteRowsMax+5)
	insert(t, db, `INSERT INTO developers (id, name, email, password_hash, plan, created_at) VALUES ($1, 'Ada', 'ada@example.com', 'x', 'free', now())`, account)
	d := ingest.Delta{Next: 2}
	for i := range most {
		id := uuid.New()
		insert(t, db, `INSERT INTO api_keys (id, developer_id, kind, hint, name, scopes, metadata, created_at)
			VALUES ($1, $2, 'darwin', '', '', '{}', '{}', now())`, id, account)
		d.Minutes = append(d.Minutes, ingest.Rollup{RollupID: ingest.RollupID{Key: id, Account: account, Bucket: now.Truncate(time.Minute).Unix(), Status: 200}, Calls: 1 + i})
	}
	if _, err := s.ApplyUsage(t.Context(), uuid.NewString(), "i", now, func(uint64) (*ingest.Delta, error) { return &d, nil }); err != nil {
		t.Fatal(err)
	}
	keys, _, err := l.MinuteUsed(t.Context(), account.String(), now)
	if err != nil || len(keys) != ledger.MinuteRowsMax || keys[0].Used != most || keys[len(keys)-1].Used != 6 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

func insert(t *testing.T, db *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}
