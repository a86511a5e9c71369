package devdb

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
)

// npmArch is what npm calls this machine.
func npmArch() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}

// npm is the directory of programs of the PostgreSQL that npm installed, or empty.
func npm(o Options) string {
	portal := o.Portal
	if portal == "" {
		portal = findPortal()
	}
	root, err := filepath.EvalSymlinks(filepath.Join(portal, "node_modules", npmPackage+npmArch()))
	if err != nil {
		return ""
	}
	makeLinks(root)
	return filepath.Join(root, "native", "bin")
}

// makeLinks makes the links of the package's libraries. A package from npm cannot hold links, and the script that would make
// them does not run where install scripts are off. What cannot be made shows when the programs are asked for their version.
func makeLinks(root string) {
	text, err := os.ReadFile(filepath.Join(root, "native", "pg-symlinks.json"))
	if err != nil {
		return
	}
	var links []struct{ Source, Target string }
	if json.Unmarshal(text, &links) != nil {
		return
	}
	for _, link := range links {
		if !filepath.IsLocal(link.Source) || !filepath.IsLocal(link.Target) {
			continue
		}
		to, err := filepath.Rel(filepath.Dir(link.Target), link.Source)
		if err != nil {
			continue
		}
		_ = os.Symlink(to, filepath.Join(root, link.Target)) // there already, as a rule
	}
}

// findPortal is the directory portal beside the nearest go.work above the working directory.
func findPortal() string {
	dir, err := os.Getwd()
	if err != nil {
		return "portal"
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil || dir == filepath.Dir(dir) {
			return filepath.Join(dir, "portal")
		}
	}
}
