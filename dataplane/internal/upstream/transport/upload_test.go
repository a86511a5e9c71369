package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

var uploadTimes = UploadTimes{Connect: 5 * time.Second, Stall: 10 * time.Second, Head: 20 * time.Second, Total: time.Minute}

const uploadHead = "POST /up HTTP/1.1\r\nHost: x\r\n"

// upload returns status and body of the answer.
func upload(ctx context.Context, h *Host, body io.Reader) (int, string, error) {
	c, err := h.Upload(ctx, []byte(uploadHead), body, uploadTimes)
	if err != nil {
		return 0, "", err
	}
	defer c.Finish()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	for {
		answer, err := c.Next()
		if errors.Is(err, io.EOF) {
			return c.Head.Status, string(answer), nil
		}
		if err != nil {
			return c.Head.Status, "", err
		}
	}
}

// hosts are the same server without and with TLS.
func hosts(t *testing.T, handler http.HandlerFunc) map[string]*Host {
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	roots := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs //nolint:forcetypeassert // httptest makes it so
	all := map[string]*Host{
		"plain": NewHost(Options{Address: plain.Listener.Addr().String()}),
		"TLS":   NewHost(Options{Address: secure.Listener.Addr().String(), TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}}),
	}
	for _, h := range all {
		t.Cleanup(h.Close)
	}
	return all
}

func TestAnUploadArrivesAsItIs(t *testing.T) {
	all := hosts(t, func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		fmt.Fprintf(w, "%d %x %v %v", n, sum.Sum(nil), r.ContentLength >= 0, err)
	})
	for name, h := range all {
		for _, size := range []int{0, 1, bufferLarge - chunkFront - chunkBack - 1, bufferLarge - chunkFront - chunkBack, bufferLarge, 5 << 20} {
			data := letters(size)
			for way, body := range map[string]io.Reader{
				"whole": bytes.NewReader(data), "in halves": iotest.HalfReader(bytes.NewReader(data)), "error with data": iotest.DataErrReader(bytes.NewReader(data)),
			} {
				status, got, err := upload(t.Context(), h, body)
				counted := size < bufferLarge-chunkFront-chunkBack || way == "error with data" && size == bufferLarge-chunkFront-chunkBack
				if want := fmt.Sprintf("%d %x %v <nil>", size, sha256.Sum256(data), counted); err != nil || status != 200 || got != want {
					t.Errorf("%s, %d bytes %s: %d %q, %v; want %q", name, size, way, status, got, err, want)
				}
			}
		}
		if idle, busy := h.Counts(); idle == 0 || busy != 0 {
			t.Errorf("%s: %d idle, %d busy", name, idle, busy)
		}
	}
}

// stopped is a body that waits behind its first bytes until it is released.
type stopped struct {
	io.Reader
	release chan struct{}
}

func (s *stopped) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		<-s.release
	}
	return n, err
}

func TestAnEarlyAnswerEndsAnUpload(t *testing.T) {
	all := hosts(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 1000))
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "too large")
		w.(http.Flusher).Flush() //nolint:forcetypeassert // of net/http
		time.Sleep(time.Second)  // and then closes
	})
	for name, h := range all {
		var sent atomic.Int64
		body := io.TeeReader(io.LimitReader(&slow{}, 1<<30), counter{&sent})
		status, got, err := upload(t.Context(), h, body)
		if err != nil || status != 413 || got != "too large" || sent.Load() > 64<<20 {
			t.Errorf("%s: %d %q, %v after %d bytes", name, status, got, err, sent.Load())
		}
		if idle, busy := h.Counts(); idle != 0 || busy != 0 {
			t.Errorf("%s: the connection is used again", name)
		}
	}
}

// slow gives 64 KiB a millisecond.
type slow struct{}

func (slow) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return len(p), nil
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

