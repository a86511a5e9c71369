package devdb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOrder sets up every kind of installation as a script that states a version, and takes the preferred ones away
// one after the other.
func TestOrder(t *testing.T) {
	root := t.TempDir()
	crdb := program(t, filepath.Join(root, "crdb"), "cockroach", "")
	named := postgresql(t, filepath.Join(root, "named"), "16.1")
	onPath := postgresql(t, filepath.Join(root, "real", "bin"), "17beta2 (Debian 17~beta2-1)")
	links := filepath.Join(root, "links")
	mkdir(t, links)
	if err := os.Symlink(filepath.Join(onPath, "initdb"), filepath.Join(links, "initdb")); err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(root, "packages")
	for _, v := range []string{"9.6", "14", "15", "16"} {
		postgresql(t, filepath.Join(packages, v, "bin"), v+".3 (Debian)")
	}
	portal := filepath.Join(root, "portal")
	fromNpm := postgresql(t, filepath.Join(portal, "node_modules", npmPackage+npmArch(), "native", "bin"), "18.4")

	env := map[string]string{
		"COCKROACH_BINARY": filepath.Join(crdb, "cockroach"), "PG_BINDIR": named,
		"PATH": links + ":" + crdb,
	}
	o := Options{Dir: dir(t), Portal: portal, packages: packages, Getenv: func(name string) string { return env[name] }}

	for _, step := range []string{"COCKROACH_BINARY", "cockroach on PATH"} {
		s, err := choose(o)
		if _, ok := s.(*cockroach); !ok || err != nil {
			t.Errorf("with %s: %T, %v", step, s, err)
		}
		delete(env, "COCKROACH_BINARY")
	}
	env["PATH"] = links
	want := []installation{
		{named, 16},
		{onPath, 17},
		{filepath.Join(packages, "16", "bin"), 16},
		{filepath.Join(packages, "15", "bin"), 15},
		{fromNpm, 18},
	}
	if got, err := installations(o); err != nil || !slices.Equal(got, want) {
		t.Errorf("installations:\n%v, %v\nwant\n%v", got, err, want)
	}

	env["PG_BINDIR"] = filepath.Join(packages, "14", "bin")
	if _, err := choose(o); err == nil || !strings.Contains(err.Error(), "oldest that is supported") {
		t.Errorf("with an old PG_BINDIR: %v", err)
	}
	env["PG_BINDIR"] = "/does/not/exist"
	if _, err := choose(o); err == nil || !strings.Contains(err.Error(), "PG_BINDIR") {
		t.Errorf("with a wrong PG_BINDIR: %v", err)
	}
	clear(env)
	env["COCKROACH_BINARY"] = "/does/not/exist"
	if _, err := choose(o); err == nil || !strings.Contains(err.Error(), "COCKROACH_BINARY") {
		t.Errorf("with a wrong COCKROACH_BINARY: %v", err)
	}
	clear(env)
	o.Portal, o.packages = root, "/does/not/exist"
	if _, err := choose(o); err == nil || !strings.Contains(err.Error(), "run `"+helpful()+"`") {
		t.Errorf("with nothing: %v", err)
	}
}

func TestLinksOfThePackageFromNpm(t *testing.T) {
	root := t.TempDir()
	lib := filepath.Join(root, "native", "lib")
	mkdir(t, lib)
	write(t, filepath.Join(lib, "libpq.so.5.18"), "library")
	write(t, filepath.Join(root, "native", "pg-symlinks.json"), `[
		{"source": "native/lib/libpq.so.5.18", "target": "native/lib/libpq.so.5"},
		{"source": "native/lib/libpq.so.5.18", "target": "../outside"}]`)
	for range 2 {
		makeLinks(root)
	}
	if text, err := os.ReadFile(filepath.Join(lib, "libpq.so.5")); err != nil || string(text) != "library" {
		t.Errorf("through the link: %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(root), "outside")); err == nil {
		t.Error("a link was made outside of the package")
	}
}

func TestCockroachKeepsItsAddress(t *testing.T) {
	c := newCockroach(Options{Dir: "/data", Fsync: true}, "/bin/cockroach")
	var address string
	for range 2 {
		if err := c.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if address != "" && address != c.url("shop") {
			t.Errorf("moved from %s to %s", address, c.url("shop"))
		}
		address = c.url("shop")
	}
	want := fmt.Sprintf("/bin/cockroach start-single-node --insecure --store=path=/data/cockroach --listen-addr=127.0.0.1:%d --http-addr=127.0.0.1:0", c.port)
	if got := strings.Join(c.command().Args, " "); got != want {
		t.Errorf("command\n%s\nwant\n%s", got, want)
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]string{
		"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu": "postgresql 15.18",
		"CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/04)":  "cockroachdb v25.2.1",
		"Other": "other",
	} {
		if got := kindOf(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func postgresql(t *testing.T, bin, version string) string {
	t.Helper()
	program(t, bin, "initdb", "")
	return program(t, bin, "postgres", "echo 'postgres (PostgreSQL) "+version+"'")
}

// program writes a script and returns its directory.
func program(t *testing.T, bin, name, script string) string {
	t.Helper()
	mkdir(t, bin)
	write(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n")
	return bin
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
