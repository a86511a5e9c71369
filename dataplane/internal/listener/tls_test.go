package listener_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/shared/testkit"
)

func newCertificate(t testing.TB) *listener.Certificate {
	t.Helper()
	cert, key := testkit.Certificate(t, t.TempDir(), "gateway")
	c, err := listener.OpenCertificate(cert, key)
	must(t, err)
	return c
}

// secured starts a watched server that speaks TLS. Its dial completes the handshake.
func secured(t testing.TB, certificate *listener.Certificate, handle fasthttp.RequestHandler) *host {
	t.Helper()
	h := loopbackWith(t, 3000, certificate, handle)
	h.dial = func() (net.Conn, error) { return tls.Dial("tcp", h.address, &tls.Config{InsecureSkipVerify: true}) }
	return h
}

func TestRequestsOverTLS(t *testing.T) {
	h := secured(t, newCertificate(t), nil)
	text := "POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
	if answer := h.exchange(t, text+text); strings.Count(answer, "hello") != 2 {
		t.Errorf("got %q", answer)
	}
	large := strings.Repeat("x", largeMax)
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: "+fmt.Sprint(largeMax)+"\r\n\r\n"+large)
	must(t, err)
	if answer := readAll(t, conn); !strings.HasSuffix(answer, large) {
		t.Errorf("got %d bytes", len(answer))
	}
	for name, tt := range map[string]struct {
		config *tls.Config
		proto  string
		fails  bool
	}{
		"h2 and http/1.1": {config: &tls.Config{NextProtos: []string{"h2", "http/1.1"}}, proto: "http/1.1"},
		"h2 only":         {config: &tls.Config{NextProtos: []string{"h2"}}, fails: true},
		"TLS 1.2":         {config: &tls.Config{MaxVersion: tls.VersionTLS12}},
		"TLS 1.1":         {config: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, fails: true},
	} {
		tt.config.InsecureSkipVerify = true
		conn, err := tls.Dial("tcp", h.address, tt.config)
		if (err != nil) != tt.fails {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != tt.proto {
			t.Errorf("%s: got %q", name, got)
		}
		_ = conn.Close()
	}
	plain, err := net.Dial("tcp", h.address)
	must(t, err)
	defer plain.Close()
	_, err = io.WriteString(plain, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	must(t, err)
	if answer := readAll(t, plain); !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "HTTPS") {
		t.Errorf("plain: got %q", answer)
	}
}

// TestTheCallEndsWithItsClientOverTLS takes the three ways a client leaves: with TLS's own farewell, without, and by a reset.
func TestTheCallEndsWithItsClientOverTLS(t *testing.T) {
	waiting, ended := make(chan struct{}), make(chan error)
	h := secured(t, newCertificate(t), func(ctx *fasthttp.RequestCtx) {
		life, cancel := context.WithCancelCause(context.Background())
		c := listener.Of(ctx)
		c.Bind(cancel, time.Time{})
		waiting <- struct{}{}
		<-life.Done()
		ended <- context.Cause(life)
		c.Unbind()
	})
	for name, leave := range map[string]func(c *tls.Conn) error{
		"farewell":    (*tls.Conn).Close,
		"no farewell": func(c *tls.Conn) error { return c.NetConn().Close() },
		"reset": func(c *tls.Conn) error {
			tcp, _ := c.NetConn().(*net.TCPConn)
			return errors.Join(tcp.SetLinger(0), tcp.Close())
		},
	} {
		conn, err := h.dial()
		must(t, err)
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		must(t, err)
		<-waiting
		began := time.Now()
		must(t, leave(conn.(*tls.Conn))) //nolint:forcetypeassert // secured dials TLS
		if cause := <-ended; !errors.Is(cause, call.ErrClientGone) {
			t.Errorf("%s: ended for %v", name, cause)
		}
		t.Logf("%s: noticed after %s", name, time.Since(began))
	}
}

func TestAStreamOverTLSArrivesBitByBit(t *testing.T) {
	proceed := make(chan struct{})
	h := secured(t, newCertificate(t), func(ctx *fasthttp.RequestCtx) {
		ctx.Response.ImmediateHeaderFlush = true
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "event %d\n", i)
				_ = w.Flush()
				<-proceed
			}
		})
	})
	conn, err := h.dial()
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	must(t, err)
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	r := bufio.NewReader(conn)
	for i := 0; i < 3; {
		line, err := r.ReadString('\n')
		must(t, err)
		if line == fmt.Sprintf("event %d\n", i) {
			i++
			proceed <- struct{}{}
		}
	}
}

