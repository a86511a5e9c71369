package plane_test

import (
	"strings"
	"testing"

	"modelgate.internal/shared/plane"
)

func TestParametersAreGroupsAndMembers(t *testing.T) {
	p, err := plane.ParseParameters("llama.cpp, service_tier\n top_a")
	if err != nil || !p["grammar"] || !p["top_k"] || !p["service_tier"] || !p["top_a"] || p["guided_json"] || p["llama.cpp"] {
		t.Errorf("%v, %v", p, err)
	}
	for text, want := range map[string]string{
		"model":                   "the gateway's to decide",
		"vllm n_predict":          "n_predict is the gateway's",
		"audio best_of":           "audio is the gateway's to decide; best_of",
		`top_k "x"`:               "neither a member nor one of llama.cpp, sglang, vllm",
		"a.b":                     "neither",
		strings.Repeat("a", 5000): "more than 4096",
	} {
		if _, err := plane.ParseParameters(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for _, group := range plane.ParameterGroups() { // what a group passes on could be named by itself too
		p, err := plane.ParseParameters(group)
		if err != nil || len(p) == 0 {
			t.Errorf("%s: %v", group, err)
		}
		for member := range p {
			if _, err := plane.ParseParameters(member); err != nil || !plane.IsParameter(member) {
				t.Errorf("%s: %s: %v", group, member, err)
			}
		}
	}
	if plane.IsParameter("temperature") || plane.IsParameter("") {
		t.Error("members of OpenAI's API are in no group")
	}
}

// TestEveryServerThatMayAnswerMustTakeAParameter: which server answers is chance, so it may change nothing.
func TestEveryServerThatMayAnswerMustTakeAParameter(t *testing.T) {
	c := &plane.Current{
		Upstreams: map[string]plane.UpstreamSpec{
			"a": {ID: "a", Parameters: "vllm service_tier"}, "b": {ID: "b", Parameters: "llama.cpp"}, "c": {ID: "c"}, "d": {ID: "d", Parameters: "top_k no.such"},
		},
		Models: map[string]plane.Model{"M": {ID: "M", Upstream: "cloud"}},
		Pools: map[string]plane.PoolSpec{
			"both":   {ID: "both", Members: []plane.Member{{Upstream: "a"}, {Upstream: "b"}}},
			"cloud":  {ID: "cloud", Members: []plane.Member{{Upstream: "c"}}},
			"up":     {ID: "up", Members: []plane.Member{{Upstream: "a"}}, Fallbacks: []plane.Fallback{{Upstream: "b"}}},
			"pool":   {ID: "pool", Members: []plane.Member{{Upstream: "a"}}, Fallbacks: []plane.Fallback{{Upstream: "both"}}},
			"model":  {ID: "model", Members: []plane.Member{{Upstream: "a"}}, Fallbacks: []plane.Fallback{{Model: "M"}}},
			"broken": {ID: "broken", Members: []plane.Member{{Upstream: "a"}, {Upstream: "d"}}},
		},
	}
	for id, want := range map[string]string{
		"a": "top_k guided_json service_tier", "b": "top_k grammar", "c": "", "both": "top_k", "up": "top_k", "pool": "top_k", "model": "",
		"broken": "", "none": "",
	} {
		passed := c.Passed(id)
		for _, member := range []string{"top_k", "guided_json", "grammar", "service_tier"} {
			if passed[member] != strings.Contains(want, member) {
				t.Errorf("%s: %s is passed: %t", id, member, passed[member])
			}
		}
	}
}

func TestParametersAreChecked(t *testing.T) {
	for want, spec := range map[string]plane.UpstreamSpec{
		"parameters are for the dialect chat": {ID: "a", Dialect: plane.DialectSpeech, Parameters: "top_k"},
		"stream is the gateway's to decide":   {ID: "a", Dialect: plane.DialectChat, Parameters: "top_k stream"},
	} {
		c := plane.Current{Upstreams: map[string]plane.UpstreamSpec{"a": spec}}
		if err := c.CheckPools(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}
