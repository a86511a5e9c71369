package stacktest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modelgate.internal/bench/stack"
)

// Start starts a stack and returns it when it is ready.
func Start(t *testing.T) *stack.Stack {
	t.Helper()
	return Run(t, Options(t))
}

// Run starts a stack with options that came from [Options].
func Run(t *testing.T, o stack.Options) *stack.Stack {
	t.Helper()
	report := &output{}
	o.Out = report
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the stack reported:\n%s", report)
			showLogs(t, o.Dir)
		}
	})
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Options are those of a stack of the real programs in a temporary directory. The flags are for building them.
func Options(t *testing.T, flags ...string) stack.Options {
	t.Helper()
	base, err := stack.FreePortBase(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	temporary := ""
	if os.Geteuid() == 0 {
		temporary = "/tmp" // the database runs as another user, who must be able to pass through
	}
	dir, err := os.MkdirTemp(temporary, "stack-") //nolint:usetesting // only root may enter what TempDir makes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	return stack.Options{Dir: filepath.Join(dir, "stack"), Bin: binaries(t, flags), PortBase: base, LogLevel: "info"}
}

// Root is the directory of the workspace.
func Root(t *testing.T) string {
	t.Helper()
	work, err := exec.CommandContext(t.Context(), "go", "env", "GOWORK").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(work)))
}

// programs are those of a stack.
func programs() []string {
	return []string{"./controlplane/cmd/controlplane", "./dataplane/cmd/dataplane", "./bench/cmd/mockmodel", "./bench/cmd/mailbox", "./bench/cmd/stripesim"}
}

// binaries builds the programs and returns their directory.
func binaries(t *testing.T, flags []string) string {
	t.Helper()
	bin, root := t.TempDir(), Root(t)
	if len(flags) == 0 {
		takeOver(t, filepath.Join(root, "bin"), bin)
	}
	args := append([]string{"build", "-o", bin + "/"}, flags...)
	build := exec.CommandContext(t.Context(), "go", append(args, programs()...)...) //nolint:gosec // flags are the tests'
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}
	return bin
}

// takeOver copies the programs that make built, if it did: go build leaves those alone that are up to date, which saves linking.
func takeOver(t *testing.T, from, to string) {
	t.Helper()
	for _, program := range programs() {
		name := filepath.Base(program)
		text, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o700) //nolint:gosec // a program
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

const logTailBytes = 8 << 10

func showLogs(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Log(err)
			continue
		}
		t.Logf("%s:\n%s", filepath.Base(file), text[max(0, len(text)-logTailBytes):])
	}
}

// output collects what the stack says, from any goroutine.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
