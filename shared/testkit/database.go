package testkit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/devdb"
)

// databaseWait bounds creating or dropping a test's database.
const databaseWait = 60 * time.Second

// Database returns the address of a new, empty database that is dropped at the end of the test. The server starts with
// the first call, serves all tests of this package's process and ends with it; DATABASE_URL names another one. Without
// any database the test fails and says what to install.
//
// Close pools that you open on it in a Cleanup or earlier. It may be called from parallel tests.
func Database(t testing.TB) string {
	t.Helper()
	c, err := theCluster()
	if err != nil {
		t.Fatalf("start a database for tests: %v", err)
	}
	// The text of rand is base32, which PostgreSQL folds to lower case when it is not quoted.
	name := "test_" + strings.ToLower(rand.Text())
	if err := c.db.CreateDatabase(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), databaseWait)
		defer cancel()
		if err := c.db.DropDatabase(ctx, name); err != nil {
			t.Error(err)
		}
	})
	return c.db.URL(name)
}

// cluster is the database server of one test process.
type cluster struct {
	db    *devdb.DB
	alive *os.File // closed by the kernel when this process ends, however it ends
}

// theCluster is shared by a whole process, because starting a server takes a second and because the testing package tells
// nobody but TestMain when the last test is over.
var theCluster = sync.OnceValues(startCluster)

// startCluster starts a server in a temporary directory. The kernel ends the server with this process; a shell that waits for
// the other end of a pipe then removes the directory.
func startCluster() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), databaseWait)
	defer cancel()
	if os.Getenv("DATABASE_URL") != "" {
		db, err := devdb.Start(ctx, devdb.Options{})
		return &cluster{db: db}, err
	}
	base := ""
	if os.Geteuid() == 0 {
		base = "/tmp" // PostgreSQL runs as nobody then, who may not enter a private TMPDIR
	}
	dir, err := os.MkdirTemp(base, "modelgate-test-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	alive, err := removeAfterwards(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the user that runs PostgreSQL passes through
		return nil, fmt.Errorf("open the directory to the server: %w", err)
	}
	db, err := devdb.Start(ctx, devdb.Options{Dir: dir})
	if err != nil {
		_ = alive.Close()
		return nil, err
	}
	return &cluster{db: db, alive: alive}, nil
}

// removeAfterwards starts a shell that removes dir as soon as the returned file is closed. It tries for ten seconds,
// because the server may still be writing its last.
func removeAfterwards(dir string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = r.Close() }()
	const script = `read _; for i in $(seq 100); do rm -rf "$1" 2>/dev/null; test -e "$1" || exit 0; sleep 0.1; done`
	//nolint:gosec,noctx // a fixed script, meant to outlive this process
	cmd := exec.Command("sh", "-c", script, "sh", dir)
	cmd.Dir, cmd.Stdin = "/", r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for the tests
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a shell: %w", err), w.Close())
	}
	return w, nil
}
