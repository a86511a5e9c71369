package controlplane_test

import (
	"testing"

	"modelgate.internal/shared/testkit"
)

// The table says who may know whom. Domain packages state what they need of storage; store fulfils it and is the only
// one that knows the database. HTTP stays at the edge.
func TestImportTable(t *testing.T) {
	shared := "modelgate.internal/shared/..."
	database := []string{"github.com/jackc/pgx/...", "github.com/cockroachdb/...", "github.com/pressly/...", "database/sql"}
	edge := []string{"internal/api/...", "internal/server/...", "internal/nodeapi/...", "internal/store/..."}
	testkit.Imports(t, []testkit.Rule{
		{Packages: []string{"internal/plan", "internal/secret"}, Ours: []string{shared}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/account"}, Ours: []string{shared, "internal/plan", "internal/mail", "internal/secret", "internal/google"}, Never: append(append(database, edge...), "net/http")},
		{Packages: []string{"internal/mail"}, Ours: []string{shared, "internal/secret"}, Never: append(append(database, edge...), "net/http")},
		{Packages: []string{"internal/google"}, Ours: []string{shared}, Never: append(append(database, edge...), "log/slog")},
		{Packages: []string{"internal/app"}, Ours: []string{shared, "internal/org", "internal/plan", "internal/secret"}, Never: append(append(database, edge...), "net/http")},
		{Packages: []string{"internal/org"}, Ours: []string{shared, "internal/account", "internal/mail", "internal/plan"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/audit"}, Ours: []string{shared}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/playground"}, Ours: []string{shared, "internal/homography"}, Never: append(append(database, edge...), "log/slog")},
		{Packages: []string{"internal/homography"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/rewrap"}, Ours: []string{shared, "internal/secret"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/replay"}, Ours: []string{shared, "internal/secret"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/export"}, Ours: []string{shared, "internal/account", "internal/app"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/billing"}, Ours: []string{shared, "internal/plan"}, Never: append(database, edge...)},
		{Packages: []string{"internal/alert"}, Ours: []string{shared, "internal/mail", "internal/secret"}, Never: append(database, edge...)},
		{Packages: []string{"internal/catalog"}, Ours: []string{shared, "internal/plan"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/demo"}, Ours: []string{shared, "internal/plan"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/counter"}, Ours: []string{shared}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/publish", "internal/node"}, Ours: []string{shared}, Never: append(append(database, edge...), "net/http")},
		{Packages: []string{"internal/ingest", "internal/ledger"}, Ours: []string{shared, "internal/ingest", "internal/sketch"}, Never: append(append(database, edge...), "net/http")},
		{Packages: []string{"internal/sketch"}, Never: append(append(database, edge...), "net/http", "log/slog")},
		{Packages: []string{"internal/store"}, Never: []string{"net/http", "internal/api", "internal/server", "internal/nodeapi"}},
		{Packages: []string{"internal/api", "internal/server", "internal/nodeapi", "internal/web"}, Never: append(database, "internal/store")},
	})
}

func TestPackageDocs(t *testing.T) { testkit.PackageDocs(t) }
