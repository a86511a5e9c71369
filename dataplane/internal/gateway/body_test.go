package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
)

// inChunks sends a request's body in one chunk.
func inChunks(request string) string {
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	head, _, _ = strings.Cut(head, "\r\nContent-Length:")
	return fmt.Sprintf("%s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(body), body)
}

// TestAHundredStreamsWithBodiesInChunks are open at a time, on a node whose memory would hold five bodies of the path's limit.
func TestAHundredStreamsWithBodiesInChunks(t *testing.T) {
	const streams = 100
	n := start(t, func(o *gateway.Options) { o.Admit = admitAll })
	readers := make([]*bufio.Reader, streams)
	request := inChunks(post("/api/v1/agent", "svc_test_ok", `{"prompt":"wait","stream":true,"system_prompt":"`+strings.Repeat("x", 250)+`"}`))
	for i := range readers {
		readers[i] = bufio.NewReader(send(t, n.main, request))
	}
	for i, r := range readers {
		res, err := http.ReadResponse(r, nil)
		must(t, err)
		if res.StatusCode != 200 {
			t.Fatalf("stream %d of %d: %s", i, streams, res.Status)
		}
	}
	if used := n.budget.Used(); used != 0 {
		t.Errorf("%d bytes are held", used)
	}
}

// TestABodyIsHeldUntilItsStreamBegins has a stream wait after its first event.
func TestABodyIsHeldUntilItsStreamBegins(t *testing.T) {
	n := start(t, nil)
	text := `{"prompt":"wait","stream":true,"system_prompt":"` + strings.Repeat("x", 500_000) + `"}`
	for _, request := range []string{post("/api/v1/agent", "svc_test_ok", text), inChunks(post("/api/v1/agent", "svc_test_ok", text))} {
		conn := send(t, n.main, request)
		_, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		<-n.model.opened
		if used := n.budget.Used(); used != 0 {
			t.Errorf("%d bytes are held of a request that nobody needs", used)
		}
		must(t, conn.Close())
		<-n.model.stopped
	}
}

// TestABodyIsNotReadForAStranger: who is not known costs no memory, and is not asked for the body.
func TestABodyIsNotReadForAStranger(t *testing.T) {
	n := start(t, nil)
	for key, status := range map[string]string{"svc_test_unknown": "401", "svc_darwin_ok": "403"} {
		for _, expect := range []string{"", "Expect: 100-Continue\r\n"} {
			request := strings.Replace(post("/api/v1/agent", key, ""), "Content-Length: 0", expect+"Content-Length: 1000000", 1)
			conn := send(t, n.main, request)
			answer, err := io.ReadAll(conn)
			must(t, err)
			if !bytes.HasPrefix(answer, []byte("HTTP/1.1 "+status)) || n.budget.Used() != 0 {
				t.Errorf("%s: %d bytes are held, got %.100s", key, n.budget.Used(), answer)
			}
		}
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	must(t, err)
	must(t, w.Close())
	return b.String()
}

// coded gives a request's body a content coding.
func coded(coding, request string) string {
	return strings.Replace(request, "\r\n", "\r\nContent-Encoding: "+coding+"\r\n", 1)
}

func TestBodiesInGzip(t *testing.T) {
	n := start(t, takes(func(c *call.Call) (call.Answer, error) {
		body, err := io.ReadAll(c.Upload)
		if err != nil {
			return call.Answer{}, err
		}
		return call.Answer{Body: fmt.Appendf(nil, `"took %d of %d"`, len(body), c.UploadLength)}, nil
	}))
	agent := func(body string) string { return post("/api/v1/agent", "svc_test_ok", body) }
	hello := `{"prompt":"hello"}`
	large := `{"prompt":"hello","system_prompt":"` + strings.Repeat("x", 300_000) + `"}`
	bomb := zipped(t, strings.Repeat(" ", 64<<20))
	packed := zipped(t, hello)
	for name, tt := range map[string]struct{ request, status, text string }{
		"small":              {coded("gzip", agent(packed)), "200", "You said hello"},
		"large":              {coded("GZip", agent(zipped(t, large))), "200", "You said hello"},
		"old name":           {coded("x-gzip", agent(packed)), "200", "You said hello"},
		"chunks":             {inChunks(coded("gzip", agent(packed))), "200", "You said hello"},
		"identity":           {coded("identity", agent(hello)), "200", "You said hello"},
		"two members":        {coded("gzip", agent(zipped(t, hello[:5])+zipped(t, hello[5:]))), "200", "You said hello"},
		"OpenAI":             {coded("gzip", post("/v1/chat/completions", "svc_test_ok", zipped(t, `{"model":"Darwin","messages":[{"role":"user","content":"hello"}]}`))), "200", "You said hello"},
		"without a key":      {coded("gzip", post("/api/translate", "x", zipped(t, `{}`))), "422", "Field required"},
		"upload":             {coded("gzip", upload("svc_test_ok", zipped(t, strings.Repeat("x", 200_000)))), "200", "took 200000 of -1"},
		"large upload":       {inChunks(coded("gzip", upload("svc_test_ok", zipped(t, randomText(200_000))))), "200", "took 200000 of -1"},
		"bomb":               {coded("gzip", agent(bomb)), "413", "when it is unpacked"},
		"bomb of an upload":  {coded("gzip", upload("svc_test_ok", bomb)), "413", "when it is unpacked"},
		"no gzip":            {coded("gzip", agent(hello)), "400", "not valid gzip"},
		"nothing":            {coded("gzip", agent("")), "400", "must be a JSON object"},
		"cut":                {coded("gzip", agent(packed[:len(packed)-4])), "400", "not valid gzip"},
		"wrong sum":          {coded("gzip", agent(packed[:len(packed)-8]+"abcdefgh")), "400", "not valid gzip"},
		"more behind it":     {coded("gzip", agent(packed+"x")), "400", "not valid gzip"},
		"another coding":     {coded("br", agent(packed)), "415", "Accept-Encoding: gzip, identity\r\n"},
		"coded twice":        {coded("gzip, gzip", agent(zipped(t, packed))), "415", "Content-Encoding"},
		"upload in another":  {coded("zstd", upload("svc_test_ok", "x")), "415", "Content-Encoding"},
		"another, to OpenAI": {coded("br", post("/v1/chat/completions", "svc_test_ok", "x")), "415", `"invalid_request_error"`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := string(receive(t, send(t, n.main, tt.request), "POST"))
			if !strings.HasPrefix(answer, "HTTP/1.1 "+tt.status) || !strings.Contains(answer, tt.text) {
				t.Errorf("got %.600s", answer)
			}
		})
	}
	for began := time.Now(); n.budget.Used() != 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > hang {
			t.Fatalf("%d bytes are held", n.budget.Used())
		}
	}
}

