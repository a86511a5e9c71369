package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/identity"
)

var errNoNetwork = errors.New("this node has no address for other nodes of the quota ledger: set quota_listen")

// stream is what raft speaks over: connections that the server took, and those that it dials.
type stream struct {
	id      *identity.Identity
	address addr
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// addr is a node's address as raft knows it.
type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }

// Accept implements net.Listener.
func (s *stream) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *stream) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr implements net.Listener.
func (s *stream) Addr() net.Addr { return s.address }

// Dial implements raft.StreamLayer.
func (s *stream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return dial(ctx, s.id, string(address), protocolRaft)
}

// take hands raft a connection that the server accepted.
func (s *stream) take(c net.Conn) {
	select {
	case s.conns <- c:
	case <-s.closed:
		_ = c.Close()
	}
}

// dial connects to a node and checks that it is the one.
func dial(ctx context.Context, id *identity.Identity, address, protocol string) (*tls.Conn, error) {
	node, hostPort := SplitAddress(address)
	if hostPort == "" {
		return nil, errNoNetwork
	}
	return dialTLS(ctx, hostPort, id.ClientTLS(node, protocol))
}

func dialTLS(ctx context.Context, hostPort string, config *tls.Config) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: config}
	c, err := d.DialContext(ctx, "tcp", hostPort)
	if err != nil {
		return nil, fmt.Errorf("connect to the quota ledger at %s: %w", hostPort, err)
	}
	conn, _ := c.(*tls.Conn)
	return conn, nil
}
