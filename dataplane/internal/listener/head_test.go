package listener_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

// TestAnExpectationIsMet: the client gets its interim answer before it sends the body, however it writes the word, and on a
// connection that serves on.
func TestAnExpectationIsMet(t *testing.T) {
	h := loopback(t, 10, nil)
	for _, word := range []string{"100-continue", "100-Continue", "100-CONTINUE"} {
		conn := h.opened(t, "")
		r := bufio.NewReader(conn)
		for _, text := range []string{"hello", strings.Repeat("x", 100_000)} {
			for _, chunks := range []bool{false, true} {
				header, body := framed(text, chunks)
				_, err := io.WriteString(conn, "POST /small HTTP/1.1\r\nHost: h\r\n"+header+"\r\nexpect: "+word+"\r\n\r\n")
				must(t, err)
				interim := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
				_, err = io.ReadFull(r, interim)
				must(t, err)
				if string(interim) != "HTTP/1.1 100 Continue\r\n\r\n" {
					t.Fatalf("%s: got %q", word, interim)
				}
				_, err = io.WriteString(conn, body)
				must(t, err)
				if status, got := answerOn(t, r); status != 200 || got != text {
					t.Errorf("%s: got %d, %d bytes", word, status, len(got))
				}
			}
		}
	}
}

// TestARefusedCallIsNotAskedForItsBody: its final status comes at once.
func TestARefusedCallIsNotAskedForItsBody(t *testing.T) {
	h := loopback(t, 10, func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(401) })
	for _, framing := range []string{"Content-Length: 5", "Content-Length: 100000", "Transfer-Encoding: chunked"} {
		conn := h.opened(t, "POST /small HTTP/1.1\r\nHost: h\r\n"+framing+"\r\nExpect: 100-Continue\r\n\r\n")
		if answer := readAll(t, conn); !strings.HasPrefix(answer, "HTTP/1.1 401 ") {
			t.Errorf("%s: got %q", framing, answer)
		}
	}
}

// TestWordsOfHeadersInAnyCase: these words mean the same however they are written (RFC 9110, section 7.6.1; RFC 9112, section 7).
func TestWordsOfHeadersInAnyCase(t *testing.T) {
	h := loopback(t, 10, nil)
	for _, header := range []string{"Connection: close", "Connection: Close", "connection: CLOSE", "Connection: TE, Close", "Connection: keep-alive\r\nConnection: Close"} {
		conn := h.opened(t, "GET / HTTP/1.1\r\nHost: h\r\n"+header+"\r\n\r\n")
		if answer := readAll(t, conn); !strings.HasPrefix(answer, "HTTP/1.1 200 ") || !strings.Contains(answer, "Connection: close") {
			t.Errorf("%s: got %q", header, answer)
		}
	}
	for _, coding := range []string{"chunked", "Chunked", "CHUNKED"} {
		conn := h.opened(t, "POST /small HTTP/1.1\r\nHost: h\r\ntransfer-encoding: "+coding+"\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
		if status, body := answerOn(t, bufio.NewReader(conn)); status != 200 || body != "hello" {
			t.Errorf("%s: got %d %q", coding, status, body)
		}
	}
}

// TestVersions: what is not HTTP/1 is refused, what is newer than HTTP/1.1 is answered as that.
func TestVersions(t *testing.T) {
	h := loopback(t, 10, nil)
	for line, want := range map[string]string{
		"GET / HTTP/1.0": "200", "GET / HTTP/1.2": "200", "GET / HTTP/1.9": "200",
		"GET / HTTP/2.0": "505", "POST / HTTP/2.0": "505", "GET / HTTP/3.0": "505", "GET / HTTP/0.9": "505", "PRI * HTTP/2.0": "505", // the preface of HTTP/2
		"GET / HTTP/11.1": "400", "GET / HTTP/1": "400", "GET / http/1.1": "400",
	} {
		conn := h.opened(t, line+"\r\nHost: h\r\n\r\nGET /hidden HTTP/1.1\r\nHost: h\r\n\r\n")
		answer := readAll(t, conn)
		if !strings.HasPrefix(answer, "HTTP/1.1 "+want+" ") || strings.Count(answer, "Date: ") != 1 {
			t.Errorf("%s: got %q", line, answer)
		}
	}
}

// TestAHeadHasTenSeconds runs in virtual time: it drips, on a new connection and on one that has served.
func TestAHeadHasTenSeconds(t *testing.T) {
	warm := loopback(t, 10, nil) // see TestSlowRequests
	_ = warm.exchange(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	for _, first := range []string{"", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			t.Cleanup(func() { time.Sleep(time.Minute) }) // for the server's own goroutines to end
			socket := fasthttputil.NewInmemoryListener()
			_ = start(t, socket, 10, nil)
			conn, err := socket.Dial()
			must(t, err)
			r := bufio.NewReader(conn)
			if first != "" {
				_, err := io.WriteString(conn, first)
				must(t, err)
				if status, _ := answerOn(t, r); status != 200 {
					t.Errorf("got %d", status)
				}
				time.Sleep(time.Minute) // between requests there is more time
			}
			began := time.Now()
			go func() {
				for _, c := range "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("y", 200) {
					if _, err := conn.Write([]byte(string(c))); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
			answer, _ := io.ReadAll(r)
			if took := time.Since(began); !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") || took < 9*time.Second || took > 13*time.Second {
				t.Errorf("after %s: got %q", took, answer)
			}
			_ = conn.Close()
			synctest.Wait()
		})
	}
}
