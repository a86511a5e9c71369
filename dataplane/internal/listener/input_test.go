package listener

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// pair returns the two ends of a connection, ours as the server has it.
func pair(t *testing.T) (ours *Conn, theirs net.Conn) {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if theirs, err = net.Dial("tcp", socket.Addr().String()); err != nil {
		t.Fatal(err)
	}
	inner, err := socket.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = theirs.Close(), inner.Close() })
	return &Conn{Conn: inner, watch: &Watch{}}, theirs
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn, room int, want string) {
	t.Helper()
	b := make([]byte, room)
	if n, err := c.Read(b); err != nil || string(b[:n]) != want {
		t.Fatalf("read %q, %v; want %q", b[:n], err, want)
	}
}

func TestOneByteIsReadWithTheRest(t *testing.T) {
	ours, theirs := pair(t)
	send(t, theirs, "hello")
	receive(t, ours, 1, "h")
	if ours.in.buf == nil {
		t.Fatal("the rest was left in the socket")
	}
	receive(t, ours, 0, "")
	receive(t, ours, 2, "el")
	receive(t, ours, 100, "lo")
	if ours.in.buf != nil {
		t.Error("the buffer is still held")
	}
	send(t, theirs, "again")
	receive(t, ours, 100, "again")
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{1, 100} {
		if n, err := ours.Read(make([]byte, room)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("behind the end: %d, %v", n, err)
		}
	}
	if ours.in.buf != nil {
		t.Error("a buffer is held at the end")
	}
}

func TestReadDeadlines(t *testing.T) {
	const soon, late = 50 * time.Millisecond, 20 * time.Second
	ours, theirs := pair(t)
	at := func(d time.Duration) {
		t.Helper()
		if err := ours.SetReadDeadline(time.Now().Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	times := func(what string) {
		t.Helper()
		began := time.Now()
		if n, err := ours.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > late/2 {
			t.Errorf("%s: %d, %v after %s", what, n, err, time.Since(began))
		}
	}
	at(late) // before the first read
	send(t, theirs, "a")
	receive(t, ours, 1, "a")
	at(soon)
	times("an earlier deadline than the one that is set")
	at(late)
	send(t, theirs, "b")
	receive(t, ours, 1, "b")
	at(soon)
	times("an earlier deadline again")
	at(-time.Second)
	times("a deadline that is over")
	if err := ours.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(soon, func() { _, _ = io.WriteString(theirs, "c") })
	receive(t, ours, 1, "c")
	at(soon)
	times("a deadline after none")
}
