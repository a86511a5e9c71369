package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var generous = Times{Connect: 10 * time.Second, Head: 30 * time.Second}

// post asks for path with body and returns the answer's head, its body and the error that ended it.
func post(ctx context.Context, h *Host, path string, body []byte) (Head, []byte, error) {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n", path, len(body))
	parts := [][]byte{append([]byte(head), body...)}
	if len(body) > 3 {
		parts = [][]byte{[]byte(head), body[:2], body[2:]}
	}
	c, err := h.Exchange(ctx, parts, generous)
	if err != nil {
		return Head{}, nil, err
	}
	defer c.Finish()
	for {
		b, err := c.Next()
		if errors.Is(err, io.EOF) {
			return c.Head, bytes.Clone(b), nil
		}
		if err != nil {
			return c.Head, nil, err
		}
	}
}

// letters is n bytes of a pattern that shows when bytes are lost or moved.
func letters(n int) []byte {
	b := make([]byte, 0, n+8)
	for i := 0; len(b) < n; i++ {
		b = strconv.AppendInt(b, int64(i), 36)
		b = append(b, ' ')
	}
	return b[:n]
}

// handler answers the paths that conform asks for.
func handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/length/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		w.Header().Set("Content-Length", strconv.Itoa(n))
		w.Write(letters(n))
	})
	m.HandleFunc("/chunks/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		b := letters(n)
		for step := 1; len(b) > 0; step = step*3 + 1 {
			k := min(step, len(b))
			w.Write(b[:k])
			w.(http.Flusher).Flush()
			b = b[k:]
		}
	})
	m.HandleFunc("/close/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer nc.Close()
		fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n%s", letters(n))
	})
	m.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	m.HandleFunc("/interim", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</x>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "after")
	})
	m.HandleFunc("/trailer", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "1")
	})
	m.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		for _, part := range []string{"a", "b", "c"} {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	m.HandleFunc("/goodbye", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "bye")
	})
	m.HandleFunc("/nothing", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return m
}

// conform asks for everything that a server may answer; interim says whether it may answer 1xx.
func conform(t *testing.T, h *Host, interim bool) {
	t.Helper()
	for _, n := range []int{0, 1, 100, bufferSmall - 1, bufferSmall, bufferSmall + 1, bufferLarge, 1 << 20} {
		for _, way := range []string{"length", "chunks", "close"} {
			head, got, err := post(t.Context(), h, fmt.Sprintf("/%s/%d", way, n), []byte("x"))
			if err != nil || head.Status != 200 || !bytes.Equal(got, letters(n)) {
				t.Errorf("%s of %d bytes: status %d, %d bytes, %v", way, n, head.Status, len(got), err)
			}
		}
	}
	for path, want := range map[string]string{"/interim": "after", "/trailer": "body", "/slow": "abc", "/goodbye": "bye", "/nothing": ""} {
		if path == "/interim" && !interim {
			continue
		}
		if head, got, err := post(t.Context(), h, path, nil); err != nil || string(got) != want || head.Status/100 != 2 {
			t.Errorf("%s: status %d, %q, %v", path, head.Status, got, err)
		}
	}
	for _, n := range []int{0, 1, 5, 10_000, 3 << 20} {
		if _, got, err := post(t.Context(), h, "/echo", letters(n)); err != nil || !bytes.Equal(got, letters(n)) {
			t.Errorf("echo of %d bytes: %d bytes, %v", n, len(got), err)
		}
	}
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for i := range 30 {
				n := worker*977 + i*131
				path := []string{"/length/%d", "/chunks/%d"}[i%2]
				if _, got, err := post(t.Context(), h, fmt.Sprintf(path, n), letters(i)); err != nil || !bytes.Equal(got, letters(n)) {
					t.Errorf("concurrent answer of %d bytes: %d bytes, %v", n, len(got), err)
				}
			}
		})
	}
	all.Wait()
	if idle, busy := h.Counts(); idle == 0 || idle > 16 || busy != 0 {
		t.Errorf("%d idle and %d busy connections at the end", idle, busy)
	}
}

func TestConformPlain(t *testing.T) {
	var dials atomic.Int64
	server := httptest.NewUnstartedServer(handler())
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			dials.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	h := NewHost(Options{Address: server.Listener.Addr().String()})
	defer h.Close()
	conform(t, h, true)
	before := dials.Load()
	for range 50 {
		for _, path := range []string{"/length/10", "/chunks/5000", "/trailer", "/interim", "/nothing"} {
			if _, _, err := post(t.Context(), h, path, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := dials.Load() - before; n != 0 {
		t.Errorf("%d new connections for calls in sequence", n)
	}
}

// tlsConfig trusts the certificate of an httptest server.
// tlsConfigOf trusts the system and expects the given name.
func tlsConfigOf(name string) *tls.Config {
	return &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
}

func tlsConfig(server *httptest.Server) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}
}

func TestConformTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			server := httptest.NewUnstartedServer(handler())
			server.TLS = &tls.Config{MaxVersion: version, MinVersion: version}
			server.StartTLS()
			defer server.Close()
			h := NewHost(Options{Address: server.Listener.Addr().String(), TLS: tlsConfig(server)})
			defer h.Close()
			conform(t, h, true)
			idle, _ := h.Counts()
			for range 20 {
				if _, _, err := post(t.Context(), h, "/chunks/5000", nil); err != nil {
					t.Fatal(err)
				}
			}
			if now, _ := h.Counts(); now != idle {
				t.Errorf("%d idle connections became %d", idle, now)
			}
		})
	}
}

func TestTLSRefusesAForeignCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	config := tlsConfig(server)
	config.ServerName = "other.test"
	h := NewHost(Options{Address: server.Listener.Addr().String(), TLS: config})
	_, _, err := post(t.Context(), h, "/length/1", nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Phase != Connect {
		t.Errorf("got %v", err)
	}
	if idle, busy := h.Counts(); idle+busy != 0 {
		t.Errorf("%d connections counted", idle+busy)
	}
}

// TestConformNginx runs the answers through nginx, whose framing is its own.
func TestConformNginx(t *testing.T) {
	const nginx = "/usr/sbin/nginx"
	if _, err := os.Stat(nginx); err != nil {
		t.Skip("nginx is not installed at " + nginx)
	}
	origin := httptest.NewServer(handler())
	defer origin.Close()
	address := freeAddress(t)
	dir := t.TempDir()
	config := fmt.Sprintf(`daemon off; master_process off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  client_max_body_size 8m; keepalive_requests 100000;
  server { listen %[2]s; location / { proxy_pass http://%[3]s; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } }
}`, dir, address, origin.Listener.Addr())
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(nginx, "-e", filepath.Join(dir, "error.log"), "-c", file, "-p", dir)
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		command.Process.Kill()
		command.Wait()
	}()
	awaitListener(t, address, &said)
	h := NewHost(Options{Address: address})
	defer h.Close()
	conform(t, h, false) // nginx 1.22 passes 1xx on as if it were the answer, and then waits for its origin to close
}

// freeAddress returns a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func awaitListener(t *testing.T, address string, said fmt.Stringer) {
	t.Helper()
	for range 200 {
		if nc, err := net.Dial("tcp", address); err == nil {
			nc.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("nothing listens on %s: %s", address, strings.TrimSpace(said.String()))
}
