package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Options configure a Host. Zero values mean the defaults.
type Options struct {
	Address string      // host:port
	TLS     *tls.Config // nil speaks plain TCP; ServerName must be set

	Connections int           // cap on idle and busy connections together
	Idle        int           // cap on idle connections
	IdleAge     time.Duration // after which an idle connection is closed; keep it below the server's own

	// Dial opens a connection; nil means TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Panicked is told of a panic on a goroutine of a connection, which no call sees; nil drops it.
	Panicked func(value any, stack []byte)
}

// Times bound an exchange.
type Times struct {
	Connect  time.Duration // dialing and the TLS handshake
	Head     time.Duration // from the request being written to the end of the head
	Patience time.Duration // after which Exchange returns without a head; 0 waits for it
}

// Host is one server and the connections to it.
type Host struct {
	options Options
	buffers buffers

	mu     sync.Mutex
	idle   []*Conn // oldest first
	open   int     // idle and busy
	closed bool
	reaper *time.Timer // closes idle connections that are too old; nil while there are none
}

// NewHost returns the Host for o.
func NewHost(o Options) *Host {
	if o.Connections == 0 {
		o.Connections = connectionsDefault
	}
	if o.Idle == 0 {
		o.Idle = idleDefault
	}
	if o.IdleAge == 0 {
		o.IdleAge = idleAgeDefault
	}
	if o.Dial == nil {
		dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveEvery, Count: keepAliveCount,
		}}
		o.Dial = dialer.DialContext
	}
	return &Host{options: o}
}

// Close closes the idle connections, and the busy ones as they finish. Exchanges that still come are served by
// connections of their own, so that a Host can be replaced while calls are on their way to it.
func (h *Host) Close() {
	h.mu.Lock()
	idle := h.idle
	h.idle, h.closed = nil, true
	h.open -= len(idle)
	if h.reaper != nil {
		h.reaper.Stop()
		h.reaper = nil
	}
	h.mu.Unlock()
	for _, c := range idle {
		_ = c.nc.Close()
	}
}

// Counts returns the number of idle and of busy connections.
func (h *Host) Counts() (idle, busy int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.idle), h.open - len(h.idle)
}

// Exchange writes a request, the whole of it as given in parts, and waits for the head of the answer. When t.Patience
// passes first it returns a Conn without a head (Status is 0) that [Conn.Await] goes on waiting for. The parts must not
// change until Exchange returns; they are not used afterwards. The errors are *Error, or the cause of ctx.
func (h *Host) Exchange(ctx context.Context, parts [][]byte, t Times) (*Conn, error) {
	began := time.Now()
	for c := h.reuse(); c != nil; c = h.reuse() {
		err := c.exchange(ctx, parts, t, began)
		if err == nil {
			return c, nil
		}
		stale := c.stale(err)
		c.Close()
		switch {
		case errors.Is(err, errNotQuiet): // nothing was written
		case stale:
			return h.fresh(ctx, parts, t, began)
		default:
			return nil, err
		}
	}
	return h.fresh(ctx, parts, t, began)
}

// fresh is Exchange on a new connection.
func (h *Host) fresh(ctx context.Context, parts [][]byte, t Times, began time.Time) (*Conn, error) {
	c, err := h.dial(ctx, t.Connect)
	if err != nil {
		return nil, err
	}
	if err := c.exchange(ctx, parts, t, began); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// reuse returns the idle connection used last, or nil. Whether it is still good is seen when it is used.
func (h *Host) reuse() *Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.idle) - 1
	if last < 0 {
		return nil
	}
	c := h.idle[last]
	h.idle[last] = nil
	h.idle = h.idle[:last]
	c.reused = true
	return c
}

// dial opens a connection within timeout.
func (h *Host) dial(ctx context.Context, timeout time.Duration) (*Conn, error) {
	h.mu.Lock()
	full := h.open >= h.options.Connections
	if !full {
		h.open++
	}
	h.mu.Unlock()
	if full {
		return nil, &Error{Busy, ErrBusy}
	}
	nc, err := h.connectApart(ctx, timeout)
	if err != nil {
		h.forget()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &Error{Connect, err}
	}
	return newConn(h, nc), nil
}

// connectApart is connect on a goroutine of its own. Dialing and a handshake go deep, and a call keeps the stack it has grown: half of
// the memory of a stream would be that of having dialed.
func (h *Host) connectApart(ctx context.Context, timeout time.Duration) (nc net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("dialing panicked: %v", p)
			}
		}()
		nc, err = h.connect(ctx, timeout)
	}()
	<-done
	return nc, err
}

func (h *Host) connect(ctx context.Context, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	nc, err := h.options.Dial(ctx, "tcp", h.options.Address)
	if err != nil || h.options.TLS == nil {
		return nc, err
	}
	secure := tls.Client(nc, h.options.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("shake hands: %w", err)
	}
	return secure, nil
}

// forget uncounts a connection.
func (h *Host) forget() {
	h.mu.Lock()
	h.open--
	h.mu.Unlock()
}

// drop closes a connection that is not idle.
func (h *Host) drop(c *Conn) {
	_ = c.nc.Close()
	h.forget()
}

// keep makes a connection idle. It reports false when it has to be closed instead.
func (h *Host) keep(c *Conn) bool {
	c.idleSince = time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.idle) >= h.options.Idle {
		return false
	}
	h.idle = append(h.idle, c)
	if h.reaper == nil {
		h.reaper = time.AfterFunc(h.options.IdleAge, h.reap)
	}
	return true
}

// reap closes the idle connections that are too old. It runs on the timer's goroutine and sets the timer again while
// there are others.
func (h *Host) reap() {
	now := time.Now()
	h.mu.Lock()
	old := 0
	for old < len(h.idle) && now.Sub(h.idle[old].idleSince) >= h.options.IdleAge {
		old++
	}
	gone := append([]*Conn(nil), h.idle[:old]...)
	kept := copy(h.idle, h.idle[old:])
	clear(h.idle[kept:])
	h.idle = h.idle[:kept]
	h.open -= old
	switch {
	case h.closed:
	case kept == 0:
		h.reaper = nil
	default:
		h.reaper = time.AfterFunc(h.options.IdleAge-now.Sub(h.idle[0].idleSince), h.reap)
	}
	h.mu.Unlock()
	for _, c := range gone {
		_ = c.nc.Close()
	}
}
