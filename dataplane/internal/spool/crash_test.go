package spool_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
)

// A real process is killed while it appends. Every record that Append returned for is counted exactly once.
func TestKilledProcessLosesNothing(t *testing.T) {
	if dir := os.Getenv("SPOOL_TEST_CHILD"); dir != "" {
		appendUntilKilled(t, dir)
		return
	}
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	said := map[string]bool{}
	for life := range 12 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcessLosesNothing$")
		child.Env = append(os.Environ(), "SPOOL_TEST_CHILD="+dir, fmt.Sprint("SPOOL_TEST_LIFE=", life))
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if id, ok := strings.CutPrefix(lines.Text(), "appended "); ok {
				said[id] = true
			}
			if n == 200+life*97 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait()
	}
	s := open(t, dir, ingest, options{})
	run(t, s)
	add(t, s, "last")
	eventually(t, "the last record", func() bool { return ingest.counted()["last"] == 1 })
	exactlyOnce(t, ingest)
	counted := ingest.counted()
	for id := range said {
		if counted[id] != 1 {
			t.Errorf("%s was appended and is counted %d times", id, counted[id])
		}
	}
	if len(said) < 1000 {
		t.Errorf("only %d records were appended: the test shows nothing", len(said))
	}
	if lost := s.Stats().Lost; lost != 0 {
		t.Errorf("%d reported lost", lost)
	}
}

func appendUntilKilled(t *testing.T, dir string) {
	ingest := newIngest(t)
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) { return false, 0, errors.New("down") })
	s := open(t, dir, ingest, options{segment: 32 << 10})
	run(t, s)
	for i := range 1_000_000 {
		id := fmt.Sprint(os.Getenv("SPOOL_TEST_LIFE"), "/", i)
		if err := s.Append(record(id)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("appended", id)
	}
	time.Sleep(time.Minute)
}
