package store

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
)

// open returns a store on a new, migrated database. Half of its transactions run twice.
func open(t *testing.T) *Store {
	t.Helper()
	return openAt(t, database(t))
}

// database returns the address of a new, migrated database.
func database(t *testing.T) string {
	t.Helper()
	return testkit.DatabaseWith(t, "schema", func(ctx context.Context, url string) error {
		s, err := Open(ctx, url, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer s.Close()
		return s.Migrate(ctx)
	})
}

// openAt is for several stores on one database.
func openAt(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.RunTwice(func() bool { return rand.N(2) == 0 })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func developer(t *testing.T, s *Store, planID string) account.Developer {
	t.Helper()
	id := uuid.NewString()
	d := account.Developer{ID: id, Name: "Ada", Email: id + "@example.com", Plan: planID, CreatedAt: micros()}
	if err := s.CreateDeveloper(t.Context(), account.Credentials{Developer: d, PasswordHash: "x"}); err != nil {
		t.Fatal(err)
	}
	return d
}

func newApp(d account.Developer) app.App {
	return app.App{
		ID: uuid.NewString(), DeveloperID: d.ID, Name: "Bot", Environment: "test", Families: []string{"darwin"},
		RateLimit: 100, Active: true, CreatedAt: micros(), UpdatedAt: micros(),
	}
}

func apps(t *testing.T, s *Store) *app.Apps {
	t.Helper()
	vault, err := secret.NewVault([][]byte{make([]byte, secret.KeyBytes)})
	if err != nil {
		t.Fatal(err)
	}
	return &app.Apps{Store: s, Vault: vault, Pepper: []byte("pepper"), Now: time.Now}
}

func micros() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

type logRow struct {
	Rev      int64
	Kind, ID string
	Body     []byte
	Gone     bool
}

func configLog(t *testing.T, s *Store) []logRow {
	t.Helper()
	log, err := rows[logRow](t.Context(), s.pool, `SELECT rev, kind, id, body, gone FROM config_log ORDER BY rev`)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// records is what config_records holds, and checks that replaying the log gives the same and that versions have no gaps.
func records(t *testing.T, s *Store) map[recordID]string {
	t.Helper()
	replayed := make(map[recordID]string)
	log := configLog(t, s)
	for i, r := range log {
		if r.Rev != int64(i+1) {
			t.Fatalf("version %d at place %d of the log", r.Rev, i+1)
		}
		if r.Gone {
			delete(replayed, recordID{r.Kind, r.ID})
		} else {
			replayed[recordID{r.Kind, r.ID}] = string(r.Body)
		}
	}
	held, err := rows[logRow](t.Context(), s.pool, `SELECT rev, kind, id, body, false AS gone FROM config_records`)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[recordID]string)
	for _, r := range held {
		out[recordID{r.Kind, r.ID}] = string(r.Body)
	}
	if fmt.Sprint(out) != fmt.Sprint(replayed) {
		t.Errorf("the log replays to %v, the records are %v", replayed, out)
	}
	cursor, err := s.Cursor(t.Context())
	if err != nil || cursor.Epoch == 0 || int(cursor.Version) != len(log) {
		t.Errorf("cursor %+v after %d changes: %v", cursor, len(log), err)
	}
	return out
}

// principals are the published keys by id.
func principals(t *testing.T, s *Store) map[string]plane.Principal {
	t.Helper()
	out := make(map[string]plane.Principal)
	for id, body := range records(t, s) {
		var p plane.Principal
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
		out[p.KeyID] = p
		if id.kind != plane.KindKey {
			t.Errorf("a record of kind %s", id.kind)
		}
	}
	return out
}

func TestAnnounceIsGaplessUnderConcurrency(t *testing.T) {
	s := open(t)
	const workers, each = 6, 5
	errs := make(chan error, workers)
	for w := range workers {
		go func() {
			var err error
			for i := range each {
				err = s.changing(context.WithoutCancel(t.Context()), "test", func(ctx context.Context, tx pgx.Tx) error {
					_, err := s.announce(t.Context(), tx,
						plane.Change{Kind: "model", ID: fmt.Sprint(w), Body: json.RawMessage(`{"n":1}`)},
						plane.Change{Kind: "model", ID: fmt.Sprint(w), Gone: true},
						plane.Change{Kind: "model", ID: fmt.Sprint(w), Body: json.RawMessage(fmt.Sprint(i))})
					return err
				})
				if err != nil {
					break
				}
			}
			errs <- err
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := records(t, s); len(got) != workers || len(configLog(t, s)) != workers*each*3 {
		t.Errorf("%d records, %d versions", len(got), len(configLog(t, s)))
	}
}

func TestAnnouncedWithItsTransactionOrNotAtAll(t *testing.T) {
	s := open(t)
	before := s.Changed()
	boom := fmt.Errorf("boom")
	err := s.changing(t.Context(), "test", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := s.announce(t.Context(), tx, plane.Change{Kind: "model", ID: "a", Body: json.RawMessage(`1`)}); err != nil {
			return err
		}
		return boom
	})
	if err == nil || len(records(t, s)) != 0 {
		t.Errorf("%v, yet something was announced", err)
	}
	select {
	case <-before:
	default:
		t.Error("whoever waits must be woken after every attempt: a commit can be ambiguous")
	}
}

func TestSessionsOfADeveloperAreBounded(t *testing.T) {
	s := open(t)
	d := developer(t, s, plan.Free)
	var ids []string
	for i := range 4 {
		session := account.Session{ID: uuid.NewString(), DeveloperID: d.ID, CreatedAt: micros().Add(time.Duration(i) * time.Second), ExpiresAt: micros().Add(time.Hour)}
		if err := s.CreateSession(t.Context(), session, []byte(session.ID), 2); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, session.ID)
	}
	for i, id := range ids {
		_, err := s.Session(t.Context(), id)
		if gone := isErr(err, account.ErrNoSession); gone != (i < 2) {
			t.Errorf("session %d: %v", i, err)
		}
	}
}

func TestHousekeepingRemovesOnlyTheOld(t *testing.T) {
	s := open(t)
	d := developer(t, s, plan.Free)
	for _, end := range []time.Duration{-time.Minute, time.Hour} {
		session := account.Session{ID: uuid.NewString(), DeveloperID: d.ID, CreatedAt: micros(), ExpiresAt: micros().Add(end)}
		if err := s.CreateSession(t.Context(), session, []byte(session.ID), 10); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	var sessions int
	if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM sessions`).Scan(&sessions); err != nil || sessions != 1 {
		t.Errorf("%d sessions left: %v", sessions, err)
	}
}

// TestWhatIsOldIsDeletedInPages: no statement of housekeeping deletes as much as there happens to be.
func TestWhatIsOldIsDeletedInPages(t *testing.T) {
	for name, sql := range Statements() {
		old := strings.HasPrefix(name, "deleteOld") || strings.HasPrefix(name, "deleteExpired")
		if old && !strings.HasSuffix(name, "Of") && !strings.Contains(sql, "LIMIT $2") { // those of somebody are few
			t.Errorf("%s has no limit", name)
		}
	}
	s := open(t)
	ended := micros().Add(-time.Hour)
	if _, err := s.pool.Exec(t.Context(), `INSERT INTO account_links (hash, kind, created_at, expires_at)
		SELECT decode(lpad(to_hex(n), 8, '0'), 'hex'), 'verify', $1, $1 FROM generate_series(1, $2::INT8) AS n`, ended, 2*PruneRows+1); err != nil {
		t.Fatal(err)
	}
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := census(t, s)["account_links"]; left != 0 {
		t.Errorf("%d rows are left", left)
	}
}
