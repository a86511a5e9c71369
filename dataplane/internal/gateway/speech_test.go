package gateway_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/dataplane/internal/pool"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/testkit"
)

// speechServer stands for the servers of the dialects transcriptions, speech and native. What a recording or a text says is what
// the server does.
type speechServer struct {
	url string

	mu       sync.Mutex
	services map[string]*upstream.Service
	began    chan bool   // a transcription is being uploaded, and some of it is here
	seen     chan string // how each upload to transcribe ended: "whole" or an error
}

func newSpeechServer(t *testing.T) *speechServer {
	s := &speechServer{services: map[string]*upstream.Service{}, began: make(chan bool, 100), seen: make(chan string, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/audio/transcriptions", s.transcribe)
	mux.HandleFunc("/v1/audio/speech", s.speak)
	mux.HandleFunc("/v1/voice/characteristics", s.voice)
	mux.HandleFunc("/v1/voice/analyze", s.voice)
	mux.HandleFunc("/v1/voice-id", s.voice)
	server := httptest.NewServer(mux)
	s.url = server.URL
	t.Cleanup(func() {
		for _, service := range s.services {
			service.Close()
		}
		server.Close()
	})
	return s
}

// replace puts another server in the place of all three.
func (s *speechServer) replace(t *testing.T, handler http.Handler) {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.url = server.URL
}

// service is api.Options.Service.
func (n *node) service(id string) (*upstream.Service, error) {
	s := n.speech
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.services[id] == nil {
		spec := speechConfig().Upstreams[id]
		spec.BaseURL = s.url + "/v1"
		service, err := upstream.NewService(spec, "", upstream.Options{Timeouts: upstream.Timeouts{Head: hang}, KeepAlive: 10 * time.Second})
		if err != nil {
			return nil, err
		}
		s.services[id] = service
	}
	return s.services[id], nil
}

// members is api.Options.Members.
func members(id string) []pool.MemberStatus {
	return []pool.MemberStatus{
		{Upstream: id, State: pool.StateUp, InFlight: 2},
		{Upstream: id + "-2", State: pool.StateOpen, Back: 1500 * time.Millisecond, Fault: plane.FailServerError},
	}
}

func speechConfig() *plane.Current {
	c := &plane.Current{Cursor: plane.Cursor{Epoch: 1, Version: 7}, Models: map[string]plane.Model{}, Upstreams: map[string]plane.UpstreamSpec{}}
	for id, m := range map[string]struct {
		dialect string
		tasks   []string
	}{
		"transcribe": {plane.DialectTranscriptions, []string{"speech_to_text"}},
		"speech":     {plane.DialectSpeech, []string{"text_to_speech"}},
		"voice":      {plane.DialectNative, []string{"voice_analysis", "voice_footprint"}},
	} {
		c.Models[id] = plane.Model{ID: id, Family: "darwin", Tasks: m.tasks, Upstream: id, Setting: "MODELGATE_" + strings.ToUpper(id) + "_URL"}
		c.Upstreams[id] = plane.UpstreamSpec{ID: id, Dialect: m.dialect, Model: "m"}
	}
	return c
}

// unserved is the same without servers.
func unserved() *plane.Current {
	c := speechConfig()
	c.Upstreams = nil
	return c
}

func (s *speechServer) transcribe(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		http.Error(w, "no form", http.StatusBadRequest)
		return
	}
	fields := map[string]string{}
	first, sum, size := make([]byte, 0, 64), sha256.New(), int64(0)
	for {
		part, err := parts.NextPart()
		if err == nil && part.FormName() == "file" {
			fields["file"] = part.FileName()
			s.began <- true
			size, err = io.Copy(io.MultiWriter(sum, prefix{&first}), part)
			if bytes.HasPrefix(first, []byte("early")) {
				break
			}
		} else if err == nil {
			var value []byte
			value, err = io.ReadAll(part)
			fields[part.FormName()] = string(value)
		}
		if errors.Is(err, io.EOF) {
			s.seen <- "whole"
			break
		}
		if err != nil {
			s.seen <- err.Error()
			return
		}
	}
	said := strings.Trim(string(first), "\x00\r\n")
	switch {
	case strings.HasPrefix(said, "refuse"):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"Audio file is too short."}}`)
	case strings.HasPrefix(said, "no segments") && fields["response_format"] == "verbose_json":
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"response_format 'verbose_json' is not compatible with this model."}}`)
	case strings.HasPrefix(said, "no segments"):
		answer(w, `{"text":"All in one.","usage":{"type":"tokens","input_tokens":30,"output_tokens":4}}`)
	case strings.HasPrefix(said, "locked"):
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(said, "large"):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case strings.HasPrefix(said, "html"):
		w.Header().Set("Content-Type", "text/html")
	case strings.HasPrefix(said, "nonsense"):
		answer(w, `{"segments":[]}`)
	case strings.HasPrefix(said, "silence"):
		answer(w, `{"text":"","language":"swahili","duration":2,"segments":[]}`)
	case strings.HasPrefix(said, "cut"):
		panic(http.ErrAbortHandler)
	default:
		answer(w, fmt.Sprintf(
			`{"task":"transcribe","text":"%d bytes of %s with %s. %x.","language":"english","duration":1.5,"segments":[`+
				`{"start":0,"end":1,"text":" %[1]d bytes of %[2]s with %[3]s."},{"start":1,"end":1.5,"text":" %[4]x."}]}`,
			size, fields["file"], fields["language"], sum.Sum(nil)[:4]))
	}
}

