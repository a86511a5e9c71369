package listener

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// acceptor wraps what a socket accepts. It is the net.Listener of one server.
type acceptor struct {
	net.Listener
	watch     *Watch
	budget    *Budget
	connsMax  int
	writeTime time.Duration
	tls       *tls.Config // nil for plain connections
	log       *slog.Logger
	warned    time.Time
	closed    atomic.Bool
}

// Close closes the socket, once.
func (a *acceptor) Close() error {
	if a.closed.Swap(true) {
		return nil
	}
	return a.Listener.Close()
}

// Accept returns the next connection. It waits when the process is out of descriptors or memory, and refuses connections over
// the bound; it fails only when the socket is closed.
func (a *acceptor) Accept() (net.Conn, error) {
	pause := time.Millisecond
	for {
		inner, err := a.Listener.Accept()
		switch {
		case a.closed.Load():
			return nil, net.ErrClosed
		case err != nil:
			a.warn("accept fails", slog.Any("error", err))
			time.Sleep(pause)
			pause = min(2*pause, acceptRetryMax)
			continue
		}
		if open := a.watch.Open(); open >= a.connsMax {
			a.warn("too many connections", slog.Int("open", open))
			a.refuse(inner)
			continue
		}
		c := &Conn{Conn: inner, budget: a.budget, writeTime: a.writeTime}
		if a.tls != nil {
			c.secure(a.tls)
		}
		if err := a.watch.add(c); err != nil {
			a.warn("connection cannot be watched", slog.Any("error", err))
			_ = c.Close()
			continue
		}
		return c, nil
	}
}

// warn logs at most once a second.
func (a *acceptor) warn(message string, attr slog.Attr) {
	if now := time.Now(); now.Sub(a.warned) > time.Second {
		a.warned = now
		a.log.Warn(message, attr) //nolint:sloglint // the callers' messages are constant
	}
}

// refuse answers a connection that there is no room for. Its send buffer is empty, so the write does not wait. A handshake
// would, so TLS is just closed.
func (a *acceptor) refuse(c net.Conn) {
	defer func() { _ = c.Close() }()
	if a.tls != nil {
		return
	}
	const body = `{"detail":"Too many connections. Try again."}`
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\n"+
		"Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: Retry-After\r\n"+
		"Retry-After: %d\r\nContent-Length: %d\r\n\r\n%s", int(overloadRetry.Seconds()), len(body), body)
}
