package upstream

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

func newNative(t *testing.T, o Options, answer http.HandlerFunc) *Service {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s, err := NewService(plane.UpstreamSpec{ID: "native", Dialect: plane.DialectNative, BaseURL: server.URL}, "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// follow opens a stream and relays it.
func follow(t *testing.T, s *Service, each Each) (string, call.Outcome, error) {
	t.Helper()
	if each == nil {
		each = func(event []byte) ([]byte, string) { return event, "" }
	}
	stream, err := s.NativeStream(t.Context(), &NativeCall{Path: "/stream", Account: "org_1", Body: []byte(`{}`), Each: each})
	if err != nil {
		return "", call.Outcome{}, err
	}
	defer stream.Close()
	var out bytes.Buffer
	w := sse.NewWriter(&out, nil)
	o := stream.Relay(w)
	_ = w.Flush()
	return out.String(), o, nil
}

func events(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

func TestNativeStreamPassesEventsOn(t *testing.T) {
	const image, done = `{"type":"image","image_b64":"aGk="}`, "data: [DONE]\n\n"
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
		end    string
		usage  call.Usage
	}{
		{
			"text and a count", events("data: {\"type\":\"delta\",\"text\":\"a\"}\r\n\r\ndata: {\"type\":\"text\",\"usage\":{\"tokens_in\":3,\"tokens_out\":1}}\n\n" + done),
			`data: {"type":"delta","text":"a"}` + "\n\n" + `data: {"type":"text","usage":{"tokens_in":3,"tokens_out":1}}` + "\n\n",
			plane.EndDone,
			call.Usage{TokensIn: 3, TokensOut: 1, Source: plane.SourceProvider},
		},
		{"an image", events("event: message\nid: 5\ndata: " + image + "\n\n" + done), "data: " + image + "\n\n", plane.EndDone, call.Usage{Source: plane.SourceNone}},
		{"JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, image+"\n")
		}, "data: " + image + "\n\n", plane.EndDone, call.Usage{Source: plane.SourceNone}},
		{"the end is missing", events("data: " + image + "\n\n"), "data: " + image + "\n\n", plane.EndUpstreamCut, call.Usage{Source: plane.SourceNone}},
		{"an error", events("data: " + image + "\n\nevent: error\ndata: {\"detail\":\"full\"}\n\n"), "data: " + image + "\n\n", plane.EndUpstreamCut, call.Usage{Source: plane.SourceNone}},
		{"an error without words", events("data: " + image + "\n\ndata: {\"type\":\"error\"}\n\n"), "data: " + image + "\n\n", plane.EndUpstreamCut, call.Usage{Source: plane.SourceNone}},
		{"no object", events("data: " + image + "\n\ndata: 7\n\n" + done), "data: " + image + "\n\n", plane.EndUpstreamCut, call.Usage{Source: plane.SourceNone}},
	} {
		got, o, err := follow(t, newNative(t, Options{}, tt.answer), nil)
		if err != nil || got != tt.want || o.End != tt.end || o.Usage != tt.usage || (o.Err != nil) != (tt.end != plane.EndDone) {
			t.Errorf("%s: %q, %+v, %v", tt.name, got, o, err)
		}
	}
}

func TestNativeStreamFailsBeforeItBegins(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		detail string
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "status 500"},
		"type":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<p>") }, "another content type"},
		"half JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
		}, "not a JSON object"},
		"empty":      {events(""), "broke off"},
		"half event": {events(`data: {"type":"del`), "broke off"},
		"refused":    {events("data: {}\n\ndata: [DONE]\n\n"), "is strange"},
	} {
		_, _, err := follow(t, newNative(t, Options{}, tt.answer), func([]byte) ([]byte, string) { return nil, "is strange" })
		if e := apierr.From(err); err == nil || e.Kind != apierr.BadGateway || !strings.Contains(e.Detail, tt.detail) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNativeStreamKeepsTheClientWaiting(t *testing.T) {
	ready, asked := make(chan struct{}), make(chan string, 1)
	s := newNative(t, Options{KeepAlive: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("X-Account-Id") + " " + r.Header.Get("Accept")
		<-ready
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	})
	time.AfterFunc(300*time.Millisecond, func() { close(ready) })
	got, o, err := follow(t, s, nil)
	if err != nil || o.End != plane.EndDone || !strings.HasPrefix(got, ": keep-alive\n\n") || !strings.HasSuffix(got, "data: {}\n\n") {
		t.Errorf("%q, %+v, %v", got, o, err)
	}
	if got := <-asked; got != "org_1 text/event-stream, application/json" {
		t.Errorf("asked with %s", got)
	}
}

func TestInferRefusesOtherTensors(t *testing.T) {
	const good = `{"name":"out","datatype":"FP32","shape":[1,2],"data":[1,-2.5]}`
	for body, wrong := range map[string]string{
		`{"outputs":[` + good + `]}`: "",
		`{"outputs":[{"name":"out","datatype":"FP32","shape":[1,2],"data":[[1,-2.5]]}]}`: "",
		`[]`:             "not an inference response",
		`{"outputs":[]}`: `lacks the output "out"`,
		strings.Replace(`{"outputs":[`+good+`]}`, "FP32", "BYTES", 1):         `output of "BYTES"`,
		strings.Replace(`{"outputs":[`+good+`]}`, "-2.5", "null", 1):          "finite numbers",
		strings.Replace(`{"outputs":[`+good+`]}`, "-2.5", "1e999", 1):         "finite numbers",
		strings.Replace(`{"outputs":[`+good+`]}`, "-2.5", `"x"`, 1):           "finite numbers",
		strings.Replace(`{"outputs":[`+good+`]}`, "[1,2]", "[1,3]", 1):        "2 numbers for the shape",
		strings.Replace(`{"outputs":[`+good+`]}`, "[1,2]", "[-1,-2]", 1):      "2 numbers for the shape",
		strings.Replace(`{"outputs":[`+good+`]}`, "[1,2]", "[]", 1):           "for the shape []",
		strings.Replace(`{"outputs":[`+good+`]}`, "[1,-2.5]", "[[[1,2]]]", 1): "finite numbers",
	} {
		got, said := tensorIn([]byte(body), "out")
		if (wrong == "") != (said == "") || !strings.Contains(said, wrong) {
			t.Errorf("%s: %v %q, want %q", body, got, said, wrong)
		}
		if wrong == "" && (len(got.Data) != 2 || got.Data[1] != -2.5) {
			t.Errorf("%s: %v", body, got)
		}
	}
}
