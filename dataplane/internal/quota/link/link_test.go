package link_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/dataplane/internal/quota/link"
)

// hub is a server that leads, with a ledger behind it.
type hub struct {
	t       *testing.T
	id      *identity.Identity
	address string

	mu      sync.Mutex
	state   *ledger.State
	refused map[string]int
	leads   bool
}

func newHub(t *testing.T) *hub {
	t.Helper()
	id, err := identity.Begin(t.TempDir(), "hub")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{t: t, id: id, address: socket.Addr().String(), state: ledger.New(ledger.DefaultPolicy()), refused: map[string]int{}, leads: true}
	s := link.NewServer(link.ServerOptions{
		Identity: id, Socket: socket, Address: h.address, Submit: h.submit, Log: slog.New(slog.DiscardHandler),
		Leadership: func() link.Leadership {
			h.mu.Lock()
			defer h.mu.Unlock()
			return link.Leadership{Leading: h.leads, Leader: link.Address(id.Node, h.address), Peers: []string{link.Address(id.Node, h.address)}}
		},
		Command: func(_ context.Context, from identity.Peer, _ json.RawMessage) any { return from },
		Refused: func(reason string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.refused[reason]++
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *hub) submit(f ledger.Frame, answer func(ledger.Reply)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.leads {
		return errors.New("not the leader")
	}
	res, err := h.state.Apply(ledger.AppendEntry(nil, &ledger.Entry{At: time.Now().UnixMilli(), Frames: []ledger.Frame{f}}))
	if err != nil {
		h.t.Error(err)
		return nil
	}
	answer(res.Replies[0])
	return nil
}

func (h *hub) wantRefused(reason string) {
	h.t.Helper()
	for range 1000 {
		h.mu.Lock()
		n := h.refused[reason]
		h.mu.Unlock()
		if n > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.t.Errorf("nothing was refused for %q: %v", reason, h.refused)
}

func (h *hub) join(role identity.Role) *identity.Identity {
	h.t.Helper()
	t, err := h.id.Issue(h.address, role, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	id, _, err := link.Join(h.t.Context(), h.t.TempDir(), "n", t)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// courier runs a courier of the identity and returns where its replies come.
func (h *hub) courier(id *identity.Identity) (*link.Courier, <-chan ledger.Reply) {
	replies := make(chan ledger.Reply, 100)
	c := link.NewCourier(link.CourierOptions{
		Identity: id, Peers: []string{h.address}, Log: slog.New(slog.DiscardHandler),
		Deliver: func(r ledger.Reply) { replies <- r }, Recall: func(ledger.Recall) {},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	h.t.Cleanup(func() { cancel(); <-ended })
	return c, replies
}

func frame(node, seq uint64) ledger.Frame {
	return ledger.Frame{Node: node, Incarnation: 1, Seq: seq, Records: []ledger.Record{
		{ID: ledger.ID{Kind: ledger.KeyMinute, Lo: 1}, Class: ledger.Literal(100), Seen: 1, Used: 0, Hold: 10},
	}}
}

func receive(t *testing.T, replies <-chan ledger.Reply) ledger.Reply {
	t.Helper()
	select {
	case r := <-replies:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no reply")
		return ledger.Reply{}
	}
}

// A frame that is sent twice grants once; the second time it is stale.
func TestAReplayedFrame(t *testing.T) {
	h := newHub(t)
	id := h.join(identity.Client)
	c, replies := h.courier(id)
	c.Send(frame(id.Number(), 1))
	if r := receive(t, replies); r.Status != ledger.Accepted || r.Grants[0].Granted != 10 || r.Grants[0].Avail != 90 {
		t.Errorf("%+v", r)
	}
	c.Send(frame(id.Number(), 1))
	if r := receive(t, replies); r.Status != ledger.Stale {
		t.Errorf("%+v", r)
	}
	c.Send(frame(id.Number(), 2))
	if r := receive(t, replies); r.Status != ledger.Accepted || r.Grants[0].Avail != 90 {
		t.Errorf("%+v", r)
	}
}

func TestAFrameInAnotherNodesName(t *testing.T) {
	h := newHub(t)
	id, other := h.join(identity.Client), h.join(identity.Client)
	c, _ := h.courier(id)
	c.Send(frame(other.Number(), 1))
	h.wantRefused(link.RefusedNode)
}

// A node of another cluster, however it calls itself, is refused by its certificate, and refuses the other end by its.
func TestAnotherCluster(t *testing.T) {
	h, stranger := newHub(t), newHub(t)
	c, replies := h.courier(stranger.id)
	c.Send(frame(stranger.id.Number(), 1))
	h.wantRefused(link.RefusedHandshake)
	if len(replies) > 0 {
		t.Error("a stranger got an answer")
	}
	var who identity.Peer
	if err := link.Command(t.Context(), stranger.id, h.address, "who", &who); err == nil {
		t.Errorf("a stranger's command was answered: %+v", who)
	}
}

// An address names its node: whoever else listens there is not taken for it.
func TestAReusedAddress(t *testing.T) {
	h := newHub(t)
	id := h.join(identity.Client)
	var who identity.Peer
	if err := link.Command(t.Context(), id, link.Address(h.id.Node, h.address), "who", &who); err != nil || who.Node != id.Node || who.Role != identity.Client {
		t.Errorf("%+v, %v", who, err)
	}
	if err := link.Command(t.Context(), id, link.Address(id.Node, h.address), "who", &who); err == nil {
		t.Error("another node was taken for the one that was dialled")
	}
}

func TestATokenIsGoodOnce(t *testing.T) {
	h := newHub(t)
	token, err := h.id.Issue(h.address, identity.Voter, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.ParseToken(token.String()[:100]); err == nil {
		t.Error("half a token was read")
	}
	again, err := identity.ParseToken(token.String())
	if err != nil {
		t.Fatal(err)
	}
	if id, _, err := link.Join(t.Context(), t.TempDir(), "n", again); err != nil || id.Role != identity.Voter || id.Cluster != h.id.Cluster {
		t.Fatal(id, err)
	}
	if _, _, err := link.Join(t.Context(), t.TempDir(), "n", again); err == nil {
		t.Error("a token was good twice")
	}
	h.wantRefused(link.RefusedToken)
	client := h.join(identity.Client)
	if _, err := client.Issue("127.0.0.1:1", identity.Client, time.Now()); err == nil {
		t.Error("a client admits nodes")
	}
}

// A leader that steps down says so, and frames wait until it leads again.
func TestALeaderThatStepsDown(t *testing.T) {
	h := newHub(t)
	id := h.join(identity.Client)
	c, replies := h.courier(id)
	c.Send(frame(id.Number(), 1))
	receive(t, replies)
	h.mu.Lock()
	h.leads = false
	h.mu.Unlock()
	c.Send(frame(id.Number(), 2)) // lost
	time.Sleep(50 * time.Millisecond)
	h.mu.Lock()
	h.leads = true
	h.mu.Unlock()
	for seq := uint64(3); ; seq++ {
		c.Send(frame(id.Number(), seq))
		select {
		case <-replies:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if seq > 100 {
			t.Fatal("no reply")
		}
	}
}

func TestNonsense(t *testing.T) {
	h := newHub(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	h.wantRefused(link.RefusedHandshake)
}
