package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/dataplane/internal/quota/link"
	"modelgate.internal/dataplane/internal/quota/replica"
)

// Options make a Node.
type Options struct {
	Dir     string       // of Begin or Join
	Socket  net.Listener // for other nodes; nil if there are none. It belongs to the Node
	Address string       // what other nodes reach the socket by, host:port
	Peers   []string     // addresses to ask who leads, beside those that were learned
	Days    Days         // the control plane's counts, for a ledger that lacks them; nil if there are none
	Metrics prometheus.Registerer
	Log     *slog.Logger
	Now     func() time.Time // by which certificates are renewed; time.Now if nil
}

// Node is one node of the ledger.
type Node struct {
	o       Options
	id      *identity.Identity
	metrics *metrics
	leases  *client.Node
	unknown chan question // counts of days to ask for
	courier *link.Courier
	server  *link.Server

	// Of voters; nil otherwise.
	stores    *replica.Stores
	transport *raft.NetworkTransport
	replica   *replica.Replica

	liveAt atomic.Int64 // Unix nanoseconds of the newest look at which the leases were valid

	mu     sync.Mutex
	failed map[raft.ServerID]time.Time // members that do not answer the leader, since when
	change sync.Mutex                  // one change of the membership at a time
}

// Open opens the node of a directory. Run must be called next.
func Open(ctx context.Context, o Options) (*Node, error) {
	id, err := identity.Load(o.Dir)
	if err != nil {
		return nil, err
	}
	if running(ctx, o.Dir) {
		return nil, fmt.Errorf("another process serves by %s: stop it, or give this node a data directory of its own", o.Dir)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	n := &Node{o: o, id: id, failed: map[raft.ServerID]time.Time{}, unknown: make(chan question, daysWaiting)}
	n.metrics = newMetrics(o.Metrics, n)
	n.server = link.NewServer(link.ServerOptions{
		Identity: id, Socket: o.Socket, Address: o.Address, Leadership: n.leadership, Submit: n.submit, Command: n.remote,
		Banned: n.banned, Refused: n.metrics.refusedConn, Log: o.Log,
	})
	// Incarnations grow over restarts. Should the wall clock have been set back, the ledger says so and the node goes above.
	n.leases = client.NewNode(id.Number(), uint64(time.Now().UnixNano()), sessionTTL, n.send)
	if o.Days != nil {
		n.leases.AskDays(n.askDay)
	}
	c := link.CourierOptions{
		Identity: id, Peers: slices.Concat(o.Peers, loadPeers(o.Dir)), Learned: n.learned,
		Deliver: n.deliver, Recall: n.leases.Recall, Log: o.Log,
	}
	if id.Role == identity.Voter {
		c.Here, c.Hint = n.here, n.hint
		if err := n.openReplica(); err != nil {
			return nil, err
		}
	}
	n.courier = link.NewCourier(c)
	return n, nil
}

func (n *Node) openReplica() (err error) {
	id := raft.ServerID(n.id.Node)
	lines := raftLines{n.o.Log}
	if n.stores, err = replica.OpenStores(filepath.Join(n.o.Dir, logDir), id, lines); err != nil {
		return err
	}
	n.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: refusing{n.server.Raft(), n.stalled}, MaxPool: raftConnsIdle, Timeout: raftTime, Logger: raftLogger(lines),
	})
	n.replica, err = replica.Open(replica.Options{
		ID: id, Policy: ledger.DefaultPolicy(), Logs: n.stores.Log, Stable: n.stores.Log, Snapshots: n.stores.Snapshots,
		Transport: n.transport, Now: time.Now, Recall: n.recall, Stalled: n.tellStalled, RaftLog: lines,
	})
	if err != nil {
		return errors.Join(err, n.transport.Close(), n.stores.Close())
	}
	return nil
}

// Leases is what calls are admitted by.
func (n *Node) Leases() *client.Node { return n.leases }

// Identity returns who this node is.
func (n *Node) Identity() identity.Peer { return n.id.Peer }

