package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
)

// asked is a pool that tells what it is asked.
type asked struct {
	alone
	fields chan string
}

func (a asked) AskWith(ctx context.Context, from pool.From, c *upstream.Chat, f *pool.Facts) (upstream.Whole, error) {
	a.fields <- string(c.Raw.Fields)
	return a.alone.AskWith(ctx, from, c, f)
}

// TestWhatServersArePassed: a member that is not common to all servers reaches one that is configured for it, and is refused where any of those
// that may answer is not, a fallback included.
func TestWhatServersArePassed(t *testing.T) {
	config := current()
	config.Upstreams["local"] = plane.UpstreamSpec{ID: "local", Dialect: plane.DialectChat, Parameters: "vllm"}
	config.Pools = map[string]plane.PoolSpec{
		"locals": {ID: "locals", Members: []plane.Member{{Upstream: "local"}}},
		"backed": {ID: "backed", Members: []plane.Member{{Upstream: "local"}}, Fallbacks: []plane.Fallback{{Upstream: "chat"}}},
	}
	for id, up := range map[string]string{"Local": "local", "Locals": "locals", "Backed": "backed"} {
		config.Models[id] = plane.Model{ID: id, Family: "darwin", Tasks: []string{"conversation"}, Upstream: up}
	}
	fields := make(chan string, 1)
	var n *node
	n = start(t, func(o *gateway.Options) {
		o.Current = func() *plane.Current { return config }
		o.Routes = gateway.Routes(api.New(api.Options{
			Pool: func(id string) (api.Pool, bool) { return asked{alone{n.model, id}, fields}, true }, Now: time.Now,
		}))
	})
	for model, takes := range map[string]bool{"Local": true, "Locals": true, "Backed": false, "Darwin": false} {
		request := post("/v1/chat/completions", "svc_test_ok", `{"top_k":40,"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`)
		answer := string(receive(t, send(t, n.main, request), "POST"))
		if !takes {
			if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, `"param":"top_k","code":"unsupported_parameter"`) || len(fields) != 0 {
				t.Errorf("%s: %s", model, answer)
			}
			continue
		}
		if !strings.HasPrefix(answer, "HTTP/1.1 200 ") || !strings.HasSuffix(<-fields, `,"top_k":40`) {
			t.Errorf("%s: %s", model, answer)
		}
	}
}
