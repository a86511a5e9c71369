package store

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/devdb"
)

// TestTheDatabaseGoesAndComesBack takes a server of its own, to stop it.
func TestTheDatabaseGoesAndComesBack(t *testing.T) {
	base := ""
	if os.Geteuid() == 0 {
		base = "/tmp" // PostgreSQL runs as nobody then, who may not enter a private TMPDIR
	}
	dir, err := os.MkdirTemp(base, "modelgate-restart-") //nolint:usetesting // t.TempDir is below TMPDIR
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	none := func(name string) string { // the test needs a server that it may stop
		if name == "DATABASE_URL" {
			return ""
		}
		return os.Getenv(name)
	}
	db, err := devdb.Start(t.Context(), devdb.Options{Dir: dir, Fsync: true, Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Stop)
	if err := db.CreateDatabase(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), db.URL("test"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := developer(t, s, plan.Free)

	db.Halt()
	began := time.Now()
	_, readErr := s.Apps(t.Context(), d.ID)
	writeErr := s.CreateApp(t.Context(), newApp(d))
	for what, err := range map[string]error{"read": readErr, "write": writeErr, "ready": s.Ready(t.Context())} {
		if e := apierr.From(err); e == nil || e.Kind != apierr.Unavailable || e.RetryAfter == 0 {
			t.Errorf("%s while the database is away: %v", what, err)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("saying so took %s", took)
	}

	if err := db.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err = s.CreateApp(t.Context(), newApp(d)); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Errorf("after the database came back: %v", err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("not ready again: %v", err)
	}
}
