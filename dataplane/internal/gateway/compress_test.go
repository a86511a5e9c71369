package gateway_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/gateway"
)

func TestWholeAnswersAreCompressedWhenAsked(t *testing.T) {
	on := func(o *gateway.Options) { o.Compress = true }
	media := func(o *gateway.Options) {
		on(o)
		takes(func(*call.Call) (call.Answer, error) {
			return call.Answer{Body: []byte(`"` + strings.Repeat("QUJD", 1000) + `"`), Media: true}, nil
		})(o)
	}
	long := strings.Repeat("hakuna matata ", 200)
	for _, tt := range []struct {
		name    string
		change  func(*gateway.Options)
		request string
		accept  string
		coding  string
		vary    string
	}{
		{"off", nil, ask("svc_test_ok", long, false), "zstd, gzip", "", ""},
		{"zstd", on, ask("svc_test_ok", long, false), "gzip, zstd", "zstd", "Accept-Encoding"},
		{"gzip", on, ask("svc_test_ok", long, false), "gzip", "gzip", "Accept-Encoding"},
		{"not accepted", on, ask("svc_test_ok", long, false), "br", "", "Accept-Encoding"},
		{"small", on, ask("svc_test_ok", "hi", false), "gzip", "", ""},
		{"stream", on, ask("svc_test_ok", long, true), "gzip", "", ""},
		{"media", media, upload("svc_test_ok", "x"), "gzip", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := start(t, tt.change)
			request := strings.Replace(tt.request, "Host: gateway", "Host: gateway\r\nAccept-Encoding: "+tt.accept, 1)
			raw := receive(t, send(t, n.main, request), "POST")
			res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
			must(t, err)
			if coding, vary := res.Header.Get("Content-Encoding"), res.Header.Get("Vary"); coding != tt.coding || vary != tt.vary {
				t.Errorf("Content-Encoding %q, Vary %q", coding, vary)
			}
			text := decode(t, res)
			if res.StatusCode != 200 || (tt.name == "zstd" && !strings.Contains(text, long)) || (tt.coding != "" && int64(len(text)) < 2*res.ContentLength) {
				t.Errorf("status %d, %d bytes for %.100q", res.StatusCode, res.ContentLength, text)
			}
		})
	}
}

func decode(t *testing.T, res *http.Response) string {
	t.Helper()
	var body io.Reader = res.Body
	var err error
	switch res.Header.Get("Content-Encoding") {
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(res.Body)
		defer z.Close()
		body = z
	case "gzip":
		body, err = gzip.NewReader(res.Body)
	}
	must(t, err)
	text, err := io.ReadAll(body)
	must(t, err)
	return string(text)
}

// TestCompressionIsShared makes many calls at a time with the pooled encoders; the race detector watches.
func TestCompressionIsShared(t *testing.T) {
	n := start(t, func(o *gateway.Options) { o.Compress = true })
	var calls sync.WaitGroup
	for i := range 24 {
		long := strings.Repeat(string(rune('a'+i))+"bc ", 1000)
		calls.Go(func() {
			accept := []string{"gzip", "zstd"}[i%2]
			request := strings.Replace(ask("svc_test_ok", long, false), "Host: gateway", "Host: gateway\r\nAccept-Encoding: "+accept, 1)
			res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(receive(t, send(t, n.main, request), "POST"))), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if text := decode(t, res); !strings.Contains(text, long) {
				t.Errorf("got %.100q", text)
			}
		})
	}
	calls.Wait()
}
