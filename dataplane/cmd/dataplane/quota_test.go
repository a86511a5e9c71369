package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/quota"
)

func TestQuotaCommands(t *testing.T) {
	c := newControl(t)
	text, _ := publishAll(t, c, model(t, nil).URL)
	cfg := config(t, c)
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := quotaCommand(context.Background(), cfg, args, &out)
		return out.String(), err
	}
	if _, err := run("peers"); !errors.Is(err, quota.ErrNotRunning) {
		t.Errorf("without a node: %v", err)
	}
	if out, err := run("help"); err != nil || !strings.Contains(out, "promote NODE") {
		t.Errorf("%s %v", out, err)
	}
	for _, args := range [][]string{{"dance"}, {"promote"}, {"peers", "x"}, {"token", "-rule", "x"}} {
		if _, err := run(args...); err == nil || !strings.Contains(err.Error(), "quota help") {
			t.Errorf("%v: %v", args, err)
		}
	}
	cfg.QuotaListen = free(t)
	stop := runNode(t, cfg)
	out, err := run("peers")
	if err != nil || !strings.Contains(out, cfg.QuotaListen) && !strings.Contains(out, "Voter, leads") {
		t.Errorf("%s %v", out, err)
	}
	token, err := run("token", "-role", "client")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run("demote", "self"); err == nil || !strings.Contains(err.Error(), "it is the only voter") {
		t.Error(err)
	}
	if out, err := run("snapshot"); err != nil || !strings.Contains(out, "entry") {
		t.Errorf("%s %v", out, err)
	}
	if _, err := run("recover"); err == nil || !strings.Contains(err.Error(), "the node runs") {
		t.Error(err)
	}

	// A second node joins by the token, and shares the limit of the key: 30 a minute.
	second := config(t, c)
	second.QuotaPeers = cfg.QuotaListen
	if err := enterCluster(t.Context(), second, nil); err == nil || !strings.Contains(err.Error(), "has not joined") {
		t.Errorf("a node that has not joined: %v", err)
	}
	if err := quotaCommand(context.Background(), second, []string{"join", strings.TrimSpace(token)}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	runNode(t, second)
	admitted := 0
	for i := range 40 {
		status, _ := ask(t, []*Config{cfg, second}[i%2], text, `{"prompt":"hello"}`)
		switch status {
		case 200:
			admitted++
		case 429:
		default:
			t.Fatalf("status %d", status)
		}
	}
	if admitted != 30 {
		t.Errorf("%d admitted", admitted)
	}

	// Alone and stopped, the first one may recover; it says what that gives up and does nothing unasked.
	stop()
	if out, err := run("recover"); err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(out, "0 other voters") {
		t.Errorf("%s %v", out, err)
	}
}
