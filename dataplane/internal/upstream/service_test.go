package upstream

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func newService(t *testing.T, answer http.HandlerFunc) *Service {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s, err := NewService(plane.UpstreamSpec{ID: "voice", Dialect: plane.DialectSpeech, BaseURL: server.URL + "/v1"}, "secret", Options{
		Timeouts: Timeouts{Answer: 5 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestServiceSendsWhatItIsGiven(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "Text/Plain; charset=utf-8")
		_, _ = io.WriteString(w, strings.Join([]string{
			r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("Authorization"), string(body),
		}, "|"))
	})
	for _, tt := range []struct {
		x    Exchange
		want string
	}{
		{Exchange{Path: "/audio/speech", Body: []byte(`{}`), Accept: "text/plain"}, "POST|/v1/audio/speech|application/json|text/plain|Bearer secret|{}"},
		{Exchange{Method: "GET", Path: "/voices?q=a%20b"}, "GET|/v1/voices?q=a%20b|||Bearer secret|"},
		{Exchange{Method: "DELETE", Type: "text/csv", Body: []byte("a,b")}, "DELETE|/v1|text/csv||Bearer secret|a,b"},
	} {
		reply, err := s.Do(t.Context(), &tt.x)
		if err != nil || string(reply.Body) != tt.want || reply.Type != "text/plain" {
			t.Errorf("got %q of type %q, %v; want %q", reply.Body, reply.Type, err, tt.want)
		}
	}
}

func TestServiceFailuresAreTheUpstreams(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		x      Exchange
		kind   apierr.Kind
		detail string
	}{
		{"error object", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"too short"}}`)
		}, Exchange{}, apierr.BadRequest, "refused the request: too short"},
		{"credential", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, Exchange{}, apierr.BadGateway, "credential"},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, Exchange{}, apierr.BadGateway, "status 204"},
		{
			"type", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") },
			Exchange{Accept: "application/json"},
			apierr.BadGateway, "another content type than application/json",
		},
		{
			"size", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3<<20)) },
			Exchange{BytesMax: 2 << 20},
			apierr.BadGateway, "over 2 MiB",
		},
		{"cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Exchange{}, apierr.BadGateway, "Try again"},
	} {
		reply, err := newService(t, tt.answer).Do(t.Context(), &tt.x)
		if e := apierr.From(err); err == nil || e.Kind != tt.kind || !strings.Contains(e.Detail, tt.detail) {
			t.Errorf("%s: got %q, %v; want a %d with %q", tt.name, reply.Body, err, tt.kind.Status(), tt.detail)
		}
	}
}

func TestSetKeepsTheDialectsApart(t *testing.T) {
	current := &plane.Current{Upstreams: map[string]plane.UpstreamSpec{
		"chat":  {ID: "chat", Dialect: plane.DialectChat, BaseURL: "http://127.0.0.1:1", Model: "m"},
		"voice": {ID: "voice", Dialect: plane.DialectSpeech, BaseURL: "http://127.0.0.1:1"},
		"odd":   {ID: "odd", Dialect: "odd", BaseURL: "http://127.0.0.1:1"},
	}}
	s := NewSet(Options{}, nil)
	defer s.Close()
	if _, err := s.Get(current, "chat"); err != nil {
		t.Error(err)
	}
	if _, err := s.Service(current, "voice"); err != nil {
		t.Error(err)
	}
	_, chat := s.Service(current, "chat")
	_, voice := s.Get(current, "voice")
	_, odd := s.Service(current, "odd")
	for err, want := range map[error]string{chat: "cannot answer anything but chats", voice: "dialect speech, which cannot answer chats", odd: "misconfigured"} {
		if e := apierr.From(err); e == nil || e.Kind != apierr.Unavailable || !strings.Contains(e.Detail, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// An answer that is too large is what somebody asked for. It must not count against the server, however it was asked.
func TestAnAnswerThatIsTooLargeIsProvoked(t *testing.T) {
	large := make([]byte, max(answerBytesMax, speechBytesMax)+1)
	copy(large, "ID3")
	s := newService(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })
	errs := map[string]error{}
	_, errs["whole"] = s.Do(t.Context(), &Exchange{Path: "/x"})
	_, errs["once"] = s.Once(t.Context(), &Exchange{Path: "/x"}, nil)
	_, errs["events"] = s.OpenWhole(t.Context(), &Upload{Path: "/x", Body: strings.NewReader("")}, nil)
	_, _, errs["speech"] = s.Speak(t.Context(), "Hello", nil)
	for way, err := range errs {
		e, ok := errors.AsType[*classed](err)
		if !ok || !e.Provoked() || !strings.Contains(err.Error(), " MiB") {
			t.Errorf("%s: %v", way, err)
		}
	}
}