// Run serves until ctx ends. Callers must have been stopped by then. What the node holds goes back first, then leadership is handed
// over, and the network goes last.
func (n *Node) Run(ctx context.Context) error {
	n.liveAt.Store(time.Now().UnixNano())
	control, err := n.openControl(ctx)
	if err != nil {
		return err
	}
	stages := []func(context.Context) error{ // the last stops first
		n.server.Run,
		n.courier.Run,
		n.runReplica,
		control.run,
		n.tend,
		n.runSeeder,
		n.runLeases,
	}
	failed := make(chan error, len(stages))
	stops := make([]func() error, len(stages))
	for i, run := range stages {
		inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan error, 1)
		go func() {
			err := run(inner)
			if err != nil {
				failed <- err
			}
			done <- err
		}()
		stops[i] = func() error { cancel(); return <-done }
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	for _, stop := range slices.Backward(stops) {
		if e := stop(); err == nil {
			err = e
		}
	}
	if n.stores != nil {
		err = errors.Join(err, n.stores.Close())
	}
	return err
}

func (n *Node) runLeases(ctx context.Context) error {
	if !n.leases.Run(ctx) {
		n.o.Log.Warn("leases are not given back: the quota ledger did not answer in time, and they count as after a crash")
	}
	return nil
}

func (n *Node) runReplica(ctx context.Context) error {
	if n.replica == nil {
		<-ctx.Done()
		return nil
	}
	observations := make(chan raft.Observation, 64)
	observer := raft.NewObserver(observations, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.FailedHeartbeatObservation, raft.ResumedHeartbeatObservation:
			return true
		}
		return false
	})
	n.replica.Raft().RegisterObserver(observer)
	watching, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { n.watchMembers(watching, observations) })
	err := n.replica.Run(ctx)
	stop()
	done.Wait()
	n.replica.Raft().DeregisterObserver(observer)
	return errors.Join(err, n.transport.Close())
}

// watchMembers notes which members do not answer while this node leads.
func (n *Node) watchMembers(ctx context.Context, observations <-chan raft.Observation) {
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-observations:
			n.mu.Lock()
			switch d := o.Data.(type) {
			case raft.FailedHeartbeatObservation:
				if _, known := n.failed[d.PeerID]; !known {
					n.failed[d.PeerID] = time.Now()
				}
			case raft.ResumedHeartbeatObservation:
				delete(n.failed, d.PeerID)
			}
			n.mu.Unlock()
		}
	}
}

// Ready returns why the node can admit no calls, or nil. It bears a change of the leader.
func (n *Node) Ready() error {
	now := time.Now()
	if n.leases.Live() {
		n.liveAt.Store(now.UnixNano())
		return nil
	}
	at := n.liveAt.Load()
	if at != 0 && n.metrics.answered.Load() && now.Sub(time.Unix(0, at)) < unreadyAfter {
		return nil
	}
	return errors.New("the quota ledger does not answer: no calls with limits can be admitted")
}

// send times a frame and hands it to the courier.
func (n *Node) send(f ledger.Frame) {
	n.metrics.sent(f.Seq, time.Now())
	n.courier.Send(f)
}

func (n *Node) deliver(r ledger.Reply) {
	n.metrics.received(&r, time.Now())
	n.leases.Deliver(r)
}

// here is the courier's way to the own replica.
func (n *Node) here(f ledger.Frame) bool {
	err := n.replica.Submit(f, n.deliver)
	return err == nil || errors.Is(err, replica.ErrBusy)
}

func (n *Node) submit(f ledger.Frame, answer func(ledger.Reply)) error {
	if n.replica == nil {
		return replica.ErrNotLeader
	}
	return n.replica.Submit(f, answer)
}

func (n *Node) recall(r ledger.Recall) {
	if r.Node == n.id.Number() {
		n.leases.Recall(r)
		return
	}
	n.server.Recall(r)
}