// prefix keeps the first bytes of what is written.
type prefix struct{ b *[]byte }

func (p prefix) Write(b []byte) (int, error) {
	*p.b = append(*p.b, b[:min(len(b), cap(*p.b)-len(*p.b))]...)
	return len(b), nil
}

func answer(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

func (s *speechServer) speak(w http.ResponseWriter, r *http.Request) {
	var q struct{ Model, Input, Voice, Response_format string }
	if json.NewDecoder(r.Body).Decode(&q) != nil || q.Model != "m" || q.Voice != "alloy" || q.Response_format != "mp3" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	switch q.Input {
	case "wave":
		_, _ = io.WriteString(w, "RIFF\x2e\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x0a\x00\x00\x00\x14\x00\x00\x00\x02\x00\x10\x00data\x0a\x00\x00\x000123456789")
	case "nonsense":
		_, _ = io.WriteString(w, "OggS is not asked for, and not taken, however long it is.")
	case "nothing":
	default:
		_, _ = io.WriteString(w, "ID3\x04\x00\x00"+q.Input)
	}
}

func (s *speechServer) voice(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Audio    string `json:"audio_base64"`
		Action   string `json:"action"`
		Format   string `json:"format"`
		Language string `json:"language"`
		Speaker  string `json:"speaker_label"`
	}
	err := json.NewDecoder(r.Body).Decode(&q)
	audio, decodeErr := base64.StdEncoding.DecodeString(q.Audio)
	switch {
	case err != nil || decodeErr != nil || r.Header.Get("X-Account-Id") == "":
		w.WriteHeader(http.StatusUnprocessableEntity)
	case string(audio) == "nonsense":
		answer(w, `{"gender":"female","embedding":[0,0],"embedding_dim":2}`)
	case r.URL.Path == "/v1/voice-id":
		answer(w, fmt.Sprintf(`{"embedding":[0.5,%d],"embedding_dim":2,"speaker_label":%q,"score":null}`, len(audio), q.Speaker))
	default:
		answer(w, fmt.Sprintf(
			`{"f0":{"mean_hz":%d,"median_hz":196,"min_hz":120,"max_hz":290,"std_hz":31.5},"gender":{"estimate":"female","confidence":0.8},`+
				`"register":"medium","speaking_rate":null,"voiced_ratio":0.6,"energy":{"mean_db":-23.4,"max_db":-9.1,"loudness_lufs":null},`+
				`"duration_seconds":3.2,"asked":%q}`, 100+len(audio), q.Format+q.Language))
	}
}

// TestSpeechTranscripts is TestTranscripts for the operations on speech. The body of a form has CRLF, too. A file with
// "not-configured" in its name is sent to a node without servers.
func TestSpeechTranscripts(t *testing.T) {
	testkit.Transcripts(t, "testdata/speech", func(t *testing.T, request []byte) []byte {
		n := start(t, func(o *gateway.Options) {
			o.Current = speechConfig
			if strings.Contains(t.Name(), "not-configured") {
				o.Current = unserved
			}
		})
		head, body, _ := strings.Cut(string(request), "\n\n")
		if strings.Contains(head, "multipart") {
			body = strings.ReplaceAll(body, "\n", "\r\n")
		}
		head = strings.ReplaceAll(head, "@length@", itoa(len(body)))
		method, _, _ := strings.Cut(head, " ")
		conn := send(t, n.main, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body)
		return []byte(constant(string(receive(t, conn, method))))
	})
}
