package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// serve accepts TCP connections and hands each, with its number from 0, to a goroutine.
func serve(t *testing.T, each func(n int, nc net.Conn)) *Host {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHost(Options{Address: l.Addr().String()})
	t.Cleanup(func() { l.Close(); h.Close() })
	go func() {
		for n := 0; ; n++ {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				each(n, nc)
			}()
		}
	}()
	return h
}

// readRequest consumes one request, and reports false when the client has left.
func readRequest(r *bufio.Reader) bool {
	q, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, q.Body)
	return true
}

func TestStaleConnectionsAreReplaced(t *testing.T) {
	for name, end := range map[string]func(nc net.Conn){
		"closed":            func(nc net.Conn) { nc.Close() },
		"reset":             func(nc net.Conn) { nc.(*net.TCPConn).SetLinger(0); nc.Close() },
		"closed on request": func(nc net.Conn) { nc.Read(make([]byte, 1)); nc.Close() },
		"reset on request":  func(nc net.Conn) { nc.Read(make([]byte, 1)); nc.(*net.TCPConn).SetLinger(0); nc.Close() },
		"talks out of turn": func(nc net.Conn) {
			io.WriteString(nc, "HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n")
			io.Copy(io.Discard, nc)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int64
			h := serve(t, func(n int, nc net.Conn) {
				connections.Add(1)
				r := bufio.NewReader(nc)
				readRequest(r)
				io.WriteString(nc, okAnswer)
				if n == 0 {
					end(nc)
					return
				}
				for readRequest(r) {
					io.WriteString(nc, okAnswer)
				}
			})
			for i := range 3 {
				if _, got, err := post(t.Context(), h, "/", []byte("question")); err != nil || string(got) != "ok" {
					t.Fatalf("call %d: %q, %v", i, got, err)
				}
				time.Sleep(50 * time.Millisecond) // the server's end of the connection must arrive
			}
			if n := connections.Load(); n != 2 {
				t.Errorf("%d connections", n)
			}
			if idle, busy := h.Counts(); idle != 1 || busy != 0 {
				t.Errorf("%d idle, %d busy", idle, busy)
			}
		})
	}
}

