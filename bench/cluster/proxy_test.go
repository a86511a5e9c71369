package cluster_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// proxies stand between the nodes' ledgers. One that is cut lets nothing through in either direction and, like a network that drops packets,
// tells nobody: connections stay open and what is written to them goes nowhere.
type proxies struct {
	t  *testing.T
	mu sync.Mutex
	by map[string]*proxy // by the address behind it
}

type proxy struct {
	t      *testing.T
	to     string
	socket net.Listener
	mu     sync.Mutex
	healed chan struct{} // closed unless the proxy is cut
}

// via returns the address of the proxy before an address.
func (p *proxies) via(address string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]*proxy{}
	}
	x := p.by[address]
	if x == nil {
		socket, err := (&net.ListenConfig{}).Listen(p.t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			p.t.Fatal(err)
		}
		x = &proxy{t: p.t, to: address, socket: socket, healed: make(chan struct{})}
		close(x.healed)
		p.by[address] = x
		go x.accept()
		p.t.Cleanup(func() {
			_ = socket.Close()
			x.heal()
		})
	}
	return x.socket.Addr().String()
}

// of returns the proxy before an address.
func (p *proxies) of(address string) *proxy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.by[address]
}

func (x *proxy) cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.healed = make(chan struct{})
}

func (x *proxy) heal() {
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-x.healed:
	default:
		close(x.healed)
	}
}

// open waits until the proxy is not cut.
func (x *proxy) open() {
	x.mu.Lock()
	healed := x.healed
	x.mu.Unlock()
	<-healed
}

func (x *proxy) accept() {
	for {
		in, err := x.socket.Accept()
		if err != nil {
			return
		}
		go func() {
			x.open()
			out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", x.to)
			if err != nil {
				_ = in.Close()
				return
			}
			go x.pass(in, out)
			x.pass(out, in)
		}()
	}
}

func (x *proxy) pass(from, to net.Conn) {
	defer func() { _ = from.Close(); _ = to.Close() }()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		x.open()
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// A proxy that is cut keeps what it got until it is healed.
func TestProxy(t *testing.T) {
	behind, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	got := make(chan string, 10)
	go func() {
		c, err := behind.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 1)
		for {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			got <- string(b)
		}
	}()
	p := &proxies{t: t}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.via(behind.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send := func(s string) {
		if _, err := io.WriteString(c, s); err != nil {
			t.Error(err)
		}
	}
	send("a")
	if s := <-got; s != "a" {
		t.Error(s)
	}
	x := p.of(behind.Addr().String())
	x.cut()
	send("b")
	select {
	case s := <-got:
		t.Errorf("%q passed", s)
	default:
	}
	x.heal()
	if s := <-got; s != "b" {
		t.Error(s)
	}
}
