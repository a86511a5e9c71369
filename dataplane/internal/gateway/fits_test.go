package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// strict is a pool of one upstream that is asked for chats only if it chats, as a real one.
type strict struct {
	only
	spec plane.UpstreamSpec
}

var errNoChat = apierr.New(apierr.Unavailable, "This upstream cannot answer chats.")

func (s strict) AskWith(ctx context.Context, from pool.From, c *upstream.Chat, f *pool.Facts) (upstream.Whole, error) {
	if s.spec.Dialect != plane.DialectChat {
		return upstream.Whole{}, errNoChat
	}
	return s.only.AskWith(ctx, from, c, f)
}

func (s strict) OpenWith(ctx context.Context, from pool.From, c *upstream.Chat, f *pool.Facts) (call.Stream, error) {
	if s.spec.Dialect != plane.DialectChat {
		return nil, errNoChat
	}
	return s.only.OpenWith(ctx, from, c, f)
}

// startAll is a node with a server of every dialect.
func startAll(t *testing.T) (*node, *plane.Current) {
	t.Helper()
	results := newNatives(t)
	config := serviced(newServers(t).url, "")
	speech := newSpeechServer(t)
	for id, spec := range speechConfig().Upstreams {
		if spec.BaseURL = speech.url + "/v1"; spec.Dialect == plane.DialectNative {
			spec.BaseURL = results.URL + "/native"
		}
		config.Upstreams[id] = spec
	}
	maps.Copy(config.Models, speechConfig().Models)
	maps.Copy(config.Upstreams, map[string]plane.UpstreamSpec{
		"native": {ID: "native", Dialect: plane.DialectNative, BaseURL: results.URL + "/native"},
		"infer": {
			ID: "infer", Dialect: plane.DialectInfer, BaseURL: results.URL + "/native", Model: "osnet", Infer: `{
				"person_reid": {"input": "image", "output": "out", "as": "embedding", "dim": 2},
				"depth": {"model": "depth", "input": "image", "output": "out", "as": "depth"},
				"liveness": {"model": "pad", "input": "image", "output": "out", "as": "scores", "labels": ["live", "spoof"]}
			}`,
		},
	})
	for _, m := range []plane.Model{
		{ID: "Face", Family: "biometrix", Tasks: []string{"face", "spatial", "multicam", "tracking"}, Upstream: "native"},
		{ID: "Vision", Family: "biometrix", Tasks: []string{"person_reid", "depth", "liveness"}, Upstream: "infer"},
		{ID: "Mood", Family: "emoticore", Tasks: []string{"text"}, Upstream: "native"},
		{ID: "Feeling", Family: "emoticore", Tasks: []string{"voice"}, Upstream: "chat"},
	} {
		config.Models[m.ID] = m
	}
	for _, id := range []string{"Nova", "Broken"} { // nothing serves them
		delete(config.Models, id)
	}
	go func() { // nobody looks at what the server of results was asked
		for range results.bodies {
		}
	}()
	t.Cleanup(func() { close(results.bodies) })
	set := upstream.NewSet(upstream.Options{Timeouts: upstream.Timeouts{Answer: 20 * time.Second}}, nil)
	t.Cleanup(set.Close)
	var n *node
	n = start(t, func(o *gateway.Options) {
		unlimited(o)
		o.Current = func() *plane.Current { return config }
		o.Routes = gateway.Routes(api.New(api.Options{
			Pool: func(id string) (api.Pool, bool) {
				return strict{only{alone{told{n.model}, id}, id}, config.Upstreams[id]}, true
			},
			Service: func(id string) (*upstream.Service, error) { return set.Service(config, id) },
			Members: func(id string, _ pool.From) []pool.MemberStatus {
				return []pool.MemberStatus{{Upstream: id, State: pool.StateUp}}
			},
			Now: time.Now,
		}))
	})
	return n, config
}

// once sends a request on a connection that is closed after the answer.
func once(t *testing.T, n *node, request, method string) string {
	t.Helper()
	conn := send(t, n.main, strings.Replace(request, "\r\n", "\r\nConnection: close\r\n", 1))
	defer func() { must(t, conn.Close()) }()
	return string(receive(t, conn, method))
}

