package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"modelgate.internal/shared/plane"
)

// claims stands for the control plane's replays. Some keys say what they are.
type claims struct {
	mu      sync.Mutex
	entries map[string]*claimed // by scope and key
	frees   int
	waiters map[string]bool // claims that were told to wait
	broken  bool            // results are not taken
}

type claimed struct {
	plane.ReplayClaim
	running bool
	result  *plane.ReplayResult
}

func newClaims() *claims { return &claims{entries: map[string]*claimed{}, waiters: map[string]bool{}} }

func (c *claims) send(_ context.Context, path string, body []byte, _ int64) (int, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch path {
	case plane.ReplayClaimPath:
		var ask plane.ReplayClaim
		if err := json.Unmarshal(body, &ask); err != nil {
			return 400, nil, nil
		}
		return c.claim(&ask)
	case plane.ReplayEndPath:
		var end plane.ReplayEnd
		if err := json.Unmarshal(body, &end); err != nil {
			return 400, nil, nil
		}
		return c.end(&end)
	}
	return 200, []byte(`{"held":true}`), nil
}

func (c *claims) claim(ask *plane.ReplayClaim) (int, []byte, error) {
	told := func(a plane.ReplayAnswer) (int, []byte, error) {
		text, err := json.Marshal(a)
		return 200, text, err
	}
	is := func(key string) bool { hash := sha256.Sum256([]byte(key)); return string(hash[:]) == string(ask.Key) }
	switch {
	case is("whole"):
		return told(plane.ReplayAnswer{State: plane.ReplayDone, Result: &plane.ReplayResult{Backend: "upstream", Body: []byte(`{"type":"text","text":"Habari!"}`)}})
	case is("streamed"):
		return told(plane.ReplayAnswer{State: plane.ReplayDone, Result: &plane.ReplayResult{
			Stream: true, Backend: "simulator", Body: []byte("data: {\"type\":\"delta\",\"text\":\"Hab\"}\n\ndata: {\"type\":\"delta\",\"text\":\"ari!\"}\n\n"),
		}})
	case is("other"):
		return told(plane.ReplayAnswer{State: plane.ReplayOther})
	case is("unkept"):
		return told(plane.ReplayAnswer{State: plane.ReplayUnkept})
	case is("full"):
		return told(plane.ReplayAnswer{State: plane.ReplayFull})
	case is("away"):
		return 0, nil, errors.New("ask control plane: refused")
	}
	id := ask.Scope + string(ask.Key)
	e := c.entries[id]
	switch {
	case e == nil && ask.Look:
		return told(plane.ReplayAnswer{State: plane.ReplayFree})
	case e == nil:
		c.entries[id] = &claimed{*ask, true, nil}
		return told(plane.ReplayAnswer{State: plane.ReplayClaimed})
	case string(e.Request) != string(ask.Request):
		return told(plane.ReplayAnswer{State: plane.ReplayOther})
	case e.running:
		c.waiters[ask.ClaimID] = true
		return told(plane.ReplayAnswer{State: plane.ReplayRunning})
	case e.result == nil:
		return told(plane.ReplayAnswer{State: plane.ReplayUnkept})
	}
	return told(plane.ReplayAnswer{State: plane.ReplayDone, Result: e.result})
}

func (c *claims) end(end *plane.ReplayEnd) (int, []byte, error) {
	for id, e := range c.entries {
		switch {
		case e.ClaimID != end.ClaimID:
		case end.Result == nil && !end.Unkept:
			delete(c.entries, id)
			c.frees++
		case c.broken:
			return 503, nil, nil
		default:
			e.running, e.result = false, end.Result
		}
	}
	return 200, []byte(`{"held":true}`), nil
}

// waiting is how many requests found a call that was running.
func (c *claims) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiters)
}

func (c *claims) freed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frees
}
