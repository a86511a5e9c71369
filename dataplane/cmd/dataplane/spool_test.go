package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/plane"
)

type away struct{}

func (away) Send(context.Context, string, http.Header, []byte) (int, []byte, error) {
	return http.StatusServiceUnavailable, nil, nil
}

// deadNode is the data directory of a node that died with one call recorded and one running.
func deadNode(t *testing.T, identity string) string {
	t.Helper()
	live, dead := t.TempDir(), t.TempDir()
	s, err := spool.Open(spool.Options{DataDir: live, Uploader: away{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Begin(&plane.UsageRecord{RequestID: "cut"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(&plane.UsageRecord{RequestID: "done", End: plane.EndDone}); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dead, os.DirFS(live)); err != nil {
		t.Fatal(err)
	}
	keep(t, dead, identity)
	return dead
}

func keep(t *testing.T, dir, identity string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "node.json"), []byte(identity), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSpoolCommands(t *testing.T) {
	c := newControl(t)
	run := func(cfg *Config, args ...string) (string, error) {
		var out strings.Builder
		cfg.ControlURL = c.URL
		err := spoolCommand(t.Context(), cfg, args, &out)
		return out.String(), err
	}
	dead := deadNode(t, `{"node_id":"node_1","secret":"secret"}`)
	out, err := run(&Config{DataDir: t.TempDir()}, "inspect", dead)
	if err != nil || !strings.Contains(out, "2 files, 2 records") {
		t.Errorf("%s%v", out, err)
	}
	out, err = run(&Config{DataDir: t.TempDir()}, "ship", dead)
	if err != nil || !strings.Contains(out, "2 records shipped as node node_1, 1 of them of calls that were cut") || !strings.Contains(out, "0 files left") {
		t.Errorf("%s%v", out, err)
	}
	ends := map[string]string{}
	for _, r := range c.records() {
		ends[r.RequestID] = r.End
	}
	if len(c.records()) != 2 || ends["done"] != plane.EndDone || ends["cut"] != plane.EndNodeCrash {
		t.Errorf("%v", ends)
	}
	for name, args := range map[string][]string{"no such command": {"sink"}, "too many": {"ship", "a", "b"}, "no identity": {"ship", t.TempDir()}} {
		if out, err := run(&Config{DataDir: t.TempDir()}, args...); err == nil {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// A directory is shipped as the node that it is of, never under an identity of its own: with the secret of the node that has the
// name now, if that is where the command runs.
func TestShipAsTheSameNode(t *testing.T) {
	dead := deadNode(t, `{"node_id":"node_1","secret":"withdrawn"}`)
	for identity, want := range map[string]string{
		`{"node_id":"node_1","secret":"fresh"}`: "Bearer fresh",
		`{"node_id":"node_2","secret":"fresh"}`: "Bearer withdrawn",
	} {
		own := filepath.Join(t.TempDir(), "own")
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		keep(t, own, identity)
		got := ""
		server := newControl(t)
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == plane.JoinPath {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			got = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusUnauthorized)
		})
		link, err := linkOf(&Config{DataDir: own, ControlURL: server.URL}, dead, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = link.Send(t.Context(), plane.UsagePath, nil, nil)
		if got != want || err == nil || link.NodeID() != "node_1" {
			t.Errorf("%s: sent %q as %s: %v", identity, got, link.NodeID(), err)
		}
	}
}
