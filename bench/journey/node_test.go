package journey

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/bench/stack/stacktest"
)

// npmWait bounds one run of a Node test suite.
const npmWait = 5 * time.Minute

// TestOfficialClient has the openai client from npm talk to the simulator, to show that it speaks the real protocol.
func TestOfficialClient(t *testing.T) {
	simulator := filepath.Join(t.TempDir(), "mockmodel")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", simulator, "./bench/cmd/mockmodel")
	build.Dir = stacktest.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the simulator: %v\n%s", err, out)
	}
	address := freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, simulator, "-listen", address, "-token-delay", "1ms")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	lines := bufio.NewScanner(log)
	if !lines.Scan() { // it says that it is ready
		t.Fatal("the simulator ended at once")
	}
	go func() {
		for lines.Scan() {
		}
	}()
	npm(t, "interop", "MODEL_URL=http://"+address+"/v1")
}

// TestBrowser goes through the portal with a real browser: register, app, key, streamed answer, revoke.
func TestBrowser(t *testing.T) {
	in := stacktest.Start(t).Info()
	npm(t, "e2e", "PORTAL_URL="+in.PortalURL)
}

// npm runs a script of the portal's package.
func npm(t *testing.T, script string, env ...string) {
	t.Helper()
	portal := filepath.Join(stacktest.Root(t), "portal")
	if _, err := os.Stat(filepath.Join(portal, "node_modules")); err != nil {
		t.Fatal("portal/node_modules is missing: run `make setup` first")
	}
	ctx, cancel := context.WithTimeout(t.Context(), npmWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "run", "--silent", script)
	cmd.Dir = portal
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "CI=true", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("npm run %s: %v", script, err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
