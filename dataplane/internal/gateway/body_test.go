package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

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
