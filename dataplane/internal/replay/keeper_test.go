package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/replay"
	"modelgate.internal/shared/plane"
)

// control stands for the control plane: it grants every claim.
type control struct {
	mu      sync.Mutex
	told    map[string]int // messages by path
	away    bool
	claimID string
	scope   string
	slow    time.Duration // to answer
}

func (c *control) send(_ context.Context, path string, body []byte, _ int64) (int, []byte, error) {
	time.Sleep(c.slow)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told[path]++
	if c.away {
		return 0, nil, errors.New("refused")
	}
	if path != plane.ReplayClaimPath {
		return 200, []byte(`{"held":true}`), nil
	}
	var ask plane.ReplayClaim
	if err := json.Unmarshal(body, &ask); err != nil {
		return 0, nil, err
	}
	c.claimID, c.scope = ask.ClaimID, ask.Scope
	return 200, []byte(`{"state":"claimed"}`), nil
}

func (c *control) times(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told[path]
}

func (c *control) leave(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func claim(t *testing.T, c *control) *replay.Held {
	t.Helper()
	return claimOf(t, replay.New(replay.Options{Send: c.send, Log: slog.New(slog.DiscardHandler)}))
}

func claimOf(t *testing.T, k *replay.Keeper) *replay.Held {
	t.Helper()
	claim, err := k.Claim(t.Context(), &plane.Principal{KeyID: "key"}, []byte("k"), []byte("body"))
	if err != nil || claim.Held == nil {
		t.Fatalf("%+v %v", claim, err)
	}
	return claim.Held
}

func TestAClaimIsRenewedUntilItEnds(t *testing.T) {
	for name, end := range map[string]func(*replay.Held){
		"kept":  func(h *replay.Held) { _ = h.Keep(&plane.ReplayResult{}) },
		"freed": func(h *replay.Held) { h.Free(); h.Free() },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &control{told: map[string]int{}}
			held := claim(t, c)
			if c.scope != "key" || len(strings.Split(c.claimID, "-")) != 5 {
				t.Errorf("scope %q, claim %q", c.scope, c.claimID)
			}
			time.Sleep(3*plane.ReplayRenewEvery + time.Second)
			if n := c.times(plane.ReplayRenewPath); n != 3 {
				t.Errorf("%d renewals", n)
			}
			end(held)
			time.Sleep(time.Minute)
			if renewals, ends := c.times(plane.ReplayRenewPath), c.times(plane.ReplayEndPath); renewals != 3 || ends != 1 {
				t.Errorf("%s: %d renewals, %d ends", name, renewals, ends)
			}
		})
	}
}

// A result is offered again while the control plane is away, and not for ever.
func TestAResultIsOfferedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &control{told: map[string]int{}}
		held := claim(t, c)
		c.leave(true)
		time.AfterFunc(time.Second, func() { c.leave(false) })
		if err := held.Keep(&plane.ReplayResult{}); err != nil || c.times(plane.ReplayEndPath) < 2 {
			t.Errorf("%d attempts: %v", c.times(plane.ReplayEndPath), err)
		}
		held = claim(t, c)
		c.leave(true)
		begin := time.Now()
		if err := held.Keep(&plane.ReplayResult{}); err == nil || time.Since(begin) > 6*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
	})
}

// TestAStopWaitsForWhatIsFreed: neither what a call has freed is lost, nor what a call held that was cut.
func TestAStopWaitsForWhatIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &control{told: map[string]int{}, slow: time.Second}
		k := replay.New(replay.Options{Send: c.send, Log: slog.New(slog.DiscardHandler)})
		ended, freed, cut := claimOf(t, k), claimOf(t, k), claimOf(t, k)
		if err := ended.Keep(&plane.ReplayResult{}); err != nil {
			t.Error(err)
		}
		freed.Free()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := k.Run(ctx); err != nil || c.times(plane.ReplayEndPath) != 3 {
			t.Errorf("%d of 3 claims have ended, %v", c.times(plane.ReplayEndPath), err)
		}
		cut.Free() // later than it should be
		if c.times(plane.ReplayEndPath) != 4 {
			t.Error("what is freed after the end is lost")
		}
	})
}

func TestKeysThatAreNone(t *testing.T) {
	for text, good := range map[string]bool{
		"": false, "a": true, " ~": true, strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, "a\tb": false, "é": false, "\x7f": false,
	} {
		if err := replay.Check([]byte(text)); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
