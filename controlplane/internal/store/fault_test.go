package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/billing"
	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/secret"
)

// injector makes the n-th statement of the transactions that follow fail as a collision, once. The commit is a statement too.
type injector struct{ left int }

func (i *injector) hit() error {
	if i.left--; i.left != 0 {
		return nil
	}
	return &pgconn.PgError{Severity: "ERROR", Code: codeSerialization, Message: "injected"}
}

// faultyTx is a transaction with an injector.
type faultyTx struct {
	pgx.Tx
	i       *injector
	inPlace bool
}

func (f faultyTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := f.i.hit(); err != nil {
		return pgconn.CommandTag{}, err
	}
	return f.Tx.Exec(ctx, sql, args...)
}

func (f faultyTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := f.i.hit(); err != nil {
		return nil, err
	}
	return f.Tx.Query(ctx, sql, args...)
}

func (f faultyTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := f.i.hit(); err != nil {
		return failedRow{err}
	}
	return f.Tx.QueryRow(ctx, sql, args...)
}

func (f faultyTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if err := f.i.hit(); err != nil {
		return failedBatch{err: err}
	}
	return f.Tx.SendBatch(ctx, b)
}

// Commit fails as a server does that finds the collision at the end: nothing is committed. In place it cannot, because the release
// of the savepoint, a statement, has committed already.
func (f faultyTx) Commit(ctx context.Context) error {
	if f.inPlace {
		return f.Tx.Commit(ctx)
	}
	if err := f.i.hit(); err != nil {
		_ = f.Rollback(ctx)
		return err
	}
	return f.Tx.Commit(ctx)
}

type failedRow struct{ err error }

func (f failedRow) Scan(...any) error { return f.err }

type failedBatch struct {
	pgx.BatchResults
	err error
}

func (f failedBatch) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, f.err }
func (f failedBatch) Query() (pgx.Rows, error)         { return nil, f.err }
func (f failedBatch) QueryRow() pgx.Row                { return failedRow{f.err} }
func (f failedBatch) Close() error                     { return f.err }

// things are what an operation works on: an account with all sorts of things.
type things struct {
	d       account.Developer
	app     app.App
	key     app.Key
	session account.Session
	refresh []byte
	billed  billing.Account
}

