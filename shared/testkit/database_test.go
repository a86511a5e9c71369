package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"modelgate.internal/shared/testkit"
)

func TestEveryTestGetsADatabaseOfItsOwn(t *testing.T) {
	const tests = 8
	var mu sync.Mutex
	seen := map[string]bool{}
	for i := range tests {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			address := testkit.Database(t)
			execute(t, address, "CREATE TABLE mine (n INT)") // fails when it is not empty
			mu.Lock()
			defer mu.Unlock()
			if seen[address] {
				t.Errorf("%s was given out twice", address)
			}
			seen[address] = true
		})
	}
}

func TestEveryTestGetsACopyOfItsOwn(t *testing.T) {
	var fills atomic.Int32
	fill := func(ctx context.Context, url string) error {
		fills.Add(1)
		conn, err := pgconn.Connect(ctx, url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE TABLE filled (n INT)").ReadAll()
		return errors.Join(err, conn.Close(ctx))
	}
	t.Run("all", func(t *testing.T) {
		for i := range 4 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				address := testkit.DatabaseWith(t, "filled", fill)
				execute(t, address, "INSERT INTO filled VALUES (1)") // fails when it is empty
				execute(t, address, "CREATE TABLE mine (n INT)")     // fails when another test was here
			})
		}
	})
	if n := fills.Load(); n != 1 && os.Getenv("DATABASE_URL") == "" && os.Getenv("COCKROACH_BINARY") == "" {
		t.Errorf("filled %d times", n)
	}
}

func TestADatabaseEndsWithItsTest(t *testing.T) {
	var address string
	t.Run("test", func(t *testing.T) {
		address = testkit.Database(t)
		execute(t, address, "SELECT 1")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, address)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "CREATE TABLE mine (n INT)").ReadAll(); err == nil { // CockroachDB lets in whoever names no database
		t.Error("the database is still there")
	}
}

// TestTheServerEndsWithItsProcess runs this test binary again and looks for what it leaves.
func TestTheServerEndsWithItsProcess(t *testing.T) {
	if os.Getenv("DATABASE_URL") != "" {
		t.Skip("DATABASE_URL names the server")
	}
	if os.Getenv("TESTKIT_TEST_INNER") != "" {
		execute(t, testkit.Database(t), "SELECT 1")
		dir, pid, err := testkit.Server()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stderr, dir, pid)
		os.Exit(0) // no cleanup runs
	}
	inner := exec.Command(os.Args[0], "-test.run=^TestTheServerEndsWithItsProcess$")
	inner.Env = append(os.Environ(), "TESTKIT_TEST_INNER=1")
	out, err := inner.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir, pid, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if !found {
		t.Fatalf("no process in %q", out)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, dirErr := os.Stat(dir)
		_, pidErr := os.Stat("/proc/" + pid)
		if os.IsNotExist(dirErr) && os.IsNotExist(pidErr) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("directory %s: %v, process %s: %v", dir, dirErr, pid, pidErr)
		}
	}
}

func execute(t *testing.T, address, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}
