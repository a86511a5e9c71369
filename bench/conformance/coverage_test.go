package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	spec "modelgate.internal/shared/api"
)

// TestEveryOperationHasATest prints, for each operation of the contract that is built, which of its answers are transcripts of the
// plane that serves it, and whether the run against the whole system calls it by name. `go test -run EveryOperation -v` shows
// the table. An operation that only the loop over all of them calls has no test of its own and fails, as does one that wants a credential
// and has no transcript of a refusal.
func TestEveryOperationHasATest(t *testing.T) {
	operations, err := spec.Operations()
	if err != nil {
		t.Fatal(err)
	}
	transcripts, named := requests(t), sources(t, "*_test.go")
	elsewhere := sources(t, "../../dataplane/internal/gateway/services_life_test.go") // answers that depend on time, on raw connections
	for _, op := range operations {
		if op.Planned {
			continue
		}
		var files []string
		pattern := pathPattern(op)
		for file, lines := range transcripts {
			if pattern.MatchString(lines) {
				files = append(files, file)
			}
		}
		slices.Sort(files)
		inRun := strings.Contains(named, `"`+op.ID+`"`)
		run := "-"
		if inRun {
			run = "conformance"
		}
		t.Logf("%-28s %-11s %3d transcripts: %s", op.ID, run, len(files), strings.Join(files, " "))
		if !inRun {
			t.Errorf("%s is not called by name in the run against the system", op.ID)
		}
		if len(files) == 0 && !strings.Contains(elsewhere, op.Path+" HTTP") {
			t.Errorf("%s %s has no transcript", op.Method, op.Path)
		}
		refused := func(file string) bool { return strings.ContainsAny(filepath.Base(file)[:1], "45") }
		if len(op.Security) > 0 && !slices.ContainsFunc(files, refused) {
			t.Errorf("%s %s has no transcript of a refusal", op.Method, op.Path)
		}
	}
}

// pathPattern matches the line of a request for an operation. A literal path wins over a parameter in a mux; here a
// parameter matches anything, so a neighbour's transcript may be listed as well.
func pathPattern(op spec.Operation) *regexp.Regexp {
	path := regexp.MustCompile(`\\\{\w+_path\\\}`).ReplaceAllString(regexp.QuoteMeta(op.Path), `[^ ?]+`)
	path = regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(path, `[^/ ?]+`)
	return regexp.MustCompile(`(?m)^` + op.Method + ` ` + path + `(\?\S*)? HTTP`)
}

// requestLine is the first line of a request.
var requestLine = regexp.MustCompile(`(?m)^[A-Z]+ \S+ HTTP`)

// requests are the lines of the requests of all transcripts, which hold one or the steps up to it, by the name of the file.
func requests(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"../../controlplane/internal/server/testdata/*/*.txt", "../../dataplane/internal/gateway/testdata/*.txt", "../../dataplane/internal/gateway/testdata/*/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no transcripts at %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.Base(filepath.Dir(file))+"/"+strings.TrimSuffix(filepath.Base(file), ".txt")] = strings.Join(requestLine.FindAllString(string(text), -1), "\n")
		}
	}
	return found
}

// sources are the texts of tests.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests at %s: %v", pattern, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