func thingsOf(t *testing.T, s *Store) things {
	t.Helper()
	d, _ := furnished(t, s)
	a := apps(t, s)
	all, err := a.List(t.Context(), d.ID)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := a.Keys(t.Context(), d.ID, all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := s.Sessions(t.Context(), d.ID, micros(), 1)
	if err != nil {
		t.Fatal(err)
	}
	billed, err := s.OpenAccount(t.Context(), d.ID, micros())
	if err != nil {
		t.Fatal(err)
	}
	return things{d, all[0], keys[0], sessions[0], []byte(sessions[0].ID), billed}
}

// operations are the transactions of the store that write more than one row or return something of what they did.
func operations(s *Store, a *app.Apps) map[string]func(ctx context.Context, x things) error {
	sealed := secret.Sealed{KEKID: "x", SealedKey: []byte("k"), Nonce: []byte("n"), Ciphertext: []byte("c")}
	return map[string]func(ctx context.Context, x things) error{
		"create app": func(ctx context.Context, x things) error { return s.CreateApp(ctx, newApp(x.d)) },
		"update app": func(ctx context.Context, x things) error {
			off := false
			_, _, err := a.Update(ctx, x.d.ID, x.app.ID, app.Update{Active: &off})
			return err
		},
		"delete app": func(ctx context.Context, x things) error { _, err := a.Delete(ctx, x.d.ID, x.app.ID); return err },
		"create key": func(ctx context.Context, x things) error {
			_, err := a.CreateKey(ctx, x.d.ID, x.app.ID, nil)
			return err
		},
		"regenerate key": func(ctx context.Context, x things) error {
			_, err := a.RegenerateKey(ctx, x.d.ID, x.app.ID, x.key.ID, 0, nil)
			return err
		},
		"revoke key": func(ctx context.Context, x things) error {
			k, err := a.RevokeKey(ctx, x.d.ID, x.app.ID, x.key.ID)
			if err == nil && k.RevokedVersion == nil {
				err = fmt.Errorf("revoked without a version")
			}
			return err
		},
		"reveal key": func(ctx context.Context, x things) error {
			_, err := a.Reveal(ctx, x.d.ID, x.app.ID, x.key.ID)
			return err
		},
		"change developer": func(ctx context.Context, x things) error {
			free := plan.Free
			_, err := s.ChangeDeveloper(ctx, x.d.Email, account.Change{Plan: &free}, micros())
			return err
		},
		"set password": func(ctx context.Context, x things) error {
			if ended, err := s.SetPassword(ctx, x.d.ID, "y", ""); err != nil || ended != 1 {
				return fmt.Errorf("%d sessions ended: %w", ended, err)
			}
			return nil
		},
		"create session": func(ctx context.Context, x things) error {
			id := uuid.NewString()
			return s.CreateSession(ctx, account.Session{ID: id, DeveloperID: x.d.ID, CreatedAt: micros(), ExpiresAt: micros().Add(time.Hour)}, []byte(id), 1)
		},
		"renew session": func(ctx context.Context, x things) error {
			_, err := s.RenewSession(ctx, x.refresh, []byte(uuid.NewString()), micros())
			return err
		},
		"begin second factor": func(ctx context.Context, x things) error { return s.BeginTOTP(ctx, x.d.ID, sealed, micros()) },
		"confirm second factor": func(ctx context.Context, x things) error {
			return s.ConfirmTOTP(ctx, x.d.ID, 7, [][]byte{[]byte("1"), []byte("2")}, micros())
		},
		"verify address": func(ctx context.Context, x things) error {
			return s.VerifyEmail(ctx, []byte("link of "+x.d.ID), micros())
		},
		"apply usage": func(ctx context.Context, x things) error {
			_, err := s.ApplyUsage(ctx, x.d.ID, "one", micros(), func(next uint64) (*ingest.Delta, error) {
				return &ingest.Delta{Next: next + 1, Accounts: []ingest.AccountDay{{Account: uuid.MustParse(x.d.ID), Day: 86_400, Calls: 3}}}, nil
			})
			return err
		},
		"apply billing": func(ctx context.Context, x things) error {
			sub := billing.Subscription{ID: uuid.NewString(), Status: billing.Active, Plan: plan.Starter, Interval: plan.IntervalMonth, PeriodEnd: micros()}
			done, err := s.Apply(ctx, x.billed, billing.Snapshot{Subscriptions: []billing.Subscription{sub}}, micros())
			if err == nil && done.After != plan.Starter {
				err = fmt.Errorf("the plan is %s", done.After)
			}
			return err
		},
		"add billing event": func(ctx context.Context, _ things) error {
			fresh, err := s.AddEvent(ctx, billing.Event{ID: uuid.NewString(), Type: "invoice.paid", CreatedAt: micros()}, micros())
			if err == nil && !fresh {
				err = errors.New("it was known")
			}
			return err
		},
		"delete account": func(ctx context.Context, x things) error {
			_, err := s.ScheduleDeletion(ctx, x.d.ID, account.Deletion{RequestedAt: micros(), DeleteAt: micros()})
			for done := false; err == nil && !done; {
				done, err = s.RemoveAccount(ctx, x.d.ID, micros())
			}
			return err
		},
	}
}

// census counts the rows of every table.
func census(t *testing.T, s *Store) map[string]int {
	t.Helper()
	found, err := rows[struct {
		Name string `db:"table_name"`
	}](t.Context(), s.pool, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	counted := make([]string, len(found))
	for i, table := range found {
		counted[i] = `SELECT '` + table.Name + `' AS name, count(*) AS rows FROM ` + table.Name
	}
	all, err := rows[struct {
		Name string `db:"name"`
		Rows int    `db:"rows"`
	}](t.Context(), s.pool, strings.Join(counted, " UNION ALL "))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int, len(all))
	for _, table := range all {
		counts[table.Name] = table.Rows
	}
	return counts
}

// grown is what was added since.
func grown(before, after map[string]int) map[string]int {
	d := maps.Clone(after)
	for table, n := range before {
		d[table] -= n
	}
	maps.DeleteFunc(d, func(_ string, n int) bool { return n == 0 })
	return d
}

func TestACollisionAtAnyStatementChangesNothingButTheTime(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	all := operations(s, a)
	bothWays(t, s, func(t *testing.T) { // twice would use up the collisions
		for _, name := range slices.Sorted(maps.Keys(all)) {
			t.Run(name, func(t *testing.T) { collideEverywhere(t, s, all[name]) })
		}
	})
}

// collideEverywhere runs an operation with a collision at its first statement, at its second one, and so on.
func collideEverywhere(t *testing.T, s *Store, operation func(ctx context.Context, x things) error) {
	var want map[string]int
	for n := -1; ; n++ { // 0 is a run without a collision; the one before makes what an installation has one of
		x := thingsOf(t, s)
		before, i := census(t, s), &injector{left: max(n, 0)}
		s.faulty = func(tx pgx.Tx) pgx.Tx { return faultyTx{tx, i, s.inPlace} }
		err := operation(t.Context(), x)
		s.faulty = nil
		if err != nil {
			t.Fatalf("with a collision at statement %d: %v", n, err)
		}
		got := grown(before, census(t, s))
		if n <= 0 {
			want = got
		} else if !maps.Equal(got, want) {
			t.Errorf("with a collision at statement %d the rows that were added are %v, without it %v", n, got, want)
		}
		if i.left > 0 {
			if n < 3 {
				t.Errorf("only %d statements were seen", n-1)
			}
			return // there were not so many statements
		}
	}
}
