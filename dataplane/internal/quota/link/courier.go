package link

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

// CourierOptions make a Courier.
type CourierOptions struct {
	Identity *identity.Identity
	// Here hands a frame to the own replica and reports whether that leads. Nil: this node has none.
	Here func(f ledger.Frame) bool
	// Hint is the leader's address as the own replica knows it; nil or empty if it does not.
	Hint    func() string
	Peers   []string              // to ask who leads
	Learned func(peers []string)  // newer ones, to be kept; must not block long
	Deliver func(r ledger.Reply)  // must not block
	Recall  func(r ledger.Recall) // must not block
	Log     *slog.Logger
}

// Courier carries a node's frames to the leader.
type Courier struct {
	o    CourierOptions
	wake chan struct{}

	mu    sync.Mutex
	next  *ledger.Frame // the newest that was not sent
	peers []string
}

// NewCourier returns a courier. Run must be called next.
func NewCourier(o CourierOptions) *Courier {
	return &Courier{o: o, wake: make(chan struct{}, 1), peers: slices.Clone(o.Peers)}
}

// Send takes a frame to the leader, sooner or later or never. A newer frame takes the place of one that was not sent yet: frames are
// cumulative. It does not block.
func (c *Courier) Send(f ledger.Frame) {
	if c.o.Here != nil && c.o.Here(f) {
		return
	}
	c.mu.Lock()
	c.next = &f
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Courier) take() *ledger.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.next
	c.next = nil
	return f
}

// Run connects whenever there is something to send, until ctx ends.
func (c *Courier) Run(ctx context.Context) error {
	pause, told := redialFirst, ""
	leader := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		}
		for ctx.Err() == nil {
			to := c.candidate(leader)
			if node, _ := SplitAddress(to); node == c.o.Identity.Node { // this node's own replica leads: frames go there
				leader = ""
				break
			}
			next, lived, err := c.visit(ctx, to)
			if leader = next; lived {
				pause = redialFirst
			}
			if err != nil && err.Error() != told && ctx.Err() == nil {
				told = err.Error()
				c.o.Log.Warn("leader of the quota ledger is not reached", slog.Any("error", err))
			}
			if lived {
				told = ""
			}
			if leader != "" && pause == redialFirst { // told where to go: at once, but not in a circle
				pause *= 2
				continue
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause/2 + rand.N(pause/2)): //nolint:gosec // spread, no secret
			}
			pause = min(2*pause, redialMost)
			if c.o.Here != nil && c.o.Hint() == "" { // an election; the node repeats its frame
				break
			}
		}
	}
}

// candidate says whom to ask next.
func (c *Courier) candidate(leader string) string {
	if leader != "" {
		return leader
	}
	if c.o.Hint != nil {
		if hint := c.o.Hint(); hint != "" {
			return hint
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.peers) == 0 {
		return ""
	}
	return c.peers[rand.IntN(len(c.peers))] //nolint:gosec // spread, no secret
}

var errNobody = errors.New("no other node of the quota ledger is known: set quota_peers, or join again")

// visit connects to a node and, if it leads, serves over the connection until that ends. It returns who leads instead, and whether the
// connection carried something.
func (c *Courier) visit(ctx context.Context, address string) (leader string, lived bool, err error) {
	switch {
	case address != "":
	case c.o.Here != nil: // alone, and no leader yet
		return "", false, nil
	default:
		return "", false, errNobody
	}
	conn, err := dial(ctx, c.o.Identity, address, protocolFrames)
	if err != nil {
		return "", false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 1<<14)
	_ = conn.SetReadDeadline(time.Now().Add(helloTime))
	var buf []byte
	is, err := c.welcome(in, &buf)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("quota ledger at %s: %w", address, err)
	case !is.Leading && is.Leader == "":
		return "", false, fmt.Errorf("quota ledger at %s: nobody leads", address)
	case !is.Leading:
		return is.Leader, false, nil
	}
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { c.write(conn, over) })
	leader, err = c.read(conn, in)
	close(over)
	_ = conn.Close()
	done.Wait()
	return leader, true, err
}

func (c *Courier) welcome(in *bufio.Reader, buf *[]byte) (Leadership, error) {
	kind, body, err := readMessage(in, buf, messageBytesMax)
	if err != nil {
		return Leadership{}, err
	}
	return c.learn(kind, body)
}

// learn reads who leads, and keeps the addresses of the members.
func (c *Courier) learn(kind byte, body []byte) (Leadership, error) {
	var is Leadership
	if kind != kindWelcome || json.Unmarshal(body, &is) != nil {
		return is, errMessage
	}
	if is.Refused != "" {
		return is, errors.New(is.Refused)
	}
	is.Peers = slices.DeleteFunc(is.Peers, func(p string) bool { return len(p) > addressBytesMax })
	c.mu.Lock()
	known := len(is.Peers) == 0 || slices.Equal(c.peers, is.Peers)
	if !known {
		c.peers = is.Peers
	}
	c.mu.Unlock()
	if !known && c.o.Learned != nil {
		c.o.Learned(is.Peers)
	}
	return is, nil
}

// write sends frames as they come.
func (c *Courier) write(conn *tls.Conn, over <-chan struct{}) {
	var buf []byte
	for {
		if f := c.take(); f != nil {
			buf = appendMessage(buf[:0], kindFrame, func(b []byte) []byte { return ledger.AppendFrame(b, f) })
			_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
			if _, err := conn.Write(buf); err != nil {
				_ = conn.Close()
				return
			}
			continue
		}
		select {
		case <-c.wake:
		case <-over:
			return
		}
	}
}

// read hands out what the leader says, until it says that it does not lead any more, or nothing.
func (c *Courier) read(conn *tls.Conn, in *bufio.Reader) (leader string, err error) {
	var buf []byte
	for {
		_ = conn.SetReadDeadline(time.Now().Add(silenceMax))
		kind, body, err := readMessage(in, &buf, messageBytesMax)
		if err != nil {
			return "", err
		}
		switch kind {
		case kindReply:
			r, err := ledger.DecodeReply(body)
			if err != nil {
				return "", err
			}
			c.o.Deliver(r)
		case kindRecall:
			r, err := ledger.DecodeRecall(body)
			if err != nil {
				return "", err
			}
			c.o.Recall(r)
		default:
			is, err := c.learn(kind, body)
			return is.Leader, err
		}
	}
}