// randomText does not compress.
func randomText(size int) string {
	b, x := make([]byte, size), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

// TestABodyIsReadWhateverTheMethod: DELETE has a body too where the contract gives it one.
func TestABodyIsReadWhateverTheMethod(t *testing.T) {
	n, server := startNative(t, unlimited)
	erase := func(body string) string {
		return strings.Replace(post("/api/v1/enroll", "svc_test_ok", body), "POST", "DELETE", 1)
	}
	const body = `{"input_data":{"org_id":"acme","subject_id":"emp-17"}}`
	for name, request := range map[string]string{
		"as it is": erase(body),
		"chunks":   inChunks(erase(body)),
		"gzip":     coded("gzip", erase(zipped(t, body))),
		"large":    erase(body[:len(body)-1] + strings.Repeat(" ", 100_000) + "}"),
		"expected": strings.Replace(erase(body), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			conn := send(t, n.main, request)
			answer := string(receive(t, conn, "DELETE"))
			if name == "expected" && strings.HasPrefix(answer, "HTTP/1.1 100") {
				answer = string(receive(t, conn, "DELETE"))
			}
			if !strings.HasPrefix(answer, "HTTP/1.1 200") || !strings.Contains(answer, `"deleted":true`) {
				t.Fatalf("got %.600s", answer)
			}
			if told := string(<-server.bodies); !strings.Contains(told, `"subject_id":"emp-17"`) {
				t.Errorf("the server was told %s", told)
			}
		})
	}
}