// hint is the leader's address as raft knows it, which it does not while it waits for the disk.
func (n *Node) hint() string {
	if n.stalled() {
		return ""
	}
	address, _ := n.replica.Raft().LeaderWithID()
	return string(address)
}

func (n *Node) leadership() link.Leadership {
	if n.replica == nil {
		return link.Leadership{Peers: loadPeers(n.o.Dir)}
	}
	is := link.Leadership{Leading: n.replica.Leading(), Leader: n.hint()}
	switch node, hostPort := link.SplitAddress(is.Leader); {
	case is.Leading:
		is.Leader = string(n.address())
	case node == n.id.Node || hostPort == "": // not yet, or at no address that is known
		is.Leader = ""
	}
	is.Peers = []string{string(n.address())}
	for _, s := range n.members() {
		if _, hostPort := link.SplitAddress(string(s.Address)); hostPort != "" && s.ID != raft.ServerID(n.id.Node) {
			is.Peers = append(is.Peers, string(s.Address))
		}
	}
	slices.Sort(is.Peers) // so that all members say the same
	return is
}

// members are those of the raft group, as this node knows them.
func (n *Node) members() []raft.Server {
	f := n.replica.Raft().GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// learned keeps addresses for the next start.
func (n *Node) learned(peers []string) {
	if err := savePeers(n.o.Dir, peers); err != nil {
		n.o.Log.Warn("addresses are not kept", slog.Any("error", err))
	}
}

// banned reports whether the node with the number was forgotten, as far as this node can know.
func (n *Node) banned(number uint64) bool {
	return n.replica != nil && n.replica.Ledger().Banned(number)
}

// tend keeps this node in the group by its present address, its certificate fresh, and forgotten nodes out.
func (n *Node) tend(ctx context.Context) error {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	told := ""
	var renewed time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		n.server.Sweep()
		renewed = n.keepCertificate(ctx, renewed)
		if n.leases.Live() {
			n.liveAt.Store(time.Now().UnixNano())
		}
		if n.replica == nil || n.enrolled() {
			continue
		}
		err := n.enrol(ctx)
		if err != nil && err.Error() != told {
			n.o.Log.Warn("this replica is not in the group of the quota ledger yet", slog.Any("error", err))
			told = err.Error()
		}
	}
}

// enrolled reports whether the group has this node by its present address.
func (n *Node) enrolled() bool {
	return slices.ContainsFunc(n.members(), func(s raft.Server) bool {
		return s.ID == raft.ServerID(n.id.Node) && s.Address == n.address()
	})
}

func (n *Node) address() raft.ServerAddress {
	return raft.ServerAddress(link.Address(n.id.Node, n.o.Address))
}

// enrol asks the leader to take this node in as a member that does not vote, or to note its new address.
func (n *Node) enrol(ctx context.Context) error {
	c := Command{Op: opEnrol, Node: n.id.Node, Address: n.o.Address}
	if n.replica.Leading() {
		return n.takeIn(raft.ServerID(n.id.Node), n.address())
	}
	answer, err := n.toLeader(ctx, c)
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return err
}

// toLeader sends a command to whoever leads.
func (n *Node) toLeader(ctx context.Context, c Command) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	var last error
	var tries []string
	if n.replica != nil && n.hint() != "" {
		tries = append(tries, n.hint())
	}
	for _, address := range append(tries, slices.Concat(loadPeers(n.o.Dir), n.o.Peers)...) {
		if node, _ := link.SplitAddress(address); node == n.id.Node {
			continue
		}
		for range 2 { // the second time at the leader that the first one named
			var a Answer
			if last = link.Command(ctx, n.id, address, c, &a); last != nil {
				break
			}
			if a.Leader == "" || a.Leader == address {
				return a, nil
			}
			address, last = a.Leader, errors.New(a.Error)
		}
	}
	if last == nil {
		last = errors.New("nobody leads the quota ledger at the moment")
	}
	return Answer{}, fmt.Errorf("ask the leader of the quota ledger: %w", last)
}