func TestUploadsOverTLS(t *testing.T) {
	h := secured(t, newCertificate(t), take)
	for _, inChunks := range []bool{false, true} {
		for query, want := range map[string]string{"all": "took 400000", "401": "401", "half": "took 50000"} {
			header, text := framed(strings.Repeat("GET / HTTP/1.1\r\n\r\n\r\n", 20_000), inChunks)
			conn, err := h.dial()
			must(t, err)
			_, err = io.WriteString(conn, "POST /upload?"+query+" HTTP/1.1\r\nHost: h\r\n"+header+"\r\n\r\n"+text)
			must(t, err)
			if answer := readAll(t, conn); !strings.Contains(answer, want) || strings.Count(answer, "HTTP/1.1 ") != 1 {
				t.Errorf("%s, chunked %v: got %q", query, inChunks, answer)
			}
			_ = conn.Close()
		}
	}
}

func TestTheCertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := testkit.Certificate(t, dir, "first")
	certificate, err := listener.OpenCertificate(cert, key)
	must(t, err)
	h := secured(t, certificate, nil)
	name := func() string {
		conn, err := h.dial()
		must(t, err)
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName //nolint:forcetypeassert // secured dials TLS
	}
	if got := name(); got != "first" {
		t.Errorf("got %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	again, done := make(chan os.Signal), make(chan error, 1)
	go func() { done <- certificate.Run(ctx, again, slog.New(slog.DiscardHandler)) }()
	testkit.Certificate(t, dir, "second")
	again <- syscall.SIGHUP
	again <- syscall.SIGHUP // the first has been served
	if got := name(); got != "second" {
		t.Errorf("after the signal: got %s", got)
	}
	must(t, os.WriteFile(cert, []byte("broken"), 0o600))
	again <- syscall.SIGHUP
	again <- syscall.SIGHUP
	if got := name(); got != "second" {
		t.Errorf("with a broken file: got %s", got)
	}
	cancel()
	must(t, <-done)
	if _, err := listener.OpenCertificate(cert, key); err == nil {
		t.Error("a broken certificate is opened")
	}
}

func TestTheCertificateIsReadAgainWhenItsFilesChange(t *testing.T) {
	dir := t.TempDir()
	cert, key := testkit.Certificate(t, dir, "first")
	certificate, err := listener.OpenCertificate(cert, key)
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- certificate.Run(ctx, nil, slog.New(slog.DiscardHandler)) }()
		testkit.Certificate(t, dir, "another one") // of another length, as file times may be coarse
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := certificate.Leaf().Subject.CommonName; got != "another one" {
			t.Errorf("got %s", got)
		}
		cancel()
		must(t, <-done)
	})
}

// TestSlowHandshakes runs in virtual time.
func TestSlowHandshakes(t *testing.T) {
	warm := loopback(t, 10, nil) // see TestSlowRequests
	_ = warm.exchange(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	certificate := newCertificate(t)
	for _, hello := range []string{"", "\x16\x03\x01"} {
		synctest.Test(t, func(t *testing.T) {
			t.Cleanup(func() { time.Sleep(time.Minute) }) // for the server's own goroutines to end
			socket := fasthttputil.NewInmemoryListener()
			_ = startWith(t, socket, 10, certificate, nil)
			began := time.Now()
			conn, err := socket.Dial()
			must(t, err)
			_, err = io.WriteString(conn, hello)
			must(t, err)
			answer, _ := io.ReadAll(conn)
			if took := time.Since(began); len(answer) > 0 || took > 20*time.Second {
				t.Errorf("after %s: got %q", took, answer)
			}
			_ = conn.Close()
			synctest.Wait()
		})
	}
}
