package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/controlplane/internal/playground"
	"modelgate.internal/controlplane/internal/secret"
)

// furnished is a developer with two apps, keys, a token, sessions, a second factor, a link, a mail and usage.
func furnished(t *testing.T, s *Store) (d account.Developer, values []string) {
	t.Helper()
	ctx, a := t.Context(), apps(t, s)
	d = developer(t, s, plan.Pro)
	for i := range 2 {
		made, err := a.Create(ctx, app.App{DeveloperID: d.ID, Name: fmt.Sprint("Bot ", i), Environment: "live", RateLimit: 7})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			k, err := a.CreateKey(ctx, d.ID, made.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Reveal(ctx, d.ID, made.ID, k.ID); err != nil {
				t.Fatal(err)
			}
			values = append(values, k.Value)
			if _, err := s.pool.Exec(ctx, `INSERT INTO usage_day VALUES ($1, $2, $3, $4, 'Darwin', 'conversation', 200, 'node', 5, 1, 10, 20, '', '', '')`,
				made.ID, micros().Truncate(24*time.Hour), k.ID, d.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	token, err := a.CreateToken(ctx, d.ID, app.TokenRequest{Name: "laptop", Metadata: []byte(`{"name":"laptop"}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	values = append(values, token.Value)
	sealed := secret.Sealed{KEKID: "x", SealedKey: []byte("k"), Nonce: []byte("n"), Ciphertext: []byte("second factor")}
	session := account.Session{ID: uuid.NewString(), DeveloperID: d.ID, Address: "192.0.2.7", CreatedAt: micros(), ExpiresAt: micros().Add(time.Hour)}
	letter := mail.Letter{ID: uuid.NewString(), Recipient: d.Email, Template: "verify", Sealed: sealed, CreatedAt: micros(), ExpiresAt: micros().Add(time.Hour)}
	for _, err := range []error{
		s.CreateSession(ctx, session, []byte(session.ID), account.SessionsPerDevMax),
		s.BeginTOTP(ctx, d.ID, sealed, micros()),
		s.SendLink(ctx, d.Email, account.MailedLink{
			Link:   account.Link{Hash: []byte("link of " + d.ID), Kind: account.LinkVerify, CreatedAt: micros(), ExpiresAt: micros().Add(time.Hour)},
			Letter: letter,
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return d, values
}

// mentions counts the rows of every table that hold one of the texts.
func mentions(t *testing.T, s *Store, texts ...string) map[string]int {
	t.Helper()
	type name struct {
		Name string `db:"table_name"`
	}
	tables, err := rows[name](t.Context(), s.pool, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]int)
	for _, table := range tables {
		got, err := s.pool.Query(t.Context(), `SELECT to_json(t)::TEXT FROM `+table.Name+` AS t`)
		if err != nil {
			t.Fatal(err)
		}
		for got.Next() {
			var row string
			if err := got.Scan(&row); err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				if strings.Contains(row, text) {
					found[table.Name]++
					break
				}
			}
		}
		if got.Err() != nil {
			t.Fatal(got.Err())
		}
	}
	return found
}

func removeAll(t *testing.T, s *Store, d account.Developer, now time.Time) (steps int) {
	t.Helper()
	for steps = 1; ; steps++ {
		if done, err := s.RemoveAccount(t.Context(), d.ID, now); err != nil || done {
			if err != nil {
				t.Fatal(err)
			}
			return steps
		}
	}
}

func TestARemovedAccountLeavesAnonymousUsageOnly(t *testing.T) {
	s := open(t)
	d, _ := furnished(t, s)
	other, _ := furnished(t, s)
	before := mentions(t, s, other.ID, other.Email)
	keys := len(records(t, s))
	now := micros()
	due := account.Deletion{RequestedAt: now, DeleteAt: now.Add(account.DeletionDelay)}
	if _, err := s.ScheduleDeletion(t.Context(), d.ID, due); err != nil {
		t.Fatal(err)
	}
	if done, err := s.RemoveAccount(t.Context(), d.ID, due.DeleteAt.Add(-time.Microsecond)); err != nil || !done || len(records(t, s)) != keys {
		t.Fatalf("before its time: %v, %d of %d keys are left", err, len(records(t, s)), keys)
	}
	if ids, err := s.DueDeletions(t.Context(), due.DeleteAt, 10); err != nil || len(ids) != 1 || ids[0] != d.ID {
		t.Fatalf("due: %v, %v", ids, err)
	}
	if steps := removeAll(t, s, d, due.DeleteAt); steps != 3 {
		t.Errorf("removed in %d steps, want one for each app and one for the rest", steps)
	}
	left := mentions(t, s, d.ID, d.Email, d.Name+" of "+d.ID, "link of "+d.ID)
	delete(left, "config_log")                                                  // the history of what the nodes were told, which ages out
	if len(left) != 2 || left["usage_day"] != 4 || left["audit_records"] != 1 { // that there was an account with the id
		t.Errorf("what is left of the account: %v", left)
	}
	if got := len(records(t, s)); got != keys-5 {
		t.Errorf("%d keys are published, want %d", got, keys-5)
	}
	if after := mentions(t, s, other.ID, other.Email); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("of somebody else's: before %v, after %v", before, after)
	}
	if err := s.CancelDeletion(t.Context(), d.ID, due.DeleteAt); !isErr(err, account.ErrNotScheduled) {
		t.Errorf("restored afterwards: %v", err)
	}
	if removeAll(t, s, d, due.DeleteAt) != 1 {
		t.Error("a second removal found something")
	}
}

func TestADeletionIsTakenBackUntilItIsDue(t *testing.T) {
	s := open(t)
	d, _ := furnished(t, s)
	now := micros()
	first := account.Deletion{RequestedAt: now, DeleteAt: now.Add(account.DeletionDelay)}
	later := account.Deletion{RequestedAt: now.Add(time.Hour), DeleteAt: first.DeleteAt.Add(time.Hour)}
	for _, plan := range []account.Deletion{first, later} {
		got, err := s.ScheduleDeletion(t.Context(), d.ID, plan)
		if err != nil || !got.DeleteAt.Equal(first.DeleteAt) {
			t.Fatalf("scheduled %+v: %v", got, err)
		}
	}
	if open, err := s.Sessions(t.Context(), d.ID, now, 10); err != nil || len(open) != 0 {
		t.Errorf("open sessions: %v, %v", open, err)
	}
	if err := s.CancelDeletion(t.Context(), d.ID, first.DeleteAt); !isErr(err, account.ErrNotScheduled) {
		t.Errorf("when it is due: %v", err)
	}
	if err := s.CancelDeletion(t.Context(), d.ID, first.DeleteAt.Add(-time.Second)); err != nil {
		t.Error(err)
	}
	if got, err := s.Deletion(t.Context(), d.ID); err != nil || got != nil {
		t.Errorf("after it was taken back: %v, %v", got, err)
	}
	if done, err := s.RemoveAccount(t.Context(), d.ID, later.DeleteAt); err != nil || !done {
		t.Error(err)
	}
	if _, err := s.Developer(t.Context(), d.ID); err != nil {
		t.Errorf("an account that was restored: %v", err)
	}
}

func TestAnExportHoldsEverythingButSecrets(t *testing.T) {
	s := open(t)
	d, values := furnished(t, s)
	furnished(t, s)
	camera := playground.Camera{SessionID: "lobby", CameraID: "a", Homography: []float64{1, 2, 3, 4, 5, 6, 7, 8, 1.5}, Inliers: 4, TotalPoints: 5, CalibratedAt: micros()}
	if err := s.KeepCamera(t.Context(), d.ID, camera); err != nil {
		t.Fatal(err)
	}
	doc, err := s.Export(t.Context(), d.ID)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Developer.ID != d.ID || doc.Developer.Email != d.Email || len(doc.Apps) != 2 || len(doc.Keys) != 5 || len(doc.Reads) != 4 || len(doc.Sessions) != 1 || len(doc.Usage) != 4 ||
		len(doc.Cameras) != 1 || doc.Cameras[0].CameraID != "a" || doc.Cameras[0].Homography[8] != 1.5 || !doc.SecondFactor.Set || !doc.Complete || doc.Usage[0].Calls != 5 {
		t.Errorf("exported %+v", doc)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append(values, "second factor", "c2Vjb25kIGZhY3Rvcg") {
		if strings.Contains(string(text), secret) {
			t.Errorf("the export holds %q", secret)
		}
	}
	if _, err := s.Export(t.Context(), uuid.NewString()); !isErr(err, account.ErrNoDeveloper) {
		t.Errorf("of nobody: %v", err)
	}
}
