package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/api"
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
)

// pixel is a whole image of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="

// servers stands for the translation, search and image servers. What it is asked says what it does.
type servers struct {
	url     string
	open    chan string // what is asked for, where it is silent
	left    chan string // the same, when nobody waits any more
	release func()      // the answers of what is late
	late    chan struct{}
	lists   atomic.Int64 // of languages that were asked for
}

func newServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{open: make(chan string, 10), left: make(chan string, 10), late: make(chan struct{})}
	s.release = sync.OnceFunc(func() { close(s.late) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /languages", func(w http.ResponseWriter, _ *http.Request) {
		s.lists.Add(1)
		reply(w, `[{"code":"en","name":"English","targets":["en","sw","zt"]},{"code":"sw","name":"Swahili","targets":["en"]},`+
			`{"code":"zt","name":"Chinese (traditional)","targets":["en"]}]`)
	})
	mux.HandleFunc("POST /detect", func(w http.ResponseWriter, _ *http.Request) { reply(w, `[{"confidence":90.0,"language":"sw"}]`) })
	mux.HandleFunc("POST /translate", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Q, Source, Target, Format string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		if s.misbehave(w, r, q.Q) {
			return
		}
		switch {
		case q.Q == "empty":
			reply(w, `{"translatedText":" \n"}`)
		case q.Q == "old server":
			reply(w, `{"translatedText":"seva ya zamani"}`)
		case q.Source == "auto":
			reply(w, `{"translatedText":"Habari za asubuhi","detectedLanguage":{"confidence":92.0,"language":"en"}}`)
		default:
			reply(w, `{"translatedText":"`+q.Source+` to `+q.Target+` as `+q.Format+`","detectedLanguage":[]}`)
		}
	})
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if s.misbehave(w, r, q.Get("q")) {
			return
		}
		switch {
		case strings.HasPrefix(q.Get("q"), "nothing"):
			reply(w, `{"results":[]}`)
		case strings.HasPrefix(q.Get("q"), "blocked"):
			reply(w, `{"results":[],"unresponsive_engines":[["one","CAPTCHA"]]}`)
		default:
			reply(w, `{"results":[{"url":"https://a.example/1","title":"One","content":"The first."},{"url":"javascript:alert(1)","title":"Bad"},`+
				`{"url":"https://b.example/","title":"Two\nlines","content":"`+q.Get("language")+`","publishedDate":"2026-01-05T12:00:00"}]}`)
		}
	})
	mux.HandleFunc("POST /images/generations", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Prompt, Model, Size string
			Format              string `json:"response_format"`
			N                   int
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		if s.misbehave(w, r, q.Prompt) {
			return
		}
		image, usage := pixel, ""
		switch {
		case q.Prompt == "jpeg":
			image = base64.StdEncoding.EncodeToString([]byte("\xff\xd8\xff\xe0 no png"))
		case q.Prompt == "half":
			image = image[:len(image)-8]
		case q.Prompt == "counted":
			usage = `,"usage":{"input_tokens":12,"output_tokens":272}`
		case q.Prompt == "large" && q.Size != "1792x1024", q.N != 1, q.Model != "m", q.Format != "b64_json":
			image = "not what was asked for"
		}
		reply(w, `{"created":1,"data":[{"b64_json":"`+image+`"}]`+usage+`}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(s.release)
	s.url = server.URL
	return s
}

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// misbehave does what is asked for by name, and reports whether that was anything.
func (s *servers) misbehave(w http.ResponseWriter, r *http.Request, asked string) bool {
	word, _, _ := strings.Cut(asked, " ")
	switch word {
	case "slow-down":
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	case "denied":
		w.WriteHeader(http.StatusForbidden)
	case "refused":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"not this"}`)
	case "broken":
		w.WriteHeader(http.StatusInternalServerError)
	case "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>Hello</p>")
	case "no-json":
		reply(w, `{"translatedText":`)
	case "other-shape":
		reply(w, `{"translatedText":7,"results":{},"data":[]}`)
	case "cut":
		w.Header().Set("Content-Length", "1000")
		reply(w, `{"translatedText":"Hab`)
	case "silent":
		s.open <- asked
		select {
		case <-r.Context().Done():
			s.left <- asked
		case <-s.late: // the test is over
		}
	case "late":
		s.open <- asked
		<-s.late
		return false
	default:
		return false
	}
	return true
}

