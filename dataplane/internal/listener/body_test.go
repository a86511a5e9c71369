package listener_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/listener"
)

// opened sends the beginning of a request on a new connection.
func (h *host) opened(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := h.dial()
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(hang)))
	_, err = io.WriteString(conn, text)
	must(t, err)
	return conn
}

// answerOn reads an answer and returns its status and its body.
func answerOn(t *testing.T, r *bufio.Reader) (status int, body string) {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	must(t, err)
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(text)
}

// settles waits until as much of the budget is held as should be.
func (h *host) settles(t *testing.T, what string, ok func(used int64) bool) {
	t.Helper()
	for began := time.Now(); !ok(h.budget.Used()); time.Sleep(time.Millisecond) {
		if time.Since(began) > hang {
			t.Fatalf("%s: %d bytes are held", what, h.budget.Used())
		}
	}
}

// TestSmallBodiesInChunksHoldNothing has 100 calls wait at a time. At the limit of their path two would fit.
func TestSmallBodiesInChunksHoldNothing(t *testing.T) {
	const calls = 100
	arrived, proceed := make(chan int, calls), make(chan struct{})
	h := loopback(t, 2*calls, func(ctx *fasthttp.RequestCtx) {
		body, err := bodyOf(ctx)
		if err != nil {
			t.Error(err)
		}
		arrived <- len(body)
		<-proceed
	})
	header, body := framed(strings.Repeat("x", 300), true)
	conns := make([]net.Conn, calls)
	for i := range conns {
		conns[i] = h.opened(t, "POST /large HTTP/1.1\r\nHost: h\r\n"+header+"\r\n\r\n"+body)
	}
	for range conns {
		select {
		case n := <-arrived:
			if n != 300 {
				t.Errorf("%d bytes arrived", n)
			}
		case <-time.After(hang):
			t.Fatal("not all calls came to the handler")
		}
	}
	if used := h.budget.Used(); used != 0 {
		t.Errorf("%d bytes are held", used)
	}
	close(proceed)
	for _, conn := range conns {
		if status, _ := answerOn(t, bufio.NewReader(conn)); status != 200 {
			t.Errorf("got %d", status)
		}
	}
}

// TestABodyInChunksHoldsWhatHasArrived sends a chunk that promises much, bit by bit.
func TestABodyInChunksHoldsWhatHasArrived(t *testing.T) {
	arrived, proceed := make(chan int), make(chan struct{})
	h := loopback(t, 10, func(ctx *fasthttp.RequestCtx) {
		body, err := bodyOf(ctx)
		if err != nil {
			t.Error(err)
		}
		arrived <- len(body)
		<-proceed
		listener.Of(ctx).ReleaseBody()
		arrived <- 0
		<-proceed
	})
	const chunk, first = 1_000_000, 100_000
	conn := h.opened(t, fmt.Sprintf("POST /large HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", chunk, strings.Repeat("x", first)))
	h.settles(t, "after some of it", func(used int64) bool { return used == 128<<10 })
	_, err := io.WriteString(conn, strings.Repeat("x", chunk-first)+"\r\n0\r\n\r\n")
	must(t, err)
	if n, used := <-arrived, h.budget.Used(); n != chunk || used < chunk || used > chunk+64<<10 {
		t.Errorf("%d bytes arrived, %d are held", n, used)
	}
	proceed <- struct{}{}
	<-arrived
	if used := h.budget.Used(); used != 0 {
		t.Errorf("%d bytes are held of a body that is not needed", used)
	}
	proceed <- struct{}{}
	if status, _ := answerOn(t, bufio.NewReader(conn)); status != 200 {
		t.Errorf("got %d", status)
	}
}

// TestOneAccountLeavesRoomForOthers: one that sends many large bodies and never ends them is refused more, and others are served.
func TestOneAccountLeavesRoomForOthers(t *testing.T) {
	h := loopback(t, 100, nil)
	large := func(account, framing string) string {
		return "POST /large HTTP/1.1\r\nHost: h\r\nX-Account: " + account + "\r\n" + framing + "\r\n\r\n"
	}
	const stated, inChunks = "Content-Length: 4194304", "Transfer-Encoding: chunked"
	h.opened(t, large("greedy", stated)) // a half of the budget
	h.settles(t, "after the first", func(used int64) bool { return used == 4<<20 })
	for range 10 {
		conn := h.opened(t, large("greedy", stated))
		if status, body := answerOn(t, bufio.NewReader(conn)); status != 429 || !strings.Contains(body, "as one account may") {
			t.Fatalf("got %d %s", status, body)
		}
	}
	for range 30 { // each holds 128 KiB, of which many are refused
		h.opened(t, large("dripping", inChunks)+"400000\r\n"+strings.Repeat("x", 70_000))
	}
	header, body := framed(strings.Repeat("x", 500_000), false)
	if status, _ := answerOn(t, bufio.NewReader(h.opened(t, large("modest", header)+body))); status != 200 {
		t.Errorf("another account's call: got %d", status)
	}
	if used := h.budget.Used(); used > 8<<20 {
		t.Errorf("%d bytes are held", used)
	}
}

// TestAConnectionGoesOnAfterALargeBody sends requests one after another, and all at once.
func TestAConnectionGoesOnAfterALargeBody(t *testing.T) {
	for name, certificate := range map[string]*listener.Certificate{"plain": nil, "tls": newCertificate(t)} {
		t.Run(name, func(t *testing.T) {
			h := loopbackWith(t, 10, certificate, nil)
			h.dial = dialer(h, certificate)
			var texts []string
			for _, size := range []int{100_000, 5, 0, 300_000} {
				for _, chunks := range []bool{true, false} {
					header, body := framed(fmt.Sprintf("%06d", size)+strings.Repeat("x", size), chunks)
					texts = append(texts, "POST /large HTTP/1.1\r\nHost: h\r\n"+header+"\r\n\r\n"+body)
				}
			}
			check := func(r *bufio.Reader, text string) {
				t.Helper()
				status, body := answerOn(t, r)
				if status != 200 || len(body) < 6 || !strings.Contains(text, body) {
					t.Errorf("got %d, %.20q, %d bytes", status, body, len(body))
				}
			}
			conn := h.opened(t, "")
			r := bufio.NewReader(conn)
			for _, text := range texts {
				_, err := io.WriteString(conn, text)
				must(t, err)
				check(r, text)
			}
			go io.WriteString(conn, strings.Join(texts, ""))
			for _, text := range texts {
				check(r, text)
			}
			if open := h.watch.Open(); open != 1 {
				t.Errorf("%d connections are open", open)
			}
			must(t, conn.Close())
			h.settles(t, "afterwards", func(used int64) bool { return used == 0 })
		})
	}
}
