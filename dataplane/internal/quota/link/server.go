package link

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

// ServerOptions make a Server.
type ServerOptions struct {
	Identity *identity.Identity
	Socket   net.Listener // nil: this node is alone and has no network
	Address  string       // what others reach this node by, host:port
	// Leadership says who leads, now.
	Leadership func() Leadership
	// Submit hands a frame to the own replica. The answer may be called by any goroutine, once or never.
	Submit func(f ledger.Frame, answer func(ledger.Reply)) error
	// Command answers a command of a peer.
	Command func(ctx context.Context, from identity.Peer, command json.RawMessage) any
	// Banned reports whether a node was forgotten; nil if this node cannot know. Sweep asks again.
	Banned func(number uint64) bool
	// Refused counts, by one of the Refused words.
	Refused func(reason string)
	Log     *slog.Logger
}

// Server is the listening side of a node.
type Server struct {
	o      ServerOptions
	stream *stream
	room   chan struct{}

	mu     sync.Mutex
	closed bool
	nodes  map[uint64]*session
	conns  map[net.Conn]uint64 // numbers of their nodes; 0 before the handshake and while joining
	done   sync.WaitGroup
}

// session is the connection of a node that sends frames.
type session struct {
	node string
	conn net.Conn
	out  chan []byte
}

// NewServer returns a server. Run must be called next.
func NewServer(o ServerOptions) *Server {
	s := &Server{o: o, room: make(chan struct{}, connsMax), nodes: map[uint64]*session{}, conns: map[net.Conn]uint64{}}
	s.stream = &stream{
		id: o.Identity, address: addr(Address(o.Identity.Node, o.Address)), conns: make(chan net.Conn, raftConnsPending), closed: make(chan struct{}),
	}
	return s
}

// Raft is what raft speaks over.
func (s *Server) Raft() raft.StreamLayer { return s.stream }

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	if s.o.Socket == nil {
		<-ctx.Done()
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		_ = s.o.Socket.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		for c := range s.conns {
			_ = c.Close()
		}
	})
	defer stop()
	config := s.o.Identity.ServerTLS([]string{protocolRaft, protocolFrames, protocolCommand}, protocolJoin)
	for {
		c, err := s.o.Socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			s.done.Wait()
			return nil
		case err != nil: // out of descriptors, for instance
			s.o.Log.Warn("connection of the quota ledger is not taken", slog.Any("error", err))
			time.Sleep(redialMost)
			continue
		}
		select {
		case s.room <- struct{}{}:
			s.done.Go(func() {
				s.serve(ctx, tls.Server(c, config))
				<-s.room
			})
		default:
			s.o.Refused(RefusedFull)
			_ = c.Close()
		}
	}
}

// serve shakes hands and goes on by protocol. Raft keeps its connections; it closes them itself.
func (s *Server) serve(ctx context.Context, c *tls.Conn) {
	if !s.keep(c) {
		return
	}
	defer s.drop(c)
	shake, cancel := context.WithTimeout(ctx, handshakeTime)
	err := c.HandshakeContext(shake)
	cancel()
	if err != nil {
		s.refuse(c, RefusedHandshake, err)
		return
	}
	state := c.ConnectionState()
	if state.NegotiatedProtocol == protocolJoin {
		s.join(c)
		return
	}
	peer, err := s.o.Identity.PeerOf(state)
	switch {
	case err != nil:
		s.refuse(c, RefusedHandshake, err)
	case s.banned(c, peer.Number()):
		s.refuse(c, RefusedBanned, errForgotten)
		s.explain(c, state.NegotiatedProtocol)
	case state.NegotiatedProtocol == protocolFrames:
		s.node(c, peer)
	case state.NegotiatedProtocol == protocolCommand:
		s.command(ctx, c, peer)
	case peer.Role != identity.Voter:
		s.refuse(c, RefusedRole, errors.New("clients do not take part in raft"))
	case state.NegotiatedProtocol == protocolRaft:
		raftConn := &watched{Conn: c, gone: make(chan struct{})}
		s.stream.take(raftConn)
		select {
		case <-raftConn.gone:
		case <-s.stream.closed:
		case <-ctx.Done():
		}
	default:
		s.refuse(c, RefusedMessage, errors.New("no protocol was agreed on"))
	}
}

// watched tells when raft closes a connection.
type watched struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

