package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/api/apitest"
	"modelgate.internal/shared/plane"
)

// startEverything is a node on which a server answers every task and skill of the contract, each in its dialect, with an empty object.
func startEverything(t *testing.T) *node {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reply(w, "{}") }))
	t.Cleanup(server.Close)
	config := current()
	for _, dialect := range plane.Dialects() {
		config.Upstreams[dialect] = plane.UpstreamSpec{ID: dialect, Dialect: dialect, BaseURL: server.URL, Model: "m"}
	}
	for _, m := range []plane.Model{
		{Family: "biometrix", Upstream: plane.DialectNative, Tasks: []string{
			"face", "iris", "liveness", "gait", "footprint", "person_reid", "object_signature", "tracking", "depth", "spatial", "multicam",
		}},
		{Family: "emoticore", Upstream: plane.DialectNative, Tasks: []string{"text", "face", "voice", "multimodal"}},
		{Family: "darwin", Upstream: plane.DialectNative, Tasks: []string{"voice_footprint", "voice_analysis"}},
		{Family: "darwin", Upstream: plane.DialectTranscriptions, Tasks: []string{"speech_to_text"}},
		{Family: "darwin", Upstream: plane.DialectSpeech, Tasks: []string{"text_to_speech"}},
		{Family: "darwin", Upstream: plane.DialectTranslate, Tasks: []string{"translation"}},
		{Family: "darwin", Upstream: plane.DialectSearch, Tasks: []string{"deep_search"}},
	} {
		m.ID = m.Family + " " + m.Upstream
		config.Models[m.ID] = m
	}
	config.Skills = map[string]plane.SkillSpec{}
	for _, name := range []string{"biometrix_enroll", "biometrix_identify", "create_pdf"} {
		config.Skills[name] = plane.SkillSpec{
			Name: name, Kind: plane.SkillHosted, Family: "biometrix", Task: "face", Upstream: plane.DialectNative, Path: "/skills/" + name,
		}
	}
	set := upstream.NewSet(upstream.Options{Timeouts: upstream.Timeouts{Answer: 20 * time.Second}}, nil)
	t.Cleanup(set.Close)
	model := newModel()
	return start(t, func(o *gateway.Options) {
		o.Current = func() *plane.Current { return config }
		unlimited(o)
		o.Routes = gateway.Routes(api.New(api.Options{
			Pool:    func(id string) (api.Pool, bool) { return only{alone{model, id}, id}, true },
			Service: func(id string) (*upstream.Service, error) { return set.Service(config, id) },
			Members: func(id string, _ pool.From) []pool.MemberStatus {
				return []pool.MemberStatus{{Upstream: id, State: pool.StateUp}}
			},
			Scene: scenes,
			Now:   time.Now,
		}))
	})
}

// unlimited lets everybody make any number of calls.
func unlimited(o *gateway.Options) {
	o.Admit = func(context.Context, *limit.Cells, time.Time) (limit.Verdict, error) { return limit.Verdict{}, nil }
	o.AdmitPeer = func(netip.Addr, time.Time) error { return nil }
}

// TestValuesOfOtherTypesAreRefused puts values of every wrong JSON type into the documented bodies.
func TestValuesOfOtherTypesAreRefused(t *testing.T) {
	n := startEverything(t)
	for _, wrong := range apitest.WrongTypes(t, contract.PlaneData) {
		request := strings.Replace(post(strings.Replace(wrong.Operation.Path, "{skill_name}", "create_pdf", 1), "svc_test_ok", wrong.Body),
			"POST", wrong.Operation.Method, 1)
		conn := send(t, n.main, request)
		answer := string(receive(t, conn, wrong.Operation.Method))
		must(t, conn.Close())
		refused := strings.HasPrefix(answer, "HTTP/1.1 422") || strings.HasPrefix(answer, "HTTP/1.1 400") && refusesPlainly(wrong)
		if !refused {
			_, body, _ := strings.Cut(answer, "\r\n\r\n")
			t.Errorf("%s: %s = %s: %.20q %.200s", wrong.Operation.ID, wrong.At, wrong.Value, answer, body)
		}
	}
}

// refusesPlainly reports whether the contract has a 400 for a body: OpenAI's paths have it for all of it, the others for prompts.
func refusesPlainly(w apitest.Wrong) bool {
	return strings.HasSuffix(w.Operation.Path, "/chat/completions") || w.At == "" || w.At == "prompt"
}

// TestArgumentsOfSkillsAreJudged holds the arguments that the contract describes against it, those of each action too.
func TestArgumentsOfSkillsAreJudged(t *testing.T) {
	n := startEverything(t)
	invoke := func(skill, args string) string {
		conn := send(t, n.main, post("/api/v1/skills/"+skill+"/invoke", "svc_test_ok", `{"args":`+args+`}`))
		defer conn.Close()
		return string(receive(t, conn, "POST"))
	}
	person := map[string]any{"action": "enroll", "task": "face", "user_id": "u", "image_b64": "aGk="}
	for skill, wrong := range map[string][]apitest.Wrong{
		"biometrix_enroll": apitest.WrongArguments(t, "BiometrixArgs", person),
		"create_pdf":       apitest.WrongArguments(t, "CreatePDFArgs", map[string]any{"title": "t", "sections": []any{"s"}}),
	} {
		for _, w := range wrong {
			if answer := invoke(skill, w.Body); !strings.HasPrefix(answer, "HTTP/1.1 422") || !strings.Contains(answer, `["body","args"`) {
				t.Errorf("%s: %s = %s: %s", skill, w.At, w.Value, answer)
			}
		}
	}
	for _, tt := range []struct{ skill, args, places string }{
		{"biometrix_enroll", `{}`, "action task"},
		{"biometrix_identify", `{}`, "action task"},
		{"biometrix_enroll", `{"action":"enroll","task":"face"}`, "user_id image_b64"},
		{"biometrix_enroll", `{"action":"enroll","task":"face","image_b64":"aGk="}`, "user_id"},
		{"biometrix_identify", `{"action":"identify","task":"face","user_id":"u"}`, "image_b64"},
		{"biometrix_enroll", `{"action":"delete_enrolled","task":"face"}`, "user_id"},
		{"biometrix_enroll", `{"action":"erase","task":"nose"}`, "action task"},
		{"biometrix_identify", `{"action":"identify","task":"face","image_b64":"aGk=","threshold":1.1}`, "threshold"},
		{"biometrix_enroll", `{"action":"delete_enrolled","task":"face","user_id":""}`, "user_id"},
		{"create_pdf", `{}`, "title sections"},
	} {
		answer := invoke(tt.skill, tt.args)
		_, body, _ := strings.Cut(answer, "\r\n\r\n")
		var said struct {
			Detail []struct{ Loc []string }
		}
		must(t, json.Unmarshal([]byte(body), &said))
		var places []string
		for _, item := range said.Detail {
			places = append(places, strings.Join(item.Loc[2:], "."))
		}
		if !strings.HasPrefix(answer, "HTTP/1.1 422") || strings.Join(places, " ") != tt.places {
			t.Errorf("%s %s: %s", tt.skill, tt.args, answer)
		}
	}
	for _, good := range []string{`{"action":"list_enrolled","task":"face"}`, `{"action":"delete_enrolled","task":"face","user_id":"u"}`} {
		if answer := invoke("biometrix_enroll", good); !strings.HasPrefix(answer, "HTTP/1.1 502") { // the server's answer is empty
			t.Errorf("%s: %s", good, answer)
		}
	}
}
