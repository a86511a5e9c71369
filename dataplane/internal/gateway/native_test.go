package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
)

// natives is a server of results. The word after "does:" in a body says how it misbehaves.
type natives struct {
	*httptest.Server
	waiting chan struct{} // a request that waits
	left    chan struct{} // its client has left
	bodies  chan []byte   // what was asked
}

func newNatives(t *testing.T) *natives {
	n := &natives{waiting: make(chan struct{}, 10), left: make(chan struct{}, 10), bodies: make(chan []byte, 10)}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

var does = regexp.MustCompile(`does:([a-z-]+)`)

func (n *natives) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	n.bodies <- body
	w.Header().Set("Content-Type", "application/json")
	word := ""
	if found := does.FindSubmatch(body); found != nil {
		word = string(found[1])
	}
	switch word {
	case "refuse":
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"detail":[{"loc":["body","input_data"],"msg":"no face in the image","type":"value_error"}]}`)
	case "conflict":
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"detail":"cam-2 is not calibrated"}`)
	case "slow-down":
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	case "break":
		w.WriteHeader(http.StatusInternalServerError)
	case "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>hello")
	case "no-json":
		_, _ = io.WriteString(w, `{"detections":[`)
	case "miscount":
		_, _ = io.WriteString(w, `{"detections":[],"count":3}`)
	case "zeros":
		_, _ = io.WriteString(w, `{"embedding":[0,0],"embedding_dim":2}`)
	case "other-subject":
		_, _ = io.WriteString(w, `{"status":"enrolled","org_id":"dev_1","subject_id":"somebody else","embedding_dim":4}`)
	case "empty":
		_, _ = io.WriteString(w, `{}`)
	case "wait":
		n.waiting <- struct{}{}
		<-r.Context().Done()
		n.left <- struct{}{}
	case "events", "events-then-cut", "events-then-error", "events-then-nonsense", "events-then-wait":
		n.events(w, r, word)
	default:
		_, _ = io.WriteString(w, n.well(r, body))
	}
}

// events answers with a stream. What does not wait is one write, so that the transcripts do not depend on the time between two.
func (n *natives) events(w http.ResponseWriter, r *http.Request, word string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": hello\n\ndata: {\"type\": \"delta\",\ndata:  \"text\": \"Hab\"}\n\ndata: {\"type\":\"delta\",\"text\":\"ari\"}\n\n")
	switch word {
	case "events":
		_, _ = io.WriteString(w, "data: {\"family\":\"emoticore\",\"result\":{\"label\":\"joy\"}}\n\ndata: [DONE]\n\n")
	case "events-then-error":
		_, _ = io.WriteString(w, "data: {\"type\":\"error\",\"status\":500,\"detail\":\"out of memory\"}\n\ndata: [DONE]\n\n")
	case "events-then-nonsense":
		_, _ = io.WriteString(w, "data: {\"type\":\"poem\"}\n\ndata: [DONE]\n\n")
	case "events-then-wait":
		w.(http.Flusher).Flush() //nolint:forcetypeassert // net/http's is one
		n.waiting <- struct{}{}
		<-r.Context().Done()
		n.left <- struct{}{}
	}
}