// Close implements net.Conn.
func (w *watched) Close() error {
	w.once.Do(func() { close(w.gone) })
	return w.Conn.Close()
}

func (s *Server) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return false
	}
	s.conns[c] = 0
	return true
}

func (s *Server) drop(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Server) refuse(c net.Conn, reason string, err error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	s.o.Refused(reason)
	s.o.Log.Warn("connection of the quota ledger refused", slog.String("reason", reason), slog.String("remote", c.RemoteAddr().String()),
		slog.Any("error", err))
}

// node takes the frames of a node while this one leads.
func (s *Server) node(c *tls.Conn, peer identity.Peer) {
	is := s.o.Leadership()
	_ = c.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := c.Write(jsonMessage(kindWelcome, is)); err != nil || !is.Leading {
		return
	}
	x := &session{node: peer.Node, conn: c, out: make(chan []byte, outboxMax)}
	number := peer.Number()
	s.mu.Lock()
	if old := s.nodes[number]; old != nil {
		_ = old.conn.Close()
	}
	s.nodes[number] = x
	s.mu.Unlock()
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { x.write(stop) })
	err := s.frames(c, x, number)
	close(stop)
	done.Wait()
	_ = c.Close()
	s.mu.Lock()
	if s.nodes[number] == x {
		delete(s.nodes, number)
	}
	s.mu.Unlock()
	var bad *refusal
	if errors.As(err, &bad) {
		s.refuse(c, bad.reason, bad.err)
	}
}

// refusal is an error that is counted.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.reason + ": " + r.err.Error() }

// frames reads frames until the connection ends or somebody else leads.
func (s *Server) frames(c net.Conn, x *session, number uint64) error {
	in := bufio.NewReaderSize(c, 1<<14)
	var buf []byte
	pace := pace{at: time.Now(), left: framesBurst}
	for {
		_ = c.SetReadDeadline(time.Now().Add(idleTime))
		kind, body, err := readMessage(in, &buf, messageBytesMax)
		if errors.Is(err, errMessage) {
			return &refusal{RefusedMessage, err}
		} else if err != nil {
			return err
		}
		if kind != kindFrame {
			return &refusal{RefusedMessage, errMessage}
		}
		f, err := ledger.DecodeFrame(body)
		switch {
		case err != nil:
			return &refusal{RefusedMessage, err}
		case f.Node != number:
			return &refusal{RefusedNode, errors.New("the frame is not in the name of the certificate's node")}
		}
		pace.wait()
		err = s.o.Submit(f, func(r ledger.Reply) {
			x.send(appendMessage(nil, kindReply, func(b []byte) []byte { return ledger.AppendReply(b, &r) }))
		})
		if err == nil {
			continue
		}
		if is := s.o.Leadership(); !is.Leading {
			x.send(jsonMessage(kindWelcome, is))
			return err
		}
		s.o.Refused(RefusedBusy) // the node repeats itself, ever less often
	}
}

// pace spaces what a node sends.
type pace struct {
	at   time.Time
	left float64
}

func (p *pace) wait() {
	now := time.Now()
	p.left = min(framesBurst, p.left+now.Sub(p.at).Seconds()*framesPerSecond) - 1
	p.at = now
	if p.left < 0 {
		time.Sleep(time.Duration(-p.left / framesPerSecond * float64(time.Second)))
	}
}

// send has a message written, or loses it if the node does not read.
func (x *session) send(message []byte) {
	select {
	case x.out <- message:
	default:
	}
}

// write writes until stop, then what is left.
func (x *session) write(stop <-chan struct{}) {
	for {
		var message []byte
		select {
		case message = <-x.out:
		case <-stop:
			select {
			case message = <-x.out:
			default:
				return
			}
		}
		_ = x.conn.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := x.conn.Write(message); err != nil {
			_ = x.conn.Close()
			return
		}
	}
}

// Recall sends a recall to its node, if that is connected.
func (s *Server) Recall(r ledger.Recall) {
	s.mu.Lock()
	x := s.nodes[r.Node]
	s.mu.Unlock()
	if x != nil {
		x.send(appendMessage(nil, kindRecall, func(b []byte) []byte { return ledger.AppendRecall(b, &r) }))
	}
}

// Connected returns the nodes that send their frames here, and from where.
func (s *Server) Connected() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := make(map[string]string, len(s.nodes))
	for _, x := range s.nodes {
		m[x.node] = x.conn.RemoteAddr().String()
	}
	return m
}