// told is the model for prompts of ours, which contain what it is to do.
type told struct{ *model }

func (m told) Open(ctx context.Context, c *upstream.Chat) (call.Stream, error) {
	for _, what := range []string{"unreachable", "cut", "wait"} {
		if strings.Contains(string(c.Prompt), "have the model "+what) {
			return m.model.Open(ctx, &upstream.Chat{Prompt: []byte(`"` + what + `"`)})
		}
	}
	return m.model.Open(ctx, c)
}

// only is a pool of one upstream, which is asked once.
type only struct {
	alone
	id string
}

func (o only) Do(ctx context.Context, _ pool.From, f *pool.Facts, ask func(ctx context.Context, id string) error) error {
	f.Upstream, f.Attempts = o.id, 1
	return ask(ctx, o.id)
}

func (o only) DoStream(ctx context.Context, _ pool.From, f *pool.Facts, ask func(ctx context.Context, id string) (call.Stream, error)) (call.Stream, error) {
	f.Upstream, f.Attempts = o.id, 1
	return ask(ctx, o.id)
}

// serviced is the configuration of a node with all servers, without those that are named in without.
func serviced(url, without string) *plane.Current {
	c := current()
	for id, is := range map[string]struct{ dialect, task string }{
		"translate": {plane.DialectTranslate, "translation"},
		"search":    {plane.DialectSearch, "deep_search"},
		"images":    {plane.DialectImages, "image_generation"},
	} {
		model := plane.Model{ID: id, Family: "darwin", Tasks: []string{is.task}, Upstream: id, Setting: "MODELGATE_" + strings.ToUpper(id) + "_URL"}
		spec := plane.UpstreamSpec{ID: id, Dialect: is.dialect, BaseURL: url, Model: "m"}
		switch {
		case strings.Contains(without, "answers"):
			spec.BaseURL = "http://127.0.0.1:1"
		case strings.Contains(without, "realness"):
			spec.Simulator = true
		case strings.Contains(without, "server of its own"):
			model.Upstream = "chat"
		case strings.Contains(without, id):
			model.Upstream = ""
		}
		c.Models[id], c.Upstreams[id] = model, spec
	}
	if strings.Contains(without, "chat") {
		for _, id := range []string{"Darwin", "Mock", "Broken"} {
			delete(c.Models, id)
		}
	}
	return c
}

// startServices returns a node in front of servers.
func startServices(t *testing.T, s *servers, without string, times upstream.Timeouts, keepAlive time.Duration) *node {
	t.Helper()
	config := serviced(s.url, without)
	set := upstream.NewSet(upstream.Options{Timeouts: times, KeepAlive: keepAlive}, nil)
	t.Cleanup(set.Close)
	var n *node
	n = start(t, func(o *gateway.Options) {
		o.Current = func() *plane.Current { return config }
		o.Routes = gateway.Routes(api.New(api.Options{
			Pool:    func(id string) (api.Pool, bool) { return only{alone{told{n.model}, id}, id}, true },
			Service: func(id string) (*upstream.Service, error) { return set.Service(config, id) },
			Now:     time.Now, KeepAlive: keepAlive,
		}))
	})
	return n
}

// TestServiceTranscripts is TestTranscripts for what is no chat. The header X-Without of a request names what is not configured.
func TestServiceTranscripts(t *testing.T) {
	testkit.Transcripts(t, "testdata/services", func(t *testing.T, request []byte) []byte {
		without := ""
		for line := range strings.Lines(string(request)) {
			if rest, ok := strings.CutPrefix(line, "X-Without: "); ok {
				without = strings.TrimSpace(rest)
			}
		}
		n := startServices(t, newServers(t), without, upstream.Timeouts{}, 0)
		return n.transcribe(t, request)
	})
}
