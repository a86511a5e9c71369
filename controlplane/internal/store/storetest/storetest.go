package storetest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/shared/testkit"
)

// Database returns the address of a new database with the schema up to date, which ends with the test.
func Database(t testing.TB) string {
	t.Helper()
	return testkit.DatabaseWith(t, "schema", func(ctx context.Context, url string) error {
		s, err := store.Open(ctx, url, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer s.Close()
		return s.Migrate(ctx)
	})
}

// openTries is patience with a busy machine, on which a connection can take longer than the store would wait for it.
const openTries = 20

// Open returns a store on the database at url with the schema up to date. It is closed at the end of the test.
func Open(t testing.TB, url string) *store.Store {
	t.Helper()
	for try := 1; ; try++ {
		s, err := store.Open(t.Context(), url, slog.New(slog.DiscardHandler))
		if err == nil {
			if err = s.Migrate(t.Context()); err == nil {
				t.Cleanup(s.Close)
				return s
			}
			s.Close()
		}
		if try == openTries {
			t.Fatal(err)
		}
		time.Sleep(250 * time.Millisecond)
	}
}
