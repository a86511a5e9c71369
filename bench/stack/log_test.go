package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALogStaysBelowItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // as a process holds it
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	for _, step := range []struct{ write, now, aside string }{
		{"1234", "1234", ""},
		{"56789", "", "123456789"},
		{"new", "new", "123456789"},
		{"er and newer", "", "newer and newer"},
	} {
		if _, err := log.WriteString(step.write); err != nil {
			t.Fatal(err)
		}
		if err := boundLog(path, 8); err != nil {
			t.Fatal(err)
		}
		now, _ := os.ReadFile(path)
		aside, _ := os.ReadFile(path + ".1")
		if string(now) != step.now || string(aside) != step.aside {
			t.Errorf("after %q: log %q, aside %q; want %q, %q", step.write, now, aside, step.now, step.aside)
		}
	}
	if err := boundLog(filepath.Join(t.TempDir(), "none"), 8); err != nil {
		t.Errorf("a log that is not there: %v", err)
	}
}

func TestTailOfALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("old\n", 10000)+strings.Repeat("last\n", tailLines)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := tail(path), strings.TrimRight(strings.Repeat("  last\n", tailLines), "\n"); got != want {
		t.Errorf("tail:\n%s\nwant\n%s", got, want)
	}
}
