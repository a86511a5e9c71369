package server_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/server"
)

// TestWhatNoHandlerSeesIsAnsweredAsJSON sends what net/http answers by itself.
func TestWhatNoHandlerSeesIsAnsweredAsJSON(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := server.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, "of a handler")
	}), slog.New(slog.DiscardHandler))
	go srv.Serve(server.Listener(l))
	t.Cleanup(func() { srv.Close() })
	for request, want := range map[string]string{
		"GET /dev/ HTTP/1.1\r\n\r\n":                                                             "400 not a request that can be read: missing required Host header",
		"GET /dev/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                       "400 not a request",
		"GET /dev/ HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n":                                     "400 ",
		"nonsense\r\n\r\n":                                                                       "400 not a request",
		"GET /dev/ HTTP/9.9\r\nHost: a\r\n\r\n":                                                  "505 ",
		"GET /dev/ HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n":        "431 is larger than 32768 bytes",
		"POST /dev/apps HTTP/1.1\r\nHost: a\r\nExpect: cake\r\nContent-Length: 2\r\n\r\n{}":      "417 100-continue",
		"POST /dev/apps HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}":                "501 ",
		"POST /dev/apps HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}": "400 ",
		"GET /plain HTTP/1.1\r\nHost: a\r\n\r\n":                                                 "handler",
	} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		go io.WriteString(c, request)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%.60q: %v", request, err)
			continue
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Errorf("%.60q: %v", request, err)
		}
		if want == "handler" {
			if string(body) != "of a handler" || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("the answer of a handler is %q, %v", body, res.Header)
			}
			continue
		}
		var said struct{ Detail string }
		status, words, _ := strings.Cut(want, " ")
		if err := json.Unmarshal(body, &said); err != nil || !strings.HasPrefix(res.Status, status) || !strings.Contains(said.Detail, words) {
			t.Errorf("%.60q: %s %s", request, res.Status, body)
		}
		if res.Header.Get("Content-Type") != "application/json" || res.Header.Get("X-Request-Id") == "" || !res.Close {
			t.Errorf("%.60q: %v", request, res.Header)
		}
	}
}
