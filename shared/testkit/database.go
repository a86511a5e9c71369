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
	name := newName()
	if err := c.db.CreateDatabase(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return c.lend(t, name)
}

// DatabaseWith is [Database] with what fill puts in, a schema most of all. On a private PostgreSQL fill runs once in this
// process for all callers with the same kind, and each gets a copy; it must leave no connection open. CockroachDB copies no
// databases, so one is filled for as many callers as there are at a time, and is emptied for the next one.
func DatabaseWith(t testing.TB, kind string, fill func(ctx context.Context, url string) error) string {
	t.Helper()
	c, err := theCluster()
	if err != nil {
		t.Fatalf("start a database for tests: %v", err)
	}
	if c.db.Cockroach() {
		return c.reuse(t, kind, fill)
	}
	if c.db.Given() { // what is kept there for other tests would stay
		url := Database(t)
		if err := fill(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		return url
	}
	template, err := c.template(kind, fill)
	if err != nil {
		t.Fatal(err)
	}
	name := newName()
	if err := c.db.CopyDatabase(t.Context(), name, template); err != nil {
		t.Fatal(err)
	}
	return c.lend(t, name)
}

// newName is for a database. The text of rand is base32, which PostgreSQL folds to lower case when it is not quoted.
func newName() string { return "test_" + strings.ToLower(rand.Text()) }

// cluster is the database server of one test process.
type cluster struct {
	db    *devdb.DB
	dir   string   // of a private server
	alive *os.File // closed by the kernel when this process ends, however it ends

	mu     sync.Mutex
	filled map[string]string  // names of the databases that are copied, by kind
	idle   map[string][]*used // databases that are as they were filled, by kind
}

// lend returns the address of a database, which ends with the test.
func (c *cluster) lend(t testing.TB, name string) string {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), databaseWait)
		defer cancel()
		if err := c.db.DropDatabase(ctx, name); err != nil {
			t.Error(err)
		}
	})
	return c.db.URL(name)
}

// template returns the name of the database of a kind, which the first caller fills.
func (c *cluster) template(kind string, fill func(ctx context.Context, url string) error) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name, ok := c.filled[kind]; ok {
		return name, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseWait)
	defer cancel()
	name := newName()
	if err := c.db.CreateDatabase(ctx, name); err != nil {
		return "", err
	}
	if err := fill(ctx, c.db.URL(name)); err != nil {
		return "", fmt.Errorf("fill a database for tests: %w", err)
	}
	c.filled[kind] = name
	return name, nil
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
		return &cluster{db: db, filled: map[string]string{}, idle: map[string][]*used{}}, err
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
	return &cluster{db: db, dir: dir, alive: alive, filled: map[string]string{}, idle: map[string][]*used{}}, nil
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
