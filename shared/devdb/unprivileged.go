package devdb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// nobody is the user and group that owns nothing, by Linux's convention.
const nobody = 65534

// unprivileged is whom to run PostgreSQL as, which refuses to run as root. Nil when we are somebody else already.
func unprivileged() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: nobody, Gid: nobody}
}

// own gives a directory to the user that runs the server.
func (p *postgres) own(dir string) error {
	if p.as == nil {
		return nil
	}
	if err := os.Chown(dir, int(p.as.Uid), int(p.as.Gid)); err != nil {
		return fmt.Errorf("give %s to the user that runs PostgreSQL: %w", dir, err)
	}
	return nil
}

// enterable keeps the installations that an unprivileged user can run.
func enterable(found []installation, as *syscall.Credential) ([]installation, error) {
	var open []installation
	closed := ""
	for _, i := range found {
		if c := closedTo(i.bin, as); c != "" {
			closed = c
			continue
		}
		open = append(open, i)
	}
	if len(open) == 0 {
		return nil, fmt.Errorf("PostgreSQL in %s is of no use: it does not run as root, and only root may enter %s; "+
			"run `apt-get install -y postgresql`, or work as another user", found[0].bin, closed)
	}
	return open, nil
}

// closedTo is the first directory on the way to dir, or dir itself, that somebody may not enter; empty when the way is free.
func closedTo(dir string, as *syscall.Credential) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	closed := ""
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return dir
		}
		mode, stat := info.Mode().Perm(), info.Sys().(*syscall.Stat_t)
		may := mode & 0o001
		switch {
		case stat.Uid == as.Uid:
			may = mode & 0o100
		case stat.Gid == as.Gid:
			may = mode & 0o010
		}
		if may == 0 {
			closed = dir
		}
		if dir == filepath.Dir(dir) {
			return closed
		}
		dir = filepath.Dir(dir)
	}
}

// elsewhere is a directory of root's that anybody may pass through, one per Options.Dir.
func elsewhere(dir string) (string, error) {
	sum := sha256.Sum256([]byte(dir))
	home := filepath.Join("/var/tmp", "modelgate-"+hex.EncodeToString(sum[:6]))
	if err := os.Mkdir(home, 0o711); err != nil && !os.IsExist(err) { //nolint:gosec // others pass, they see nothing
		return "", fmt.Errorf("make a directory for the database: %w", err)
	}
	info, err := os.Lstat(home)
	if err != nil {
		return "", fmt.Errorf("look at the directory for the database: %w", err)
	}
	// Names below /var/tmp are anybody's to take.
	if !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s belongs to somebody else: remove it", home)
	}
	return home, nil
}
