package plane_test

import (
	"encoding/json"
	"strings"
	"testing"

	"modelgate.internal/shared/plane"
)

func current() *plane.Current {
	return &plane.Current{
		Models: map[string]plane.Model{
			"Darwin": {ID: "Darwin", Upstream: "both"},
			"Small":  {ID: "Small", Upstream: "c"},
			"None":   {ID: "None"},
		},
		Upstreams: map[string]plane.UpstreamSpec{
			"a": {ID: "a", Dialect: plane.DialectChat}, "b": {ID: "b", Dialect: plane.DialectChat},
			"c": {ID: "c", Dialect: plane.DialectChat}, "sim": {ID: "sim", Dialect: plane.DialectChat, Simulator: true},
			"voice": {ID: "voice", Dialect: "speech"},
		},
		Pools: map[string]plane.PoolSpec{"both": {
			ID: "both", Members: []plane.Member{{Upstream: "a", Weight: 3}, {Upstream: "b"}},
			Fallbacks: []plane.Fallback{{On: []plane.FailureClass{plane.FailConnect}, Upstream: "c"}, {Model: "Small"}},
		}},
	}
}

func TestCheckPools(t *testing.T) {
	if err := current().CheckPools(); err != nil {
		t.Fatalf("a good configuration is refused: %v", err)
	}
	tests := map[string]struct {
		spoil func(p *plane.PoolSpec)
		want  string
	}{
		"policy":        {func(p *plane.PoolSpec) { p.Policy = "random" }, `pool "both": policy is "random"; it must be round_robin`},
		"id":            {func(p *plane.PoolSpec) { p.ID = "other" }, `its id field is "other"`},
		"no member":     {func(p *plane.PoolSpec) { p.Members = nil }, "it has 0 members"},
		"unknown":       {func(p *plane.PoolSpec) { p.Members[1].Upstream = "x" }, `member 2 names upstream "x", which is not configured`},
		"twice":         {func(p *plane.PoolSpec) { p.Members[1].Upstream = "a" }, `member 2 names upstream "a" again`},
		"weight":        {func(p *plane.PoolSpec) { p.Members[0].Weight = -1 }, "member 1: weight is -1"},
		"simulator":     {func(p *plane.PoolSpec) { p.Members[1].Upstream = "sim" }, "mix a simulator with a real server"},
		"dialect":       {func(p *plane.PoolSpec) { p.Members[1].Upstream = "voice" }, "a pool speaks one dialect"},
		"class":         {func(p *plane.PoolSpec) { p.Fallbacks[0].On[0] = "oops" }, `fallback 1: on has "oops"`},
		"two targets":   {func(p *plane.PoolSpec) { p.Fallbacks[1].Upstream = "c" }, "fallback 2: set either upstream or model"},
		"no target":     {func(p *plane.PoolSpec) { p.Fallbacks[0].Upstream = "x" }, `fallback 1 names "x", which is not configured`},
		"unserved":      {func(p *plane.PoolSpec) { p.Fallbacks[1].Model = "None" }, `fallback 2 names "None", which is not configured`},
		"itself":        {func(p *plane.PoolSpec) { p.Fallbacks[1].Model = "Darwin" }, "fallback 2 leads back to the pool itself"},
		"fallback sim":  {func(p *plane.PoolSpec) { p.Fallbacks[0].Upstream = "sim" }, "fallback 1: "},
		"attempts":      {func(p *plane.PoolSpec) { p.Retry.Attempts = 11 }, "retry.attempts is 11; it must be from 0 to 10"},
		"budget":        {func(p *plane.PoolSpec) { p.Retry.BudgetPercent = 101 }, "retry.budget_percent is 101"},
		"queue length":  {func(p *plane.PoolSpec) { p.Queue.Length = -2 }, "queue.length is -2"},
		"queue wait":    {func(p *plane.PoolSpec) { p.Queue.MaxWaitMS = 1e9 }, "queue.max_wait_ms is 1000000000"},
		"pool capacity": {func(p *plane.PoolSpec) { p.Concurrency = -1 }, "concurrency is -1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := current()
			p := c.Pools["both"]
			tt.spoil(&p)
			c.Pools["both"] = p
			if err := c.CheckPools(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCheckPoolsLooksAtUpstreamsAndModels(t *testing.T) {
	c := current()
	c.Upstreams["a"] = plane.UpstreamSpec{
		ID: "a", Dialect: plane.DialectChat, Concurrency: -1, Health: plane.Health{Path: "health"},
		Breaker: plane.Breaker{BackOffMS: 2000, BackOffMaxMS: 1000},
	}
	c.Models["Lost"] = plane.Model{ID: "Lost", Upstream: "nowhere"}
	c.Pools["c"] = plane.PoolSpec{ID: "c", Members: []plane.Member{{Upstream: "b"}}}
	err := c.CheckPools()
	for _, want := range []string{
		`upstream "a": concurrency is -1`, `health.path is "health"; it must start with /`, "back_off_ms is above",
		`model "Lost" names "nowhere", which is neither`, `pool "c": an upstream has the same id`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestTarget(t *testing.T) {
	c := current()
	delete(c.Upstreams, "a")
	for id, want := range map[string]string{"both": "b", "c": "c", "x": ""} {
		if spec, ok := c.Target(id); spec.ID != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v", id, spec.ID, ok)
		}
	}
}

func TestZeroSettingsAreNotPublished(t *testing.T) {
	body, err := json.Marshal(plane.PoolSpec{ID: "p", Members: []plane.Member{{Upstream: "a"}}})
	if want := `{"id":"p","members":[{"upstream":"a"}]}`; err != nil || string(body) != want {
		t.Errorf("got %s, %v", body, err)
	}
}
