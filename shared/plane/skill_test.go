package plane_test

import (
	"strings"
	"testing"

	"modelgate.internal/shared/plane"
)

func TestWhatIsWrongWithSkills(t *testing.T) {
	good := plane.SkillSpec{Name: "create_pdf", Kind: plane.SkillHosted, Family: "darwin", Task: "conversation", Upstream: "tools", Path: "/skills/create_pdf"}
	check := func(change func(*plane.SkillSpec)) error {
		s := good
		change(&s)
		c := plane.Current{
			Upstreams: map[string]plane.UpstreamSpec{
				"tools": {ID: "tools", Dialect: plane.DialectNative}, "chat": {ID: "chat", Dialect: plane.DialectChat},
			},
			Skills: map[string]plane.SkillSpec{"create_pdf": s},
		}
		return c.CheckPools()
	}
	for _, fine := range []func(*plane.SkillSpec){
		func(*plane.SkillSpec) {}, func(s *plane.SkillSpec) { s.Upstream = "" },
	} {
		if err := check(fine); err != nil {
			t.Errorf("a good skill: %v", err)
		}
	}
	for want, change := range map[string]func(*plane.SkillSpec){
		"name field":           func(s *plane.SkillSpec) { s.Name = "other" },
		"family and task":      func(s *plane.SkillSpec) { s.Family = "" },
		"python is reserved":   func(s *plane.SkillSpec) { s.Kind = plane.SkillPython },
		"chain is reserved":    func(s *plane.SkillSpec) { s.Kind = plane.SkillChain },
		`kind is ""`:           func(s *plane.SkillSpec) { s.Kind = "" },
		`path is ""`:           func(s *plane.SkillSpec) { s.Path = "" },
		`path is "/a/../b"`:    func(s *plane.SkillSpec) { s.Path = "/a/../b" },
		`path is "/a\r\nX: y"`: func(s *plane.SkillSpec) { s.Path = "/a\r\nX: y" },
		"neither an upstream":  func(s *plane.SkillSpec) { s.Upstream = "gone" },
		`speaks "chat"`:        func(s *plane.SkillSpec) { s.Upstream = "chat" },
	} {
		if err := check(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestWhatIsWrongWithInference(t *testing.T) {
	check := func(u plane.UpstreamSpec) error {
		c := plane.Current{Upstreams: map[string]plane.UpstreamSpec{"u": u}}
		return c.CheckPools()
	}
	kserve := func(infer string) plane.UpstreamSpec {
		return plane.UpstreamSpec{ID: "u", Dialect: plane.DialectInfer, Model: "m", Infer: infer}
	}
	const depth = `{"input":"image","output":"depth","as":"depth"}`
	if err := check(kserve(`{"depth":` + depth + `,"liveness":{"model":"l","input":"i","output":"o","as":"scores","labels":["live","spoof"]}}`)); err != nil {
		t.Errorf("a good description: %v", err)
	}
	for infer, want := range map[string]string{
		``:                         "JSON object",
		`{}`:                       "names no task",
		`{"depth":` + depth + `}x`: "more after",
		`{"a":{"input":"i","output":"o","as":"depth","size":3}}`:            "unknown field",
		`{"a":{"output":"o","as":"depth"}}`:                                 "must name tensors",
		`{"a":{"input":"i","output":"o","as":"poem"}}`:                      `as is "poem"`,
		`{"a":{"input":"i","output":"o","as":"embedding"}}`:                 "dim is 0",
		`{"a":{"input":"i","output":"o","as":"scores"}}`:                    "0 labels",
		`{"a":{"input":"i","output":"o","as":"scores","labels":["x","x"]}}`: "there twice",
		`{"a":{"input":"i","output":"o","as":"depth","scale":-1}}`:          "scale is -1",
		`{"a":{"model":"../x","input":"i","output":"o","as":"depth"}}`:      "part of a path",
	} {
		if err := check(kserve(infer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", infer, err, want)
		}
	}
	if err := check(plane.UpstreamSpec{ID: "u", Dialect: plane.DialectInfer, Infer: `{"depth":` + depth + `}`}); err == nil || !strings.Contains(err.Error(), "names no model") {
		t.Errorf("without a model: %v", err)
	}
	if err := check(plane.UpstreamSpec{ID: "u", Dialect: plane.DialectNative, Infer: "{}"}); err == nil {
		t.Error("a description for another dialect is taken")
	}
}
