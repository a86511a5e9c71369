package gateway_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	"modelgate.internal/shared/plane"
)

// speechNode serves the operations on speech.
func speechNode(t *testing.T) *node {
	return start(t, func(o *gateway.Options) { o.Current = speechConfig })
}

const (
	formFront = "--b\r\nContent-Disposition: form-data; name=\"audio\"; filename=\"a.wav\"\r\n\r\n"
	formBack  = "\r\n--b\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nsw\r\n--b--\r\n"
)

// sendForm begins to send a form in chunks, and returns where the rest is to be written.
func sendForm(t *testing.T, n *node, key, audio string) (net.Conn, io.WriteCloser) {
	t.Helper()
	conn := send(t, n.main, "POST /api/v1/transcribe HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer "+key+"\r\n"+
		"Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n")
	w := httputil.NewChunkedWriter(conn)
	_, err := io.WriteString(w, formFront+audio)
	must(t, err)
	return conn, w
}

// noise is audio of n bytes that never holds a boundary.
type noise struct{ left int64 }

func (r *noise) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), r.left))
	for i := range p[:n] {
		p[i] = byte(i*i) | 1
	}
	r.left -= int64(n)
	return n, nil
}

func TestAHundredMegabytesGoThroughWithBoundedMemory(t *testing.T) {
	n := speechNode(t)
	const size = 100_000_000
	want := sha256.New()
	_, _ = io.CopyBuffer(struct{ io.Writer }{want}, struct{ io.Reader }{&noise{size}}, make([]byte, 64<<10))
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most.Store(max(most.Load(), now.HeapInuse))
			}
		}
	}()
	head := fmt.Sprintf("POST /api/v1/transcribe HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer svc_test_ok\r\n"+
		"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n", len(formFront)+size+len(formBack))
	conn := send(t, n.main, head+formFront)
	must(t, conn.SetDeadline(time.Now().Add(uploadTime))) // how fast it goes is not the matter
	_, err := io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{&noise{size}}, make([]byte, 64<<10))
	must(t, err)
	_, err = io.WriteString(conn, formBack)
	must(t, err)
	got := string(receive(t, conn, "POST"))
	close(stop)
	<-stopped
	if want := fmt.Sprintf("%d bytes of audio.wav with sw. %x.", size, want.Sum(nil)[:4]); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if grew := int64(most.Load()) - int64(before.HeapInuse); grew > 16<<20 {
		t.Errorf("the heap of client, gateway and upstream grew by %d bytes", grew)
	}
	if r := n.recorded(t); r.status != 200 || r.out.End != plane.EndDone || r.call.Facts.Attempts != 1 || r.out.Usage.Source != plane.SourceEstimated {
		t.Errorf("recorded as %+v", r)
	}
}

func TestAClientThatLeavesDuringAnUploadCancelsTheUpstream(t *testing.T) {
	for name, leave := range map[string]func(c *net.TCPConn) error{
		"close": (*net.TCPConn).Close, "half-close": (*net.TCPConn).CloseWrite,
		"reset": func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			n := speechNode(t)
			conn, _ := sendForm(t, n, "svc_test_ok", strings.Repeat("sound", 100_000))
			n.uploading(t)
			must(t, leave(conn.(*net.TCPConn)))       //nolint:forcetypeassert // send dials TCP
			if how := n.uploaded(t); how == "whole" { // what was sent must not look complete
				t.Error("the upstream took a part for the whole")
			}
			if r := n.recorded(t); r.out.End != plane.EndClientGone {
				t.Errorf("recorded as %q, %v", r.out.End, r.out.Err)
			}
		})
	}
}

// uploading returns once some of an upload has reached the upstream: before that the upstream would not hear of its end.
func (n *node) uploading(t *testing.T) {
	t.Helper()
	select {
	case <-n.speech.began:
	case <-time.After(hang):
		t.Fatal("the upload has not reached the upstream")
	}
}

// uploaded returns how an upload ended for the upstream.
func (n *node) uploaded(t *testing.T) string {
	t.Helper()
	select {
	case how := <-n.speech.seen:
		return how
	case <-time.After(hang):
		t.Fatal("the upload has not ended at the upstream")
		return ""
	}
}

