package journey

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/wire"
)

// withoutControl takes the control plane away, and then the node's memory as well.
func (w *traveller) withoutControl(t *testing.T) {
	if err := w.s.Halt("controlplane"); err != nil {
		t.Fatal(err)
	}
	w.call(t, w.key.Key, "Hello").want(t, 200)
	if err := w.s.Halt("dataplane-1"); err != nil {
		t.Fatal(err)
	}
	if err := w.s.Resume(t.Context(), "dataplane-1"); err != nil {
		t.Fatal(err)
	}
	w.call(t, w.key.Key, "Hello").want(t, 200)
	w.call(t, "svc_test_"+strings.Repeat("0", 51), "Hello").want(t, 401)
	if err := w.s.Resume(t.Context(), "controlplane"); err != nil {
		t.Fatal(err)
	}
	// A new key reaches the node, so the two have found each other again.
	var key wire.NewKey
	w.portal(t, "POST", "/dev/apps/"+w.app+"/keys", nil).want(t, 200).into(t, &key)
	t.Logf("a new key was accepted %s later", w.await(t, key.Key, 200, mendedWithin).Round(time.Millisecond))
}

func (w *traveller) crash(t *testing.T) {
	before := w.s.Pid("dataplane-1")
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, mendedWithin, func() (bool, string) {
		pid := w.s.Pid("dataplane-1")
		return pid != 0 && pid != before, fmt.Sprintf("process %d", pid)
	})
	if err := w.s.AwaitReady(t.Context(), "dataplane-1"); err != nil {
		t.Fatal(err)
	}
	w.call(t, w.key.Key, "Hello").want(t, 200)
}

func (w *traveller) withoutModel(t *testing.T) {
	if err := w.s.Halt("mockmodel"); err != nil {
		t.Fatal(err)
	}
	w.call(t, w.key.Key, "Hello").want(t, 502)
	if a := send(t, "POST", w.agent(), w.key.Key, map[string]any{"prompt": "Hello", "stream": true}); a.status != 502 {
		t.Errorf("streamed: status %d %s", a.status, a.body)
	}
	if err := w.s.Resume(t.Context(), "mockmodel"); err != nil {
		t.Fatal(err)
	}
	eventually(t, mendedWithin, func() (bool, string) {
		a := w.call(t, w.key.Key, "Hello")
		return a.status == 200, fmt.Sprintf("status %d %s", a.status, a.body)
	})
}

func (w *traveller) revoke(t *testing.T) {
	w.call(t, w.key.Key, "Hello").want(t, 200)
	var revoked wire.KeyRevoked
	w.portal(t, "DELETE", "/dev/apps/"+w.app+"/keys/"+w.key.KeyID, nil).want(t, 200).into(t, &revoked)
	took := w.await(t, w.key.Key, 401, revokedWithin)
	t.Logf("the node refused the revoked key %s after the portal's answer (demanded: 250ms)", took.Round(time.Millisecond))
	w.call(t, w.key.Key, "Hello").want(t, 401)
}

func (w *traveller) stop(t *testing.T) {
	pids := map[string]int{}
	for _, name := range []string{"database", "mockmodel", "controlplane", "dataplane-1"} {
		if pids[name] = w.s.Pid(name); pids[name] == 0 {
			t.Errorf("%s does not run", name)
		}
	}
	begun := time.Now()
	w.s.Stop()
	t.Logf("everything was stopped after %s", time.Since(begun).Round(time.Millisecond))
	dir := filepath.Dir(w.in.ControlplaneConfig)
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		if bytes.Contains(text, []byte(dir)) {
			t.Errorf("left behind: %s %q", line, text)
		}
	}
	for name, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("%s still runs as %s", name, strconv.Itoa(pid))
		}
	}
}
