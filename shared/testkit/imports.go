package testkit

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Rule says what packages may import. A pattern is an import path; a trailing "/..." takes in everything below, and
// "internal/x" is short for the module's own path followed by it.
type Rule struct {
	Packages []string // the rule is for these
	Ours     []string // what they may import of our modules, besides packages below themselves; nil allows everything
	Never    []string // what they may not import, of anyone's
}

type listed struct {
	ImportPath string
	Imports    []string
	Doc        string
	GoFiles    []string
	Module     struct{ Path string }
}

// Imports fails the test for every import in the module of the working directory that a rule forbids, and for a rule that
// fits no package, so that the table cannot go stale. Test files are not looked at.
func Imports(t *testing.T, rules []Rule) {
	t.Helper()
	pkgs := list(t)
	for _, rule := range rules {
		fits := false
		for _, pkg := range pkgs {
			if matchAny(rule.Packages, pkg.Module.Path, pkg.ImportPath) {
				fits = true
				check(t, rule, pkg)
			}
		}
		if !fits {
			t.Errorf("import table: no package fits %v", rule.Packages)
		}
	}
}

func check(t *testing.T, rule Rule, pkg listed) {
	t.Helper()
	for _, imp := range pkg.Imports {
		ours := strings.HasPrefix(imp, "modelgate.internal/") && !strings.HasPrefix(imp, pkg.ImportPath+"/")
		if ours && rule.Ours != nil && !matchAny(rule.Ours, pkg.Module.Path, imp) {
			t.Errorf("%s imports %s, which the import table does not allow", pkg.ImportPath, imp)
		}
		if matchAny(rule.Never, pkg.Module.Path, imp) {
			t.Errorf("%s imports %s, which the import table forbids", pkg.ImportPath, imp)
		}
	}
}

// PackageDocs fails the test for every package of the module in the working directory that has code and no package
// comment.
func PackageDocs(t *testing.T) {
	t.Helper()
	for _, pkg := range list(t) {
		if len(pkg.GoFiles) > 0 && strings.TrimSpace(pkg.Doc) == "" {
			t.Errorf("%s has no package comment; write a doc.go: purpose, what it does not do, concurrency, failures", pkg.ImportPath)
		}
	}
}

func matchAny(patterns []string, module, pkg string) bool {
	for _, p := range patterns {
		if strings.HasPrefix(p, "internal/") || strings.HasPrefix(p, "cmd/") {
			p = path.Join(module, p)
		}
		if below, ok := strings.CutSuffix(p, "/..."); ok {
			if pkg == below || strings.HasPrefix(pkg, below+"/") {
				return true
			}
		} else if pkg == p {
			return true
		}
	}
	return false
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Doc,GoFiles,Module", "./...")
	cmd.Dir = moduleRoot(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	var pkgs []listed
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("list packages: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatal("list packages: there are none")
	}
	return pkgs
}

// moduleRoot is the directory of the go.mod that the working directory belongs to.
func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}