// well is the good answer of a path. It repeats what the gateway has to add.
func (n *natives) well(r *http.Request, body []byte) string {
	if strings.HasPrefix(r.URL.Path, "/native/v2/models/") {
		return inference(r.URL.Path, body)
	}
	path := strings.TrimPrefix(r.URL.Path, "/native")
	switch path {
	case "/detect":
		return `{ "detections": [{"bbox":[1,2,3,4],"confidence":0.9,"landmarks":[[1,2]],"quality":"good"}], "count": 1 }`
	case "/extract":
		return `{"embedding":[0.5,-1e-3,0],"embedding_dim":3}`
	case "/compare":
		return `{"match":true,"score":0.8,"confidence":0.9,"threshold":0.5}`
	case "/identify":
		org, _ := subjectOf(body)
		return fmt.Sprintf(`{"matches":[{"id":%q,"score":0.8,"confidence":0.9}],"total_matches":4}`, org)
	case "/enroll":
		org, subject := subjectOf(body)
		return fmt.Sprintf(`{"status":"enrolled","org_id":%q,"subject_id":%q,"embedding_dim":4}`, org, subject)
	case "/delete_enrollment":
		org, subject := subjectOf(body)
		return fmt.Sprintf(`{"deleted":true,"org_id":%q,"subject_id":%q}`, org, subject)
	case "/match":
		return `{"matched":false,"subject_id":null,"score":null,"threshold":0.5,"candidates":[]}`
	case "/depth-estimate":
		return `{"depth_map_b64":"aGk=","detections_3d":[],"backend":"midas-v3","latency_ms":3}`
	case "/spatial-query":
		return `{"subjects_in_radius":[{"subject_id":"emp-17","score":0.8,"distance_m":1.5,"bbox":[1,2,3,4]}],"total_detected":2,"query_radius_m":3.5,"latency_ms":3}`
	case "/multicam-identify":
		return `{"tracks":[{"track_id":"t1","subject_id":null,"score":null,"views":[{"camera_id":"a","bbox":[1,2,3,4]}]}],"total_views":1,"fused_subjects":0,"latency_ms":3}`
	case "/voice-id":
		return `{"embedding":[0.5,-0.5],"embedding_dim":2}`
	case "/tracking/analyze":
		return `{"tracks":[{"track_id":"t1","boxes":[{"t":0,"bbox":[1,2,3,4]}]}],"total_frames":1,"total_tracks":1,"latency_ms":3}`
	}
	return fmt.Sprintf(`{"path":%q,"account":%q,"asked":%s}`, path, r.Header.Get("X-Account-Id"), body)
}

// subjectOf is the subject of a gallery that a body names.
func subjectOf(body []byte) (org, subject string) {
	var asked struct {
		Input struct {
			OrgID     string `json:"org_id"`
			SubjectID string `json:"subject_id"`
		} `json:"input_data"`
	}
	_ = json.Unmarshal(body, &asked)
	return asked.Input.OrgID, asked.Input.SubjectID
}

// inference answers in the dialect kserve: a depth of as many metres as the column, a vector, or logits.
func inference(path string, body []byte) string {
	switch {
	case strings.Contains(string(body), `"data":["broken"]`):
		return `{"outputs":[]}`
	case strings.Contains(path, "/depth/"):
		return `{"outputs":[{"name":"out","datatype":"FP32","shape":[1,1,2,4],"data":[0,1,2,3,0,1,2,3]}]}`
	case strings.Contains(path, "/pad/"):
		return `{"outputs":[{"name":"out","datatype":"FP32","shape":[1,2],"data":[[0,0]]}]}`
	}
	return `{"outputs":[{"name":"other","datatype":"BYTES","shape":[1],"data":["x"]},{"name":"out","datatype":"FP32","shape":[1,2],"data":[0.6,-0.8]}]}`
}

