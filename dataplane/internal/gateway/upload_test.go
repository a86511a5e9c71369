package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/plane"
)

// takes has handle answer POST /api/v1/transcribe, whatever does so otherwise.
func takes(handle func(c *call.Call) (call.Answer, error)) func(*gateway.Options) {
	return func(o *gateway.Options) {
		const id = "transcribe"
		o.Operations = slices.Clone(o.Operations)
		i := slices.IndexFunc(o.Operations, func(op contract.Operation) bool { return op.ID == id })
		o.Operations[i].Planned = false
		o.Routes = slices.DeleteFunc(o.Routes, func(r gateway.Route) bool { return r.ID == id })
		o.Routes = append(o.Routes, gateway.Route{ID: id, Handle: handle, Counted: true, Upload: 1 << 20})
	}
}

func upload(key, body string) string {
	return "POST /api/v1/transcribe HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer " + key + "\r\nContent-Type: audio/wav\r\n" +
		"Content-Length: " + itoa(len(body)) + "\r\n\r\n" + body
}

func TestAHandlerReadsAnUpload(t *testing.T) {
	n := start(t, takes(func(c *call.Call) (call.Answer, error) {
		body, err := io.ReadAll(c.Upload)
		if err != nil {
			return call.Answer{}, err
		}
		return call.Answer{Body: fmt.Appendf(nil, `"%d of %d %s, whole %d"`, len(body), c.UploadLength, c.ContentType, len(c.Body))}, nil
	}))
	for _, size := range []int{0, 5, 100_000} {
		answer := string(receive(t, send(t, n.main, upload("svc_test_ok", strings.Repeat("x", size))), "POST"))
		if want := fmt.Sprintf(`"%d of %d audio/wav, whole 0"`, size, size); !strings.HasPrefix(answer, "HTTP/1.1 200") || !strings.Contains(answer, want) {
			t.Errorf("%d bytes: got %s", size, answer)
		}
	}
}

// TestARefusedUploadIsNotRead sends requests inside of uploads that nobody reads.
func TestARefusedUploadIsNotRead(t *testing.T) {
	n := start(t, takes(func(c *call.Call) (call.Answer, error) {
		_, _ = io.CopyN(io.Discard, c.Upload, 10)
		panic("broken")
	}))
	hidden := strings.Repeat(ask("svc_test_ok", "hidden", false), 1000)
	for key, status := range map[string]string{
		"svc_test_unknown": "401", "svc_darwin_ok": "403", "svc_test_used_up": "429", "svc_test_ok": "500",
	} {
		conn := send(t, n.main, upload(key, hidden))
		answer, err := io.ReadAll(conn)
		must(t, err)
		if !bytes.HasPrefix(answer, []byte("HTTP/1.1 "+status)) || bytes.Count(answer, []byte("HTTP/1.1 ")) != 1 || bytes.Contains(answer, []byte("hidden")) {
			t.Errorf("%s: got %s", key, answer)
		}
	}
	for _, r := range n.ledger.all() {
		if r.call.Endpoint != "transcribe" {
			t.Errorf("%s was answered", r.call.Endpoint)
		}
	}
}

func TestUploadsEndWithTheirCall(t *testing.T) {
	reading := make(chan context.Context, 1)
	n := start(t, takes(func(c *call.Call) (call.Answer, error) {
		reading <- c.Ctx
		_, err := io.Copy(io.Discard, c.Upload)
		return call.Answer{}, err
	}))
	text := upload("svc_test_revocable", strings.Repeat("x", 100_000))
	text = text[:len(text)-10]
	conn := send(t, n.main, text)
	ctx := <-reading
	must(t, conn.Close())
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, call.ErrClientGone) {
		t.Errorf("the call ended for %v", cause)
	}
	if r := n.recorded(t); r.out.End != plane.EndClientGone {
		t.Errorf("recorded as %q", r.out.End)
	}
	conn = send(t, n.main, text)
	<-reading
	n.revoke(call.ErrRevoked)
	answer, err := io.ReadAll(conn)
	must(t, err)
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 401")) || !bytes.Contains(answer, []byte("was revoked")) {
		t.Errorf("revoked: got %s", answer)
	}
}