// TestWhatDoesNotFitIsTheCallersFault asks every path for every model and every task, with bodies that it takes and with bodies that it does
// not. Everything is configured and nothing is broken, so no answer may be of the 500s.
func TestWhatDoesNotFitIsTheCallersFault(t *testing.T) {
	n, config := startAll(t)
	asked := map[string]int{}
	ask := func(method, path, body string) {
		request := post(path, "svc_test_ok", body)
		if method == "GET" {
			request = "GET " + path + " HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer svc_test_ok\r\n\r\n"
		}
		answer := once(t, n, request, method)
		status := strings.Fields(answer)[1]
		asked[path+" "+status[:1]]++
		if status[0] == '5' || strings.Contains(answer, `"status":50`) {
			t.Errorf("%s %s %s: %s", method, path, body, answer[strings.Index(answer, "\r\n\r\n")+4:])
		}
	}
	for id, model := range config.Models {
		for _, path := range []string{"/v1/chat/completions", "/api/v1/chat/completions"} {
			ask("POST", path, fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hello"}]}`, id))
			ask("POST", path, fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":"hello"}]}`, id))
		}
		ask("GET", "/v1/models/"+id, "")
		ask("POST", "/api/v1/agent", fmt.Sprintf(`{"model":%q,"prompt":"hello"}`, id))
		ask("POST", "/api/v1/agent", fmt.Sprintf(`{"model":%q,"prompt":"hello","stream":true,"image_b64":%q}`, id, pixel))
		for _, task := range model.Tasks {
			where := fmt.Sprintf(`"family":%q,"task":%q`, model.Family, task)
			for _, path := range []string{"/api/v1/generate", "/api/v1/stream"} {
				ask("POST", path, `{`+where+`,"prompt":"hello"}`)
				ask("POST", path, `{`+where+`,"prompt":"hello","kwargs":{"audio_base64":"aGk=","image_b64":"aGk="}}`)
			}
			for _, input := range []string{
				`"hello"`, `{"prompt":"hello"}`, `{"text":"hello"}`, `{"messages":[{"role":"user","content":"hello"}]}`, `{"image_base64":"aGk="}`,
				`{"audio_base64":"aGk="}`, `{"messages":[]}`, `{"messages":"hello"}`, `""`, `5`, `[]`, `null`, `{}`,
			} {
				ask("POST", "/api/v1/predict", `{`+where+`,"input_data":`+input+`}`)
				ask("POST", "/api/v1/predict", `{`+where+`,"input":`+input+`}`)
			}
			for _, path := range []string{"/api/v1/detect", "/api/v1/extract", "/api/v1/identify"} {
				ask("POST", path, fmt.Sprintf(`{"task":%q,"input_data":{"image_base64":"aGk="}}`, task))
			}
			ask("POST", "/api/v1/compare", fmt.Sprintf(`{"task":%q,"input_data":{"probe":{"image_base64":"aGk="},"reference":{"image_base64":"aGk="}}}`, task))
			ask("POST", "/api/v1/match", fmt.Sprintf(`{"task":%q,"input_data":{"org_id":"dev_1","image_base64":"aGk="}}`, task))
			ask("POST", "/api/v1/enroll", fmt.Sprintf(`{"task":%q,"input_data":{"org_id":"dev_1","subject_id":"emp-17","image_base64":"aGk="}}`, task))
		}
	}
	ask("POST", "/api/v1/depth-estimate", `{"image_base64":"aGk="}`)
	ask("POST", "/api/v1/translate", `{"text":"hello","target":"sw"}`)
	for _, path := range []string{"/v1/chat/completions", "/api/v1/agent", "/api/v1/generate", "/api/v1/predict", "/api/v1/extract"} {
		if asked[path+" 2"] == 0 {
			t.Errorf("%s: nothing was answered: %v", path, asked)
		}
	}
}

// TestOpenAIsDoorNamesWhatItServes: a model that is there and does not chat is not there for this door, and its lists name those that it
// answers for, which the caller may use.
func TestOpenAIsDoorNamesWhatItServes(t *testing.T) {
	n, config := startAll(t)
	answer := string(receive(t, send(t, n.main, "GET /v1/models HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer svc_test_ok\r\n\r\n"), "GET"))
	_, body, _ := strings.Cut(answer, "\r\n\r\n")
	var list struct{ Data []struct{ ID string } }
	must(t, json.Unmarshal([]byte(body), &list))
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	if !slices.Contains(names, "Darwin") || slices.Contains(names, "images") {
		t.Errorf("listed: %v", names)
	}
	said := "The models are " + strings.Join(names, ", ") + "."
	for _, id := range append(slices.Collect(maps.Keys(config.Models)), "gpt-5") {
		served := slices.Contains(names, id)
		for _, request := range []string{
			"GET /v1/models/" + id + " HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer svc_test_ok\r\n\r\n",
			post("/v1/chat/completions", "svc_test_ok", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, id)),
		} {
			answer := once(t, n, request, "GET")
			if served != strings.HasPrefix(answer, "HTTP/1.1 200 ") || !served && (!strings.HasPrefix(answer, "HTTP/1.1 404 ") || !strings.Contains(answer, said)) {
				t.Errorf("%s, served: %t: %s", id, served, answer)
			}
		}
	}
}