func TestAFreshConnectionIsNotTriedTwice(t *testing.T) {
	var connections atomic.Int64
	h := serve(t, func(_ int, nc net.Conn) {
		connections.Add(1)
		readRequest(bufio.NewReader(nc))
	})
	_, _, err := post(t.Context(), h, "/", nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Phase != Await || connections.Load() != 1 {
		t.Errorf("%v after %d connections", err, connections.Load())
	}
}

func TestAnAnswerThatBeganIsNotTriedAgain(t *testing.T) {
	var requests atomic.Int64
	h := serve(t, func(_ int, nc net.Conn) {
		r := bufio.NewReader(nc)
		for readRequest(r) {
			if requests.Add(1) == 2 {
				io.WriteString(nc, "HTTP/1.1 2")
				return
			}
			io.WriteString(nc, okAnswer)
		}
	})
	post(t.Context(), h, "/", nil)
	_, _, err := post(t.Context(), h, "/", nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Phase != Cut || requests.Load() != 2 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func TestAnEarlyAnswerToALargeRequestIsRead(t *testing.T) {
	h := serve(t, func(_ int, nc net.Conn) {
		nc.Read(make([]byte, 1000))
		io.WriteString(nc, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
		nc.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, nc)
	})
	head, got, err := post(t.Context(), h, "/", letters(8<<20))
	if err != nil || head.Status != 413 || string(got) != "big" {
		t.Errorf("status %d, %q, %v", head.Status, got, err)
	}
}

func TestConnectionsAreNotUsedAgainAfterLeftovers(t *testing.T) {
	var connections atomic.Int64
	h := serve(t, func(_ int, nc net.Conn) {
		connections.Add(1)
		for r := bufio.NewReader(nc); readRequest(r); {
			io.WriteString(nc, okAnswer+"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		}
	})
	for range 3 {
		if _, got, err := post(t.Context(), h, "/", nil); err != nil || string(got) != "ok" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("%d connections", n)
	}
}

func TestTooManyInterimAnswers(t *testing.T) {
	for count, good := range map[int]bool{interimMax: true, interimMax + 1: false} {
		h := serve(t, func(_ int, nc net.Conn) {
			readRequest(bufio.NewReader(nc))
			io.WriteString(nc, strings.Repeat("HTTP/1.1 102 Wait\r\n\r\n", count)+okAnswer)
		})
		if _, _, err := post(t.Context(), h, "/", nil); (err == nil) != good {
			t.Errorf("%d interim answers: %v", count, err)
		}
	}
	h := serve(t, func(_ int, nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"+okAnswer)
	})
	if _, _, err := post(t.Context(), h, "/", nil); err == nil {
		t.Error("an upgrade that nobody asked for is accepted")
	}
}

func TestCapOnConnections(t *testing.T) {
	release := make(chan struct{})
	h := serve(t, func(_ int, nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		<-release
		io.WriteString(nc, okAnswer)
	})
	h.options.Connections = 2
	ends := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := post(context.Background(), h, "/", nil)
			ends <- err
		}()
	}
	for _, busy := h.Counts(); busy < 2; _, busy = h.Counts() {
		time.Sleep(time.Millisecond)
	}
	if _, _, err := post(t.Context(), h, "/", nil); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	close(release)
	for range 2 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if idle, busy := h.Counts(); idle != 2 || busy != 0 {
		t.Errorf("%d idle, %d busy", idle, busy)
	}
	h.Close()
	if idle, busy := h.Counts(); idle != 0 || busy != 0 {
		t.Errorf("%d idle, %d busy after Close", idle, busy)
	}
}

// piped is a Host whose connections are net.Pipe, for use in a bubble.
func piped(each func(n int, nc net.Conn)) *Host {
	var dials atomic.Int64
	return NewHost(Options{Address: "pipe", Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		n := int(dials.Add(1)) - 1
		go func() {
			defer theirs.Close()
			each(n, theirs)
		}()
		return ours, nil
	}})
}

func TestTimeoutOfADrippingHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := piped(func(_ int, nc net.Conn) {
			readRequest(bufio.NewReader(nc))
			for _, c := range []byte("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 50)) {
				if _, err := nc.Write([]byte{c}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		began := time.Now()
		_, _, err := post(t.Context(), h, "/", nil)
		if e, ok := errors.AsType[*Error](err); !ok || !e.Timeout() || time.Since(began) != generous.Head {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		h.Close()
		time.Sleep(2 * time.Second) // the server notices with its next byte
	})
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := piped(func(_ int, nc net.Conn) {
			readRequest(bufio.NewReader(nc))
			time.Sleep(25 * time.Second)
			io.WriteString(nc, okAnswer)
			io.Copy(io.Discard, nc)
		})
		began := time.Now()
		times := generous
		times.Patience = 10 * time.Second
		c, err := h.Exchange(t.Context(), [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}, times)
		if err != nil || c.Head.Status != 0 || time.Since(began) != times.Patience {
			t.Fatalf("%+v, %v after %s", c, err, time.Since(began))
		}
		if err := c.Await(time.Now().Add(time.Second)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := c.Await(time.Now().Add(time.Hour)); err != nil || c.Head.Status != 200 || time.Since(began) != 25*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		got, err := c.Next()
		if string(got) != "ok" {
			t.Errorf("got %q, %v", got, err)
		}
		c.Finish()
		h.Close()
	})
}

func TestIdleConnectionsAreClosedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make([]time.Duration, 2)
		began := time.Now()
		h := piped(func(n int, nc net.Conn) {
			for r := bufio.NewReader(nc); readRequest(r); {
				time.Sleep(time.Second)
				io.WriteString(nc, okAnswer)
			}
			ended[n] = time.Since(began)
		})
		second := make(chan struct{})
		go func() {
			time.Sleep(time.Second / 2)
			post(t.Context(), h, "/", nil)
			close(second)
		}()
		post(t.Context(), h, "/", nil)
		<-second
		time.Sleep(2 * idleAgeDefault)
		synctest.Wait()
		if want := idleAgeDefault + time.Second; ended[0] != want || ended[1] != want+time.Second/2 {
			t.Errorf("ended after %s and %s", ended[0], ended[1])
		}
		if idle, busy := h.Counts(); idle+busy != 0 {
			t.Errorf("%d connections are left", idle+busy)
		}
	})
}

