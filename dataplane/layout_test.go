package dataplane_test

import (
	"testing"

	"modelgate.internal/shared/testkit"
)

func TestImportTable(t *testing.T) {
	const shared = "modelgate.internal/shared/..."
	testkit.Imports(t, []testkit.Rule{
		// What judges and counts a call knows neither the server nor the network.
		{
			Packages: []string{
				"internal/call", "internal/auth", "internal/limit", "internal/route", "internal/result", "internal/scan", "internal/openai",
				"internal/meter",
			},
			Ours: []string{
				shared, "internal/call", "internal/limit", "internal/quota/client", "internal/quota/ledger", "internal/upstream", "internal/spool",
			},
			Never: []string{"github.com/valyala/fasthttp", "net/http"},
		},
		// Handlers know no HTTP.
		{
			Packages: []string{"internal/api"},
			Ours: []string{
				shared, "internal/call", "internal/route", "internal/result", "internal/scan", "internal/openai", "internal/upstream",
				"internal/pool", "internal/research", "internal/languages", "internal/recording",
			},
			Never: []string{"github.com/valyala/fasthttp", "net/http"},
		},
		{Packages: []string{"internal/research"}, Ours: []string{"internal/upstream", "internal/languages"}, Never: []string{"net/http"}},
		{Packages: []string{"internal/languages"}, Ours: []string{}},
		{Packages: []string{"internal/recording"}, Ours: []string{shared}, Never: []string{"github.com/valyala/fasthttp", "net/http"}},
		// Upstreams know nothing of who asks.
		{
			Packages: []string{"internal/upstream/..."},
			Ours:     []string{shared, "internal/call", "internal/upstream/..."},
			Never:    []string{"github.com/valyala/fasthttp"},
		},
		{
			Packages: []string{"internal/pool"},
			Ours:     []string{shared, "internal/call", "internal/upstream/..."},
			Never:    []string{"github.com/valyala/fasthttp"},
		},
		// net/http is for the control plane's link, the private listener and tests; callers are served without it.
		{Packages: []string{"internal/listener", "internal/encode", "internal/gateway"}, Never: []string{"net/http"}},
		// The connection knows no calls but their end, and no routes.
		{Packages: []string{"internal/listener"}, Ours: []string{shared, "internal/call"}},
		{Packages: []string{"internal/encode"}, Ours: []string{shared, "internal/call"}},
	})
}

func TestPackageDocs(t *testing.T) { testkit.PackageDocs(t) }
