package rivals

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/internal/proc"
)

func settings(t *testing.T, upstream string) Settings {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return Settings{Dir: t.TempDir(), Listen: l.Addr().String(), Upstream: upstream, Key: "svc_test_abc"}
}

func TestConfigurationsAreAccepted(t *testing.T) {
	for _, r := range All() {
		t.Run(r.Name, func(t *testing.T) {
			config, err := r.Configure(settings(t, "127.0.0.1:9"))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Check(t.Context(), config); errors.Is(err, ErrMissing) {
				t.Skip(err)
			} else if err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(config, []byte("nonsense {"), 0o600); err != nil {
				t.Fatal(err)
			}
			if r.Check(t.Context(), config) == nil {
				t.Error("nonsense was accepted")
			}
		})
	}
}

// Each rival checks the key, passes events on at once, gives the upstream up when the client leaves, and writes its log.
func TestRivalsDoTheWork(t *testing.T) {
	left := make(chan struct{}, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // silent until the caller leaves
		left <- struct{}{}
	}))
	defer upstream.Close()
	for _, r := range All() {
		t.Run(r.Name, func(t *testing.T) {
			s := settings(t, strings.TrimPrefix(upstream.URL, "http://"))
			p, err := r.Start(t.Context(), s)
			if errors.Is(err, ErrMissing) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			stop := func() { r.Stop(p) }
			defer func() { stop() }()
			if use, err := (proc.Watched{Name: r.Name, Pid: p.Pid()}).Sample(); err != nil || use.RSSBytes == 0 {
				t.Errorf("use %+v: %v", use, err)
			}
			if status, _ := ask(t, s.Listen, "wrong"); status != http.StatusUnauthorized {
				t.Errorf("a wrong key gives %d", status)
			}
			status, c := ask(t, s.Listen, s.Key)
			if status != http.StatusOK {
				t.Errorf("the right key gives %d", status)
			}
			c.Close()
			select {
			case <-left:
			case <-time.After(10 * time.Second):
				t.Error("the upstream was not given up")
			}
			stop()
			if c, err := net.Dial("tcp", s.Listen); err == nil {
				c.Close()
				t.Error("it still listens")
			}
			logs, _ := filepath.Glob(filepath.Join(s.Dir, "*.log"))
			var text strings.Builder
			for _, log := range logs {
				b, _ := os.ReadFile(log)
				text.Write(b)
			}
			if !strings.Contains(text.String(), "/v1/x") {
				t.Errorf("the log has no line of the call: %s", text.String())
			}
		})
	}
}

// ask makes a call and returns when the first event is there.
func ask(t *testing.T, addr, key string) (int, net.Conn) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, "POST /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+"\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK {
		if _, err := io.ReadFull(resp.Body, make([]byte, len("data: 1\n\n"))); err != nil {
			t.Error(err)
		}
	}
	return resp.StatusCode, c
}

func TestInstallNeedsNothingForNothing(t *testing.T) {
	if err := Install(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