func TestDrain(t *testing.T) {
	for name, test := range map[string]struct {
		rest string // of the body, after "last"
		wait time.Duration
		kept bool
	}{
		"end is there":          {"\r\n0\r\n\r\n", 0, true},
		"end follows":           {"\r\n0\r\n\r\n", 50 * time.Millisecond, true},
		"an empty line follows": {"\r\n1\r\n\n\r\n0\r\n\r\n", 50 * time.Millisecond, true},
		"nonsense follows":      {"\r\nxyz\r\n\r\n", 50 * time.Millisecond, false},
		"nothing follows":       {"", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, func(_ int, nc net.Conn) {
				readRequest(bufio.NewReader(nc))
				io.WriteString(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nlast")
				time.Sleep(test.wait)
				io.WriteString(nc, test.rest)
				io.Copy(io.Discard, nc)
			})
			c, err := h.Exchange(t.Context(), [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}, generous)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Next(); !bytes.HasPrefix(got, []byte("last")) || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			c.Drain()
			idle, busy := h.Counts()
			for range 500 {
				if busy == 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
				idle, busy = h.Counts()
			}
			if (idle == 1) != test.kept || busy != 0 {
				t.Errorf("%d idle, %d busy", idle, busy)
			}
		})
	}
}

// TestManyWaitingHoldNoBuffers looks at the heap while many connections wait whose buffers would be large.
func TestManyWaitingHoldNoBuffers(t *testing.T) {
	const waiting = 64
	release := make(chan struct{})
	h := serve(t, func(_ int, nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
		<-release
		io.WriteString(nc, "ok")
	})
	var all sync.WaitGroup
	for range waiting {
		c, err := h.Exchange(t.Context(), [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}, generous)
		if err != nil {
			t.Fatal(err)
		}
		c.want = bufferLarge
		all.Go(func() {
			if got, err := c.Next(); string(got) != "ok" {
				t.Errorf("%q, %v", got, err)
			}
			c.Close()
		})
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // twice: the first only ages what the pools hold
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const limit = waiting * bufferLarge / 2
	used := heap()
	for range 100 {
		if used < limit {
			break
		}
		time.Sleep(50 * time.Millisecond)
		used = heap()
	}
	if used >= limit {
		t.Errorf("%d KiB of heap while %d connections wait", used>>10, waiting)
	}
	close(release)
	all.Wait()
}

func TestWaitingHoldsNoBuffer(t *testing.T) {
	send := make(chan string)
	h := serve(t, func(_ int, nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for s := range send {
			fmt.Fprintf(nc, "%x\r\n%s\r\n", len(s), s)
		}
	})
	c, err := h.Exchange(t.Context(), [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}, generous)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 3 {
		text := fmt.Sprint("event ", i)
		send <- text
		if got, err := c.Next(); string(got) != text || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		c.Keep(0)
		c.SetDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := c.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		if c.buf != nil {
			t.Error("a buffer is held while nothing is in it")
		}
		c.SetDeadline(time.Now().Add(time.Minute))
	}
	close(send)
}

// fragile is a connection whose reads panic once it is broken.
type fragile struct {
	net.Conn
	broken atomic.Bool
}

func (f *fragile) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if f.broken.Load() {
		panic("broken")
	}
	return n, err
}

// TestAPanicBesideTheCallsIsTold: while the end of a body is awaited, nobody else would see it.
func TestAPanicBesideTheCallsIsTold(t *testing.T) {
	last := make(chan struct{})
	h := serve(t, func(_ int, nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nlast")
		<-last
		io.WriteString(nc, "\r\n")
		io.Copy(io.Discard, nc)
	})
	told := make(chan any, 1)
	var conn *fragile
	h.options.Panicked = func(value any, stack []byte) {
		if len(stack) == 0 {
			t.Error("no stack")
		}
		told <- value
	}
	h.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := (&net.Dialer{}).DialContext(ctx, network, address)
		conn = &fragile{Conn: nc}
		return conn, err
	}
	c, err := h.Exchange(t.Context(), [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}, generous)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	conn.broken.Store(true)
	c.Drain()
	close(last)
	select {
	case value := <-told:
		if value != "broken" {
			t.Errorf("told %v", value)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told")
	}
}
