package route_test

import (
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/route"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

func config() *plane.Current {
	return &plane.Current{
		Models: map[string]plane.Model{
			"Darwin": {ID: "Darwin", Family: "darwin", Tasks: []string{"conversation", "code"}, Upstream: "real", Setting: "MODELGATE_CHAT_URL"},
			"Atlas":  {ID: "Atlas", Family: "darwin", Tasks: []string{"conversation", "vision"}, Upstream: "simulator", Setting: "ATLAS_URL"},
			"Nova":   {ID: "Nova", Family: "darwin", Tasks: []string{"conversation", "planning"}, Setting: "NOVA_URL"},
		},
		Upstreams: map[string]plane.UpstreamSpec{"real": {ID: "real"}, "simulator": {ID: "simulator", Simulator: true}},
	}
}

func caller(kind key.Kind, families, tasks []string) *call.Caller {
	return &call.Caller{Principal: &plane.Principal{AppID: "app", Kind: kind, Scope: plane.Scope{Families: families, Tasks: tasks}}}
}

func TestToModel(t *testing.T) {
	tests := []struct {
		name   string
		caller *call.Caller
		kind   apierr.Kind
		want   string // upstream, or words of the detail
	}{
		{"Darwin", caller(key.Live, nil, nil), 0, "real"},
		{"Darwin", caller(key.Test, []string{"darwin"}, []string{"code", "conversation"}), 0, "real"},
		{"darwin", caller(key.Test, nil, nil), apierr.NotFound, "Atlas, Darwin, Nova"},
		{"Darwin", caller(key.Test, []string{"biometrix"}, nil), apierr.Forbidden, "app does not include the family darwin, only biometrix"},
		{"Darwin", caller(key.Test, nil, []string{"code"}), apierr.Forbidden, "task conversation, only code"},
		{"Nova", caller(key.Test, nil, nil), apierr.Unavailable, "NOVA_URL"},
		{"Atlas", caller(key.Test, nil, nil), 0, "simulator"},
		{"Atlas", caller(key.Live, nil, nil), apierr.Unavailable, "ATLAS_URL"},
		{"Atlas", caller(key.Darwin, nil, nil), apierr.Unavailable, "never answered by a simulator"},
	}
	for _, tt := range tests {
		target, err := route.ToModel(config(), tt.caller, []byte(tt.name))
		check(t, tt.name, target, err, tt.kind, tt.want)
	}
}

func TestToTask(t *testing.T) {
	tests := []struct {
		family, task string
		caller       *call.Caller
		kind         apierr.Kind
		want         string
	}{
		{"darwin", "conversation", caller(key.Live, nil, nil), 0, "real"},
		{"darwin", "vision", caller(key.Test, nil, nil), 0, "simulator"},
		{"darwin", "planning", caller(key.Test, nil, nil), apierr.Unavailable, "NOVA_URL"},
		{"darwin", "voice_footprint", caller(key.Test, nil, nil), apierr.Unavailable, "No model of this installation"},
		{"biometrix", "face", caller(key.Test, nil, nil), apierr.Unavailable, "face of the family biometrix"},
		{"biometrix", "face", caller(key.Test, []string{"darwin"}, nil), apierr.Forbidden, "family biometrix"},
		{"darwin", "code", caller(key.Test, nil, []string{"conversation"}), apierr.Forbidden, "task code"},
		{"darwin", "fly", caller(key.Test, nil, nil), apierr.NotFound, "code, conversation"},
		{"newton", "conversation", caller(key.Test, nil, nil), apierr.NotFound, "biometrix, darwin, emoticore"},
	}
	for _, tt := range tests {
		target, err := route.ToTask(config(), tt.caller, tt.family, tt.task)
		check(t, tt.family+"/"+tt.task, target, err, tt.kind, tt.want)
	}
}

func TestToSkill(t *testing.T) {
	c := config()
	c.Skills = map[string]plane.SkillSpec{
		"sing": {Name: "sing", Family: "darwin", Task: "code", Upstream: "real"},
		"draw": {Name: "draw", Family: "biometrix", Task: "face", Setting: "DRAW_URL"},
		"mime": {Name: "mime", Family: "darwin", Task: "code", Upstream: "simulator", Setting: "MIME_URL"},
	}
	for _, tt := range []struct {
		name   string
		caller *call.Caller
		kind   apierr.Kind
		want   string
	}{
		{"sing", caller(key.Live, nil, nil), 0, "real"},
		{"mime", caller(key.Test, nil, nil), 0, "simulator"},
		{"mime", caller(key.Live, nil, nil), apierr.Unavailable, "MIME_URL"},
		{"draw", caller(key.Test, nil, nil), apierr.Unavailable, "DRAW_URL"},
		{"sing", caller(key.Test, []string{"biometrix"}, nil), apierr.Forbidden, "family darwin"},
		{"sing", caller(key.Test, nil, []string{"conversation"}), apierr.Forbidden, "task code"},
		{"fly", caller(key.Test, nil, nil), apierr.NotFound, "draw, mime, sing"},
	} {
		target, _, err := route.ToSkill(c, tt.caller, tt.name)
		check(t, tt.name, target, err, tt.kind, tt.want)
	}
	var listed []string
	for _, s := range route.Skills(c, caller(key.Test, []string{"darwin"}, nil)) {
		listed = append(listed, s.Name)
	}
	if got := strings.Join(listed, " "); got != "mime sing" {
		t.Errorf("listed %s", got)
	}
}

func TestAModelIsListedForAnyOfItsTasks(t *testing.T) {
	model := config().Models["Darwin"]
	for _, tt := range []struct {
		families, tasks []string
		want            bool
	}{
		{nil, nil, true},
		{nil, []string{"code"}, true},
		{nil, []string{"vision"}, false},
		{[]string{"darwin"}, []string{"vision", "conversation"}, true},
		{[]string{"biometrix"}, nil, false},
	} {
		if got := route.Allows(caller(key.Test, tt.families, tt.tasks), model); got != tt.want {
			t.Errorf("families %v, tasks %v: %v", tt.families, tt.tasks, got)
		}
	}
	if route.Allows(caller(key.Test, nil, []string{"code"}), plane.Model{Family: "darwin"}) {
		t.Error("a model without tasks is asked for conversation only")
	}
}

func check(t *testing.T, name string, target route.Target, err error, kind apierr.Kind, want string) {
	t.Helper()
	if kind == 0 {
		if err != nil || target.Upstream.ID != want {
			t.Errorf("%s: got %q, %v; want %q", name, target.Upstream.ID, err, want)
		}
		return
	}
	if e := apierr.From(err); e == nil || e.Kind != kind || !strings.Contains(e.Detail, want) {
		t.Errorf("%s: got %v, want a %d with %q", name, err, kind.Status(), want)
	}
}

func TestPromptsAreForModelsThatTakeThem(t *testing.T) {
	c := config()
	for id, spec := range map[string]plane.UpstreamSpec{
		"draws": {Dialect: plane.DialectImages}, "speaks": {Dialect: plane.DialectSpeech}, "chats": {Dialect: plane.DialectChat},
	} {
		spec.ID = id
		c.Upstreams[id] = spec
	}
	for _, tt := range []struct {
		model plane.Model
		want  string // task; "" if it takes no prompts
	}{
		{plane.Model{Family: "darwin", Tasks: []string{"conversation"}, Upstream: "chats"}, "conversation"},
		{plane.Model{Family: "darwin", Tasks: []string{"image_generation"}, Upstream: "draws"}, "image_generation"},
		{plane.Model{Family: "darwin", Tasks: []string{"poetry"}, Upstream: "chats"}, "conversation"},
		{plane.Model{Family: "darwin", Tasks: []string{"text_to_speech"}, Upstream: "speaks"}, ""},
		{plane.Model{Family: "darwin", Tasks: []string{"image_generation"}}, "image_generation"},
		{plane.Model{Family: "darwin", Tasks: []string{"poetry"}}, "conversation"},
		{plane.Model{Family: "darwin"}, "conversation"},
		{plane.Model{Family: "darwin", Tasks: []string{"translation"}}, ""},
		{plane.Model{Family: "biometrix", Tasks: []string{"face"}}, ""},
	} {
		if got, ok := route.PromptTask(c, tt.model); got != tt.want && ok || ok != (tt.want != "") {
			t.Errorf("%+v: got %q, %t", tt.model, got, ok)
		}
	}
	c.Models["images"] = plane.Model{ID: "images", Family: "darwin", Tasks: []string{"image_generation"}, Upstream: "draws"}
	c.Models["speech"] = plane.Model{ID: "speech", Family: "darwin", Tasks: []string{"text_to_speech"}, Upstream: "speaks"}
	target, err := route.ToModel(c, caller(key.Test, nil, []string{"image_generation"}), []byte("images"))
	check(t, "images", target, err, 0, "draws")
	target, err = route.ToModel(c, caller(key.Test, nil, []string{"conversation"}), []byte("images"))
	check(t, "images", target, err, apierr.Forbidden, "task image_generation")
	target, err = route.ToModel(c, caller(key.Test, nil, nil), []byte("speech"))
	check(t, "speech", target, err, apierr.BadRequest, "The models that do are Atlas, Darwin, Nova, images.")
}
