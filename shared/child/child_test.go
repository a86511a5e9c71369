package child_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/child"
)

func TestStopTakesTheStepsInTurn(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         syscall.Signal
	}{
		{"obeys", "echo up; exec sleep 60", syscall.SIGTERM},
		{"deaf to the first signal", "trap '' TERM; echo up; exec sleep 60", syscall.SIGQUIT},
		{"deaf to all", "trap '' TERM QUIT; echo up; while :; do sleep 60; done", syscall.SIGKILL},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, c.script)
			p.Stop(child.Step{Signal: syscall.SIGTERM, Wait: 200 * time.Millisecond},
				child.Step{Signal: syscall.SIGQUIT, Wait: 200 * time.Millisecond})
			if c.name == "obeys" && p.Running() {
				t.Fatal("still running after Stop")
			}
			var exit *exec.ExitError
			if !errors.As(p.Err(), &exit) {
				t.Fatalf("Err() = %v, want an exit error", p.Err())
			}
			if got := exit.Sys().(syscall.WaitStatus).Signal(); got != c.want {
				t.Errorf("ended by %s, want %s", got, c.want)
			}
			p.Stop() // a second time must return
		})
	}
}

func TestTheGroupGoesWithTheChild(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $!; exit 3")
	cmd.Stdout = w
	p, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if p.Err() == nil {
		t.Error("exit status 3 was reported as success")
	}
	var out bytes.Buffer
	_, _ = out.ReadFrom(r) // ends when the grandchild, which holds the pipe, is gone
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the grandchild to be gone", func() bool { return !alive(pid) })
}

func TestStartReportsAMissingProgram(t *testing.T) {
	if _, err := child.Start(exec.Command("/does/not/exist"), syscall.SIGKILL); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v, want not exist", err)
	}
}

// TestChildrenDieWithTheirParent runs this test binary again as the parent, kills it the hard way and looks for its child.
func TestChildrenDieWithTheirParent(t *testing.T) {
	if os.Getenv("CHILD_TEST_PARENT") != "" {
		p, err := child.Start(exec.Command("sleep", "60"), syscall.SIGKILL)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stderr, p.Pid())
		select {}
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestChildrenDieWithTheirParent$")
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	stderr, err := parent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(stderr, &pid); err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatal("the child is not running")
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	await(t, "the child to be gone", func() bool { return !alive(pid) })
}

// start runs a shell script that says "up" once its traps are set.
func start(t *testing.T, script string) *child.Process {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	p, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(); _ = r.Close() })
	_ = w.Close()
	if _, err := r.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	return p
}

// alive reports whether a process exists and is more than an entry that waits to be reaped.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

func TestALockHasOneHolder(t *testing.T) {
	path := t.TempDir() + "/lock"
	lock, err := child.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	var held *child.HeldError
	if _, err := child.Lock(path); !errors.As(err, &held) || held.Pid != strconv.Itoa(os.Getpid()) {
		t.Errorf("err = %v, want held by us", err)
	}
	_ = lock.Close()
	lock, err = child.Lock(path)
	if err != nil {
		t.Errorf("after release: %v", err)
	}
	_ = lock.Close()
}