// startNative is a node with the servers of results beside the chat.
func startNative(t *testing.T, changes ...func(*gateway.Options)) (*node, *natives) {
	t.Helper()
	server := newNatives(t)
	config := current()
	config.Upstreams["native"] = plane.UpstreamSpec{ID: "native", Dialect: plane.DialectNative, BaseURL: server.URL + "/native"}
	config.Upstreams["mock"] = plane.UpstreamSpec{ID: "mock", Dialect: plane.DialectNative, BaseURL: server.URL + "/native", Simulator: true}
	config.Upstreams["infer"] = plane.UpstreamSpec{
		ID: "infer", Dialect: plane.DialectInfer, BaseURL: server.URL + "/native", Model: "osnet", Infer: `{
			"person_reid": {"input": "image", "output": "out", "as": "embedding", "dim": 2},
			"depth": {"model": "depth", "input": "image", "output": "out", "as": "depth"},
			"liveness": {"model": "pad", "input": "image", "output": "out", "as": "scores", "labels": ["live", "spoof"], "softmax": true}
		}`,
	}
	for _, m := range []plane.Model{
		{ID: "Face", Family: "biometrix", Tasks: []string{"face", "spatial", "multicam", "tracking"}, Upstream: "native"},
		{ID: "Vision", Family: "biometrix", Tasks: []string{"person_reid", "depth", "liveness", "gait"}, Upstream: "infer"},
		{ID: "Iris", Family: "biometrix", Tasks: []string{"iris"}, Setting: "MODELGATE_BIOMETRIX_URL"},
		{ID: "Mood", Family: "emoticore", Tasks: []string{"text"}, Upstream: "mock"},
		{ID: "Speech", Family: "darwin", Tasks: []string{"voice_footprint", "planning"}, Upstream: "native"},
	} {
		config.Models[m.ID] = m
	}
	config.Skills = map[string]plane.SkillSpec{
		"biometrix_enroll": {
			Name: "biometrix_enroll", Description: "Enrolls.", Kind: plane.SkillHosted, Family: "biometrix", Task: "face", Upstream: "native",
			Path: "/skills/biometrix_enroll",
		},
		"biometrix_face": {
			Name: "biometrix_face", Description: "Detects.", Kind: plane.SkillHosted, Family: "biometrix", Task: "face", Upstream: "native",
			Path: "/skills/biometrix_face",
		},
		"create_pdf": {
			Name: "create_pdf", Description: "Writes.", Kind: plane.SkillHosted, Family: "darwin", Task: "conversation",
			Path: "/skills/create_pdf", Setting: "MODELGATE_SKILLS_URL",
		},
	}
	set := upstream.NewSet(upstream.Options{Timeouts: upstream.Timeouts{Answer: 20 * time.Second}}, nil)
	t.Cleanup(set.Close)
	n := start(t, func(o *gateway.Options) {
		for _, change := range changes {
			change(o)
		}
		o.Current = func() *plane.Current { return config }
		o.Routes = gateway.Routes(api.New(api.Options{
			Pool:    func(id string) (api.Pool, bool) { return only{id: id}, true },
			Service: func(id string) (*upstream.Service, error) { return set.Service(config, id) },
			Members: func(id string, _ pool.From) []pool.MemberStatus {
				return []pool.MemberStatus{{Upstream: id, State: pool.StateUp}}
			},
			Scene: scenes,
			Now:   time.Now,
		}))
	})
	return n, server
}

// TestNativeTranscripts is TestTranscripts for the servers of results. @png@ stands for a picture.
func TestNativeTranscripts(t *testing.T) {
	var file bytes.Buffer
	must(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, 8, 4))))
	picture := base64.StdEncoding.EncodeToString(file.Bytes())
	took := regexp.MustCompile(`"latency_ms":[0-9.]+`)
	testkit.Transcripts(t, "testdata/native", func(t *testing.T, request []byte) []byte {
		n, _ := startNative(t)
		answer := n.transcribe(t, bytes.ReplaceAll(request, []byte("@png@"), []byte(picture)))
		if bytes.Contains(request, []byte("@png@")) {
			answer = regexp.MustCompile(`Content-Length: \d+`).ReplaceAll(answer, []byte("Content-Length: <n>"))
			answer = took.ReplaceAll(answer, []byte(`"latency_ms":<ms>`))
		}
		return answer
	})
}

func TestServersOfResultsAreLetGo(t *testing.T) {
	detect := `{"input_data":{"image_base64":"does:wait"}}`
	for name, request := range map[string]string{
		"whole":          post("/api/v1/detect", "svc_test_ok", detect),
		"skill":          post("/api/v1/skills/biometrix_face/invoke", "svc_test_ok", `{"args":{"note":"does:wait"}}`),
		"silent stream":  post("/api/v1/stream", "svc_test_ok", `{"family":"emoticore","task":"text","prompt":"does:wait"}`),
		"talking stream": post("/api/v1/stream", "svc_test_ok", `{"family":"emoticore","task":"text","prompt":"does:events-then-wait"}`),
	} {
		t.Run(name, func(t *testing.T) {
			n, server := startNative(t)
			conn := send(t, n.main, request)
			await(t, server.waiting, "the request")
			must(t, conn.Close())
			await(t, server.left, "the end of the request")
			if r := n.recorded(t); r.out.End != plane.EndClientGone {
				t.Errorf("recorded as %q", r.out.End)
			}
		})
	}
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(hang):
		t.Fatalf("%s did not reach the server", what)
	}
}
