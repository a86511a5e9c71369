package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/internal/proc"
	"modelgate.internal/bench/stack"
	"modelgate.internal/shared/wire"
)

// node is the stack's name of the process under test.
const node = "dataplane-1"

// gateway is our stack, with an app whose limits are judged and never met.
type gateway struct {
	label              string // the target's name
	bin, dir, upstream string
	stack              *stack.Stack
	log                *os.File
	key                string
}

func (g *gateway) name() string { return g.label }

// watch takes in the control plane, so that work moved there would show in the raw results.
func (g *gateway) watch() []proc.Watched {
	return []proc.Watched{{Name: g.label, Pid: g.stack.Pid(node)}, {Name: "controlplane", Pid: g.stack.Pid("controlplane")}}
}

func (g *gateway) fresh(ctx context.Context, restart bool) error {
	if g.stack == nil {
		return g.start(ctx)
	}
	if !restart {
		return nil
	}
	if err := g.stack.Halt(node); err != nil {
		return err
	}
	if err := g.stack.Resume(ctx, node); err != nil {
		return err
	}
	return g.await(ctx)
}

// start runs the stack with the simulator as its model server and makes a key.
func (g *gateway) start(ctx context.Context) error {
	for _, name := range []string{"controlplane", "dataplane"} {
		if _, err := os.Stat(filepath.Join(g.bin, name)); err != nil {
			return fmt.Errorf("%s is not built: run `make build`", filepath.Join(g.bin, name))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	base, err := stack.FreePortBase(ctx, 1)
	if err != nil {
		return err
	}
	if g.log, err = os.Create(g.dir + ".log"); err != nil {
		return err
	}
	g.stack, err = stack.Start(ctx, stack.Options{
		Dir: g.dir, Bin: g.bin, PortBase: base, ChatURL: "http://" + g.upstream + "/v1", ChatModel: "mock", Out: g.log,
	})
	if err != nil {
		return err
	}
	if err := g.widen(ctx); err != nil {
		return err
	}
	if g.key, err = g.makeKey(ctx); err != nil {
		return err
	}
	return g.await(ctx)
}

// widen gives the demo account limits that are never met.
func (g *gateway) widen(ctx context.Context) error {
	info := g.stack.Info()
	cmd := exec.CommandContext(ctx, filepath.Join(g.bin, "controlplane"), "-config", info.ControlplaneConfig, "account", "set", info.Demo.Email, //nolint:gosec // our program
		"--plan", "enterprise", "--per-minute", strconv.Itoa(limitPerMinute), "--per-day", strconv.Itoa(limitPerDay),
		"--in-flight", strconv.Itoa(limitInFlight))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("widen the account's limits: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// makeKey makes an app and a key through the portal's interface.
func (g *gateway) makeKey(ctx context.Context) (string, error) {
	info := g.stack.Info()
	var session wire.Session
	if err := g.portal(ctx, "/dev/auth/login", "", wire.LoginRequest{Email: info.Demo.Email, Password: info.Demo.Password}, &session); err != nil {
		return "", err
	}
	var app wire.App
	err := g.portal(ctx, "/dev/apps", session.AccessToken, wire.CreateAppRequest{
		Name: "bench", Environment: "test", Families: []string{"darwin"}, Tasks: []string{"conversation", "reasoning", "planning", "code", "vision"},
		RateLimit: appCallsPerMinute,
	}, &app)
	if err != nil {
		return "", err
	}
	var made wire.NewKey
	err = g.portal(ctx, "/dev/apps/"+app.AppID+"/keys", session.AccessToken, nil, &made)
	return made.Key, err
}

func (g *gateway) portal(ctx context.Context, path, token string, ask, answer any) error {
	var text []byte
	if ask != nil {
		var err error
		if text, err = json.Marshal(ask); err != nil {
			return err
		}
	}
	text, err := call(ctx, http.MethodPost, g.stack.Info().PortalURL+path, token, text)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// await waits until the node knows the key and its limits.
func (g *gateway) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	for {
		_, err := call(ctx, http.MethodGet, g.stack.Info().GatewayURL+"/api/v1/models", g.key, nil)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the node does not accept the key: %w", err)
		}
		pauseFor(ctx, quietPoll)
	}
}

func (g *gateway) stop() {
	if g.stack != nil {
		g.stack.Stop()
		g.stack = nil
	}
	if g.log != nil {
		_ = g.log.Close()
	}
}

func (g *gateway) aim(stream bool) (load.Target, error) {
	if g.stack == nil {
		return load.Target{}, errors.New("the gateway does not run")
	}
	return load.NewTarget(g.stack.Info().GatewayURL+"/api/v1/agent", []string{"Authorization: Bearer " + g.key}, body(gatewayBody, stream))
}

// profileURL is where the node's CPU profile is.
func (g *gateway) profileURL(seconds int) string {
	return g.stack.Info().Nodes[0].MetricsURL + "/debug/pprof/profile?seconds=" + strconv.Itoa(seconds)
}