func TestABodyThatFailsIsNotCompleted(t *testing.T) {
	cause := errors.New("client left")
	for _, size := range []int{10, 1 << 20} {
		ends := make(chan error, 1)
		h := serve(t, func(_ int, nc net.Conn) {
			q, err := http.ReadRequest(bufio.NewReader(nc))
			if err == nil {
				_, err = io.Copy(io.Discard, q.Body)
			}
			ends <- err
		})
		for _, broken := range []error{cause, io.ErrUnexpectedEOF, fmt.Errorf("around: %w", io.EOF)} {
			_, _, err := upload(t.Context(), h, io.MultiReader(bytes.NewReader(letters(size)), iotest.ErrReader(broken)))
			if s, ok := errors.AsType[*SourceError](err); !ok || !errors.Is(s.Err, broken) {
				t.Errorf("%d bytes: %v", size, err)
			}
			if err := <-ends; err == nil {
				t.Errorf("%d bytes: the server has got a whole request", size)
			}
		}
	}
}

func TestAnUploadUsesAFreshConnection(t *testing.T) {
	var connections atomic.Int64
	h := serve(t, func(_ int, nc net.Conn) {
		connections.Add(1)
		for r := bufio.NewReader(nc); readRequest(r); {
			io.WriteString(nc, okAnswer)
		}
	})
	h.options.Connections = 1
	for i := range 3 {
		if _, got, err := upload(t.Context(), h, strings.NewReader("x")); err != nil || got != "ok" || connections.Load() != int64(i+1) {
			t.Errorf("%q, %v on connection %d", got, err, connections.Load())
		}
	}
}

func TestAServerThatHangsUpDuringAnUpload(t *testing.T) {
	for name, end := range map[string]func(nc net.Conn){
		"close": func(nc net.Conn) { nc.Close() },
		"reset": func(nc net.Conn) { nc.(*net.TCPConn).SetLinger(0); nc.Close() }, //nolint:forcetypeassert // serve listens on TCP
		"nonsense": func(nc net.Conn) {
			io.WriteString(nc, "nonsense\n\r\n")
			io.Copy(io.Discard, nc)
		},
	} {
		h := serve(t, func(_ int, nc net.Conn) {
			io.ReadFull(nc, make([]byte, 100<<10))
			end(nc)
		})
		_, _, err := upload(t.Context(), h, slow{})
		e, ok := errors.AsType[*Error](err)
		if want := map[bool]Phase{true: Invalid}[name == "nonsense"]; !ok || want != 0 && e.Phase != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheContextEndsAnUpload(t *testing.T) {
	cause := errors.New("revoked")
	gone := make(chan struct{}, 2)
	h := serve(t, func(n int, nc net.Conn) {
		if n == 0 { // reads nothing, so that the client's writes wait
			time.Sleep(300 * time.Millisecond)
		}
		io.Copy(io.Discard, nc)
		gone <- struct{}{}
	})
	for _, body := range []io.Reader{neverEnds{}, io.MultiReader(strings.NewReader("x"), neverEnds{})} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
		if _, _, err := upload(ctx, h, body); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		<-gone
	}
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }

func TestAStalledUploadTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := piped(func(_ int, nc net.Conn) {
			io.ReadFull(nc, make([]byte, 200<<10))
			time.Sleep(time.Minute)
		})
		began := time.Now()
		_, _, err := upload(t.Context(), h, neverEnds{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != Send || !e.Timeout() || time.Since(began) != uploadTimes.Stall {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		h.Close()
		time.Sleep(2 * time.Minute)
	})
}

func TestASilentServerTimesOutBehindAnUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := piped(func(_ int, nc net.Conn) {
			io.Copy(io.Discard, nc)
		})
		began := time.Now()
		body := &stopped{strings.NewReader(strings.Repeat("x", 1<<20)), make(chan struct{})}
		time.AfterFunc(15*time.Second, func() { close(body.release) })
		_, _, err := upload(t.Context(), h, body)
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != Await || !e.Timeout() || time.Since(began) != 15*time.Second+uploadTimes.Head {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		h.Close()
	})
}