func TestARevokedKeyEndsAnUpload(t *testing.T) {
	n := speechNode(t)
	conn, _ := sendForm(t, n, "svc_test_revocable", strings.Repeat("sound", 100_000))
	n.uploading(t)
	n.revoke(call.ErrRevoked)
	if how := n.uploaded(t); how == "whole" {
		t.Error("the upstream took a part for the whole")
	}
	if got := string(receive(t, conn, "POST")); !strings.HasPrefix(got, "HTTP/1.1 401") {
		t.Errorf("got %s", got)
	}
	if r := n.recorded(t); r.out.End != plane.EndRevoked {
		t.Errorf("recorded as %q", r.out.End)
	}
}

func TestAnEarlyAnswerOfTheUpstreamEndsAnUpload(t *testing.T) {
	n := speechNode(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 1000))
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	n.speech.replace(t, mux)
	conn, w := sendForm(t, n, "svc_test_ok", "")
	sent, err := io.Copy(w, &noise{90 << 20})
	got := string(receive(t, conn, "POST"))
	if !strings.HasPrefix(got, "HTTP/1.1 413") || !strings.Contains(got, "larger than upstream transcribe accepts") {
		t.Errorf("got %s after %d bytes, %v", got, sent, err)
	}
	if r := n.recorded(t); r.status != 413 || r.out.End != plane.EndFailed {
		t.Errorf("recorded as %d %q", r.status, r.out.End)
	}
}

func TestAnUpstreamThatIsCutDuringAnUpload(t *testing.T) {
	n := speechNode(t)
	n.speech.replace(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 100_000))
		panic(http.ErrAbortHandler)
	}))
	conn, w := sendForm(t, n, "svc_test_ok", "")
	_, _ = io.Copy(w, &noise{20 << 20})
	if got := string(receive(t, conn, "POST")); !strings.HasPrefix(got, "HTTP/1.1 502") || !strings.Contains(got, "closed the connection") {
		t.Errorf("got %s", got)
	}
	if r := n.recorded(t); r.status != 502 || r.call.Facts.Attempts != 1 {
		t.Errorf("recorded as %d after %d attempts", r.status, r.call.Facts.Attempts)
	}
}

func TestAnErrorBehindTheAudioIsNotSentOn(t *testing.T) {
	n := speechNode(t)
	conn, w := sendForm(t, n, "svc_test_ok", strings.Repeat("sound", 100_000))
	_, err := io.WriteString(w, strings.Replace(formBack, "\r\nsw\r\n", "\r\nno language\r\n", 1))
	must(t, err)
	must(t, w.Close())
	_, err = io.WriteString(conn, "\r\n")
	must(t, err)
	if got := string(receive(t, conn, "POST")); !strings.HasPrefix(got, "HTTP/1.1 422") || !strings.Contains(got, `"loc":["body","language"]`) {
		t.Errorf("got %s", got)
	}
	if how := n.uploaded(t); how == "whole" {
		t.Error("the upstream took a part for the whole")
	}
}

func TestARequestHiddenInAnUnreadUploadIsNotExecuted(t *testing.T) {
	hidden := "GET /api/v1/health HTTP/1.1\r\nHost: gateway\r\n\r\n"
	for name, request := range map[string]struct{ key, contentType, status string }{
		"401": {"svc_test_unknown", "multipart/form-data; boundary=b", "401"},
		"422": {"svc_test_ok", "audio/wav", "422"},
		"429": {"svc_test_used_up", "multipart/form-data; boundary=b", "429"},
	} {
		t.Run(name, func(t *testing.T) {
			n := speechNode(t)
			body := strings.Repeat(hidden, 3000)
			conn := send(t, n.main, "POST /api/v1/transcribe HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer "+request.key+"\r\n"+
				"Content-Type: "+request.contentType+"\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body)
			must(t, conn.(*net.TCPConn).CloseWrite()) //nolint:forcetypeassert // send dials TCP
			all, err := io.ReadAll(conn)
			if got := string(all); err != nil || !strings.HasPrefix(got, "HTTP/1.1 "+request.status) || strings.Count(got, "HTTP/1.1 ") != 1 {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}
