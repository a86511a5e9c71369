package journey

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/stack/stacktest"
	"modelgate.internal/shared/wire"
)

// npmWait bounds one run of a Node test suite.
const npmWait = 12 * time.Minute

// TestOfficialClient has the openai client from npm talk to the simulator, to show that it speaks the real protocol, and to the
// gateway in front of it, to show that ours can be told from it by nothing but what we add.
func TestOfficialClient(t *testing.T) {
	s := stacktest.Start(t)
	w := &traveller{s: s, in: s.Info()}
	demo := w.in.Demo
	var session wire.Session
	login := wire.LoginRequest{Email: demo.Email, Password: demo.Password}
	send(t, "POST", w.in.PortalURL+"/dev/auth/login", "", login).want(t, 200).into(t, &session)
	w.session = session.AccessToken
	var app wire.App
	body := map[string]any{"name": "Limited", "environment": "test", "families": []string{"darwin"}, "tasks": []string{}, "rate_limit": 1}
	w.portal(t, "POST", "/dev/apps", body).want(t, 200).into(t, &app)
	var limited wire.NewKey
	w.portal(t, "POST", "/dev/apps/"+app.AppID+"/keys", nil).want(t, 200).into(t, &limited)
	w.await(t, limited.Key, 200, newKeyWithin)
	npm(t, "interop", "MODEL_URL="+w.in.SimulatorURL+"/v1", "GATEWAY_URL="+w.in.GatewayURL+"/v1", "GATEWAY_KEY="+demo.Key,
		"LIMITED_KEY="+limited.Key)
}

// TestBrowser goes through the portal with a real browser: register, app, key, streamed answer, revoke; an organization that is
// joined by a mailed invite; an account that is used by keyboard alone, exported, deleted and taken back; every page in both themes at two
// widths.
func TestBrowser(t *testing.T) {
	o := stacktest.Options(t)
	in := stacktest.Run(t, o).Info()
	npm(t, "e2e", "PORTAL_URL="+in.PortalURL, "MAILBOX_URL="+in.MailboxURL, "CONTROLPLANE_CONFIG="+in.ControlplaneConfig,
		"CONTROLPLANE="+filepath.Join(o.Bin, "controlplane"))
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
