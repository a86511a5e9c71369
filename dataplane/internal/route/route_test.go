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
