package testkit

import "testing"

func TestPatterns(t *testing.T) {
	const module = "modelgate.internal/dataplane"
	tests := []struct {
		pattern, pkg string
		want         bool
	}{
		{"internal/auth", module + "/internal/auth", true},
		{"internal/auth", module + "/internal/auth/x", false},
		{"internal/...", module + "/internal/auth/x", true},
		{"net/http", "net/http", true},
		{"net/http", "net/http/pprof", false},
		{"net/http/...", "net/http/pprof", true},
		{"modelgate.internal/shared/...", "modelgate.internal/sharedother", false},
	}
	for _, tt := range tests {
		if got := matchAny([]string{tt.pattern}, module, tt.pkg); got != tt.want {
			t.Errorf("%s on %s: %v", tt.pattern, tt.pkg, got)
		}
	}
}

func TestImportTable(t *testing.T) {
	Imports(t, []Rule{
		{Packages: []string{"modelgate.internal/shared/..."}, Ours: []string{"modelgate.internal/shared/..."}},
		{
			Packages: []string{
				"modelgate.internal/shared/apierr", "modelgate.internal/shared/bind", "modelgate.internal/shared/key",
				"modelgate.internal/shared/plane", "modelgate.internal/shared/sse", "modelgate.internal/shared/wire",
			},
			Never: []string{"net", "net/http/...", "log/slog", "log", "os", "github.com/prometheus/..."},
		},
	})
}

func TestPackageDocs(t *testing.T) { PackageDocs(t) }
