package devdb

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestDataStaysBetweenRuns(t *testing.T) {
	o := Options{Dir: dir(t), Fsync: true, Getenv: private}
	db := run(t, o)
	if db.Given() || db.Pid() == 0 || !strings.HasPrefix(db.Kind(), "postgresql ") {
		t.Errorf("Given %v, Pid %d, Kind %q: not a private PostgreSQL", db.Given(), db.Pid(), db.Kind())
	}
	for range 2 { // the second time it is there already
		if err := db.CreateDatabase(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
	}
	query(t, db, "shop", "CREATE TABLE kept AS SELECT 42 AS n")
	if got := query(t, db, "shop", "SHOW default_transaction_isolation"); got != "serializable" {
		t.Errorf("isolation is %q", got)
	}
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Errorf("a second user of the directory: err = %v", err)
	}
	pid := db.Pid()
	db.Stop()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Error("the server runs on after Stop")
	}

	db = run(t, o)
	if got := query(t, db, "shop", "SELECT n FROM kept"); got != "42" {
		t.Errorf("after another start n = %q", got)
	}
	if err := db.DropDatabase(t.Context(), "shop"); err != nil {
		t.Error(err)
	}
	if err := db.CreateDatabase(t.Context(), `x"; DROP`); err == nil {
		t.Error("a name with a quote was taken")
	}
}

func TestRestartAfterACrash(t *testing.T) {
	db := run(t, Options{Dir: dir(t), Fsync: true, Getenv: private})
	query(t, db, "", "CREATE TABLE kept AS SELECT 42 AS n")
	address := db.URL("")
	if err := syscall.Kill(db.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-db.Process().Done()
	// Its children need a moment to notice, and hold the shared memory until then.
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = db.Restart(t.Context()); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if db.URL("") != address {
		t.Errorf("the address changed from %s to %s", address, db.URL(""))
	}
	if got := query(t, db, "", "SELECT n FROM kept"); got != "42" {
		t.Errorf("n = %q", got)
	}
}

func TestAStalePidFileIsNoObstacle(t *testing.T) {
	o := Options{Dir: dir(t), Getenv: private}
	run(t, o).Stop()
	// Our own number: a process that lives and is no PostgreSQL.
	stale := fmt.Sprintf("%d\n%s\n", os.Getpid(), filepath.Join(o.Dir, "postgres"))
	if err := os.WriteFile(filepath.Join(o.Dir, "postgres", "postmaster.pid"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, o)
}

// TestTheServerDiesWithItsProgram runs this test binary again as the program, kills it, and starts on what it left.
func TestTheServerDiesWithItsProgram(t *testing.T) {
	if home := os.Getenv("DEVDB_TEST_HOME"); home != "" {
		db, err := Start(t.Context(), Options{Dir: home, Fsync: true, Getenv: private})
		if err != nil {
			t.Fatal(err)
		}
		query(t, db, "", "CREATE TABLE kept AS SELECT 42 AS n")
		fmt.Fprintln(os.Stderr, db.Pid())
		select {}
	}
	home := dir(t)
	program := exec.Command(os.Args[0], "-test.run=^TestTheServerDiesWithItsProgram$")
	program.Env = append(os.Environ(), "DEVDB_TEST_HOME="+home)
	stderr, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(stderr, &pid); err != nil {
		t.Fatal(err)
	}
	_ = program.Process.Kill()
	_ = program.Wait()

	db := run(t, Options{Dir: home, Fsync: true, Getenv: private}) // while the old server may still be on its way out
	if got := query(t, db, "", "SELECT n FROM kept"); got != "42" {
		t.Errorf("n = %q", got)
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(text), home) {
		t.Errorf("the server %d outlived its program", pid)
	}
}

func TestDataOfAnotherMajorVersionIsLeftAlone(t *testing.T) {
	o := Options{Dir: dir(t), Getenv: private}
	run(t, o).Stop()
	if err := os.WriteFile(filepath.Join(o.Dir, "postgres", "PG_VERSION"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "belongs to PostgreSQL 99") || !strings.Contains(err.Error(), "PG_BINDIR") {
		t.Errorf("err = %v", err)
	}
}

func TestALongPathGetsAShortSocket(t *testing.T) {
	o := Options{Dir: filepath.Join(dir(t), strings.Repeat("long", 30)), Getenv: private}
	db := run(t, o)
	u, err := url.Parse(db.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	socket := u.Query().Get("host")
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket directory %s: %v %v", socket, info.Mode(), err)
	}
	db.Stop()
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("%s is still there after Stop: %v", socket, err)
	}
}

func TestADirectoryThatOnlyRootMayEnter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs PostgreSQL as another user")
	}
	closed := dir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(closed, "db")
	away, err := elsewhere(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(away) })
	db := run(t, Options{Dir: home, Getenv: private})
	if got := query(t, db, "", "SHOW data_directory"); got != filepath.Join(away, "postgres") {
		t.Errorf("data is in %s", got)
	}
}

func TestTheGivenServerIsUsedAndLeftAlone(t *testing.T) {
	private := run(t, Options{Dir: dir(t), Getenv: private})
	getenv := func(name string) string {
		if name == "DATABASE_URL" {
			return private.URL("postgres")
		}
		return ""
	}
	db, err := Start(t.Context(), Options{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	if !db.Given() || db.Pid() != 0 || db.Process() != nil || db.Kind() != private.Kind() {
		t.Errorf("Given %v, Pid %d, Kind %q", db.Given(), db.Pid(), db.Kind())
	}
	if err := db.CreateDatabase(t.Context(), "beside"); err != nil {
		t.Fatal(err)
	}
	if got := query(t, private, "beside", "SELECT current_database()"); got != "beside" {
		t.Errorf("current database %q", got)
	}
	if err := db.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	db.Stop()
	query(t, private, "", "SELECT 1")
}

func TestAGivenServerThatIsNotThere(t *testing.T) {
	for text, want := range map[string]string{
		"mysql://localhost/x":                           "not of the form",
		"postgres://localhost:1/x?connect_timeout=2":    "connect to DATABASE_URL",
		"postgres://u:secret-word@127.0.0.1:1/x?sslm=x": "connect to DATABASE_URL",
	} {
		_, err := Start(t.Context(), Options{Getenv: func(name string) string {
			if name == "DATABASE_URL" {
				return text
			}
			return ""
		}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: err = %v, want %q and no password", text, err, want)
		}
	}
}

// private is an environment in which a private PostgreSQL is found and nothing else.
func private(name string) string {
	switch name {
	case "PG_BINDIR", "PATH":
		return os.Getenv(name)
	default:
		return ""
	}
}

// dir is a temporary directory that an unprivileged server can enter.
func dir(t *testing.T) string {
	t.Helper()
	base := ""
	if os.Geteuid() == 0 {
		base = "/tmp"
	}
	path, err := os.MkdirTemp(base, "devdb-test-") //nolint:usetesting // only root may enter what TempDir makes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, o Options) *DB {
	t.Helper()
	db, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Stop)
	return db
}

// query runs a statement and returns the first value, or nothing.
func query(t *testing.T, db *DB, database, sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, db.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return ""
	}
	return string(results[0].Rows[0][0])
}
