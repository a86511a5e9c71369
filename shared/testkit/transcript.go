package testkit

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update is a flag of the test binary: `go test -update` writes the answers it gets instead of comparing them.
var update = flag.Bool("update", false, "rewrite transcripts with the answers got")

// separator stands between the request and the answer in a transcript.
const separator = "\n---\n"

// Transcripts runs every *.txt file of dir as a subtest. A file holds a request, a line "---" and the exact answer;
// exchange sends the one and returns the other, with whatever changes from run to run (ids, times) made constant. Files
// are named <status>-<what>.txt, and an answer whose first line does not name that status fails. An empty directory fails.
func Transcripts(t *testing.T, dir string, exchange func(t *testing.T, request []byte) (answer []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in %s (%v)", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { transcript(t, file, exchange) })
	}
}

func transcript(t *testing.T, file string, exchange func(t *testing.T, request []byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	request, want, ok := bytes.Cut(text, []byte(separator))
	if !ok && !*update {
		t.Fatalf("%s has no line \"---\" after the request; run with -update to record the answer", file)
	}
	got := exchange(t, bytes.TrimSuffix(request, []byte("\n---")))
	status, _, _ := strings.Cut(filepath.Base(file), "-")
	if firstLine, _, _ := strings.Cut(string(got), "\n"); !strings.Contains(firstLine, status) {
		t.Errorf("%s: the answer is %q", file, firstLine)
	}
	if *update {
		out := append(append(append([]byte{}, request...), separator...), got...)
		if err := os.WriteFile(file, out, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", file, got, want)
	}
}
