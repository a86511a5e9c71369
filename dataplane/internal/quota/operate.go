package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/dataplane/internal/quota/link"
)

// Operations of a Command.
const (
	OpPeers    = "peers"    // who is in the group, and who leases
	OpToken    = "token"    // issues a token for one node of the Role
	OpPromote  = "promote"  // Node votes from now on
	OpDemote   = "demote"   // Node keeps the log and does not vote any more
	OpTransfer = "transfer" // leadership to Node, or to anybody
	OpForget   = "forget"   // Node is gone for good
	OpLeave    = "leave"    // this node leaves the group
	OpSnapshot = "snapshot" // this node writes a snapshot
	OpRenew    = "renew"    // this node gets a new certificate; over the network: Node does, for its key Public
	opEnrol    = "enrol"    // Node listens at Address
	opStatus   = "status"
)

// Self names the node that is asked, in a Command.
const Self = "self"

// Command is what an operator, or a node in an operator's name, wants of a node.
type Command struct {
	Op      string        `json:"op"`
	Node    string        `json:"node,omitempty"`
	Role    identity.Role `json:"role,omitempty"`
	Address string        `json:"address,omitempty"`
	Force   bool          `json:"force,omitempty"` // forget a node that is connected
	Public  []byte        `json:"public,omitempty"`
}

// Answer answers a Command.
type Answer struct {
	Error   string   `json:"error,omitempty"`
	Leader  string   `json:"leader,omitempty"` // set when the command must go there
	Text    string   `json:"text,omitempty"`
	Token   string   `json:"token,omitempty"`
	Index   uint64   `json:"index,omitempty"` // newest entry that the node has applied
	Knows   int      `json:"knows,omitempty"` // newest kind of command in the log that the node's build knows
	Cert    []byte   `json:"cert,omitempty"`
	Members []Member `json:"members,omitempty"`
	Clients []Member `json:"clients,omitempty"`
}

// Member is a node as the leader sees it.
type Member struct {
	Node     string `json:"node"`
	Address  string `json:"address"`
	Suffrage string `json:"suffrage,omitempty"` // of members of the group
	Leads    bool   `json:"leads,omitempty"`
	Silent   string `json:"silent,omitempty"` // for how long it has not answered
}

// remote answers a command that came over the network. Voters may do what operators may: each of them has the authority's key anyway.
// Others may look, and say where they are.
func (n *Node) remote(ctx context.Context, from identity.Peer, b json.RawMessage) any {
	var c Command
	if err := json.Unmarshal(b, &c); err != nil {
		return Answer{Error: "the command is not JSON"}
	}
	switch {
	case c.Op == opEnrol && c.Node == from.Node && from.Role == identity.Voter, c.Op == OpPeers, c.Op == opStatus:
	case c.Op == OpRenew && c.Node == from.Node:
		return n.reissue(from, c.Public)
	case c.Op == opEnrol, c.Op == OpRenew, c.Op == OpToken, c.Op == OpLeave, c.Op == OpSnapshot, from.Role != identity.Voter:
		n.metrics.refusedConn(link.RefusedRole)
		return Answer{Error: "a node of the role " + string(from.Role) + " may not do this over the network"}
	}
	if c.Op == opStatus {
		return n.status()
	}
	return n.lead(ctx, c)
}

// Operate does what an operator of this machine wants, here or at the leader.
func (n *Node) Operate(ctx context.Context, c Command) Answer {
	if c.Node == Self {
		c.Node = n.id.Node
	}
	switch c.Op {
	case OpToken:
		return n.token(c.Role)
	case OpSnapshot:
		return n.snapshot()
	case OpLeave:
		return n.leave(ctx)
	case OpRenew:
		if err := n.renew(ctx); err != nil {
			return Answer{Error: err.Error()}
		}
		return Answer{Text: "renewed until " + n.id.Expires().UTC().Format(time.DateOnly)}
	case opStatus:
		return n.status()
	}
	if n.replica != nil && n.replica.Leading() {
		return n.lead(ctx, c)
	}
	a, err := n.toLeader(ctx, c)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return a
}

func (n *Node) status() Answer {
	if n.replica == nil {
		return Answer{}
	}
	return Answer{Index: n.replica.Raft().AppliedIndex(), Knows: int(ledger.NewestCommand)}
}

func (n *Node) token(role identity.Role) Answer {
	if n.o.Socket == nil {
		return Answer{Error: "this node has no address at which others could join it: set quota_listen and restart it"}
	}
	if role != identity.Voter && role != identity.Client {
		return Answer{Error: "the role must be voter or client"}
	}
	t, err := n.id.Issue(n.o.Address, role, time.Now())
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Token: t.String(), Text: "good for one " + string(role) + ", for a day"}
}

func (n *Node) snapshot() Answer {
	if n.replica == nil {
		return Answer{Error: "this node keeps no log: write a snapshot on a voter"}
	}
	err := n.replica.Raft().Snapshot().Error()
	switch {
	case errors.Is(err, raft.ErrNothingNewToSnapshot):
		return Answer{Text: "the newest snapshot has everything"}
	case err != nil:
		return Answer{Error: fmt.Sprintf("write snapshot: %v", err)}
	}
	return Answer{Text: "written, up to entry " + strconv.FormatUint(n.replica.Raft().AppliedIndex(), 10), Index: n.replica.Raft().AppliedIndex()}
}

// elsewhere says who leads instead.
func (n *Node) elsewhere() Answer {
	is := n.leadership()
	if is.Leader == "" {
		return Answer{Error: "nobody leads the quota ledger at the moment: too few voters answer, or an election is under way"}
	}
	return Answer{Leader: is.Leader, Error: "another node leads"}
}

// lead does what only the leader can do.
func (n *Node) lead(ctx context.Context, c Command) Answer {
	if n.replica == nil || !n.replica.Leading() {
		return n.elsewhere()
	}
	n.change.Lock()
	defer n.change.Unlock()
	var err error
	text := "done"
	id := raft.ServerID(c.Node)
	switch c.Op {
	case OpPeers:
		return n.peers()
	case opEnrol:
		err = n.takeIn(id, raft.ServerAddress(link.Address(c.Node, c.Address)))
	case OpPromote:
		err = n.promote(ctx, id)
	case OpDemote:
		if err = n.mayLose(id); err == nil {
			err = n.replica.Raft().DemoteVoter(id, 0, membershipTime).Error()
		}
	case OpForget:
		text, err = n.forget(ctx, c.Node, c.Force)
	case OpTransfer:
		err = n.transfer(id)
	default:
		err = fmt.Errorf("unknown command %q", c.Op)
	}
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Text: text}
}

func (n *Node) find(id raft.ServerID) (raft.Server, bool) {
	servers := n.members()
	i := slices.IndexFunc(servers, func(s raft.Server) bool { return s.ID == id })
	if i < 0 {
		return raft.Server{}, false
	}
	return servers[i], true
}

func (n *Node) peers() Answer {
	var a Answer
	n.mu.Lock()
	for _, s := range n.members() {
		_, hostPort := link.SplitAddress(string(s.Address))
		m := Member{Node: string(s.ID), Address: hostPort, Suffrage: s.Suffrage.String(), Leads: string(s.ID) == n.id.Node}
		if since, silent := n.failed[s.ID]; silent {
			m.Silent = time.Since(since).Round(time.Second).String()
		}
		a.Members = append(a.Members, m)
	}
	n.mu.Unlock()
	for node, from := range n.server.Connected() {
		if _, member := n.find(raft.ServerID(node)); !member {
			a.Clients = append(a.Clients, Member{Node: node, Address: from})
		}
	}
	slices.SortFunc(a.Clients, func(x, y Member) int { return slices.Compare([]byte(x.Node), []byte(y.Node)) })
	a.Index = n.replica.Raft().AppliedIndex()
	return a
}

// takeIn adds a member that does not vote, or changes the address of one.
func (n *Node) takeIn(id raft.ServerID, address raft.ServerAddress) error {
	s, known := n.find(id)
	switch {
	case known && s.Address == address:
		return nil
	case known && s.Suffrage == raft.Voter:
		return n.replica.Raft().AddVoter(id, address, 0, membershipTime).Error()
	default:
		return n.replica.Raft().AddNonvoter(id, address, 0, membershipTime).Error()
	}
}

func (n *Node) promote(ctx context.Context, id raft.ServerID) error {
	s, known := n.find(id)
	switch {
	case !known:
		return errors.New("no such replica: a node joins with a token for voters first, and is taken in when it runs")
	case s.Suffrage == raft.Voter:
		return errors.New("it votes already")
	}
	var a Answer
	if err := link.Command(ctx, n.id, string(s.Address), Command{Op: opStatus}, &a); err != nil {
		return fmt.Errorf("it does not answer, and a voter that is down brings the group closer to a standstill: %w", err)
	}
	if last := n.replica.Raft().LastIndex(); a.Index+catchUpEntries < last {
		return fmt.Errorf("it has not caught up: it is at entry %d of %d. Try again in a moment", a.Index, last)
	}
	return n.replica.Raft().AddVoter(id, s.Address, 0, membershipTime).Error()
}

// mayLose refuses to take a vote away when the remaining voters could not decide anything.
func (n *Node) mayLose(id raft.ServerID) error {
	s, known := n.find(id)
	switch {
	case !known:
		return errors.New("no such replica; see `dataplane quota peers`")
	case s.Suffrage != raft.Voter:
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	voters, answer := 0, 0
	for _, v := range n.members() {
		if v.Suffrage != raft.Voter || v.ID == id {
			continue
		}
		voters++
		if _, silent := n.failed[v.ID]; !silent {
			answer++
		}
	}
	need := voters/2 + 1
	switch {
	case voters == 0:
		return errors.New("refused: it is the only voter, and the ledger is nowhere else. Promote another replica first")
	case answer < need:
		return fmt.Errorf("refused: of the %d voters that would remain %d answer, and %d are needed to decide anything. "+
			"Bring the silent ones back or forget them first", voters, answer, need)
	case string(id) == n.id.Node:
		return errors.New("refused: it leads. Hand leadership over first, with `dataplane quota transfer`")
	}
	return nil
}

func (n *Node) transfer(id raft.ServerID) error {
	if id == "" {
		return n.replica.Raft().LeadershipTransfer().Error()
	}
	s, known := n.find(id)
	if !known || s.Suffrage != raft.Voter {
		return errors.New("it is no voter; see `dataplane quota peers`")
	}
	return n.replica.Raft().LeadershipTransferToServer(s.ID, s.Address).Error()
}

// leave takes this node out of the group. It goes on leasing until it is stopped.
func (n *Node) leave(ctx context.Context) Answer {
	if n.replica == nil {
		return Answer{Text: "this node is in no group: it gives back what it holds when it is stopped"}
	}
	if n.replica.Leading() {
		if err := n.mayLose(raft.ServerID(n.id.Node)); err != nil && n.voters() == 1 {
			return Answer{Error: err.Error()}
		}
		if err := n.replica.Raft().LeadershipTransfer().Error(); err != nil {
			return Answer{Error: fmt.Sprintf("hand over leadership: %v", err)}
		}
		for n.hint() == "" || n.replica.Raft().State() == raft.Leader {
			select {
			case <-ctx.Done():
				return Answer{Error: "nobody took over leadership"}
			case <-time.After(leaderPoll):
			}
		}
	}
	a, err := n.toLeader(ctx, Command{Op: OpDemote, Node: n.id.Node})
	if err != nil {
		return Answer{Error: err.Error()}
	}
	if a.Error != "" {
		return a
	}
	return Answer{Text: "this node does not vote any more. Stop it, move its directory away, and run `dataplane quota forget " + n.id.Node + "` on another"}
}

func (n *Node) voters() int {
	count := 0
	for _, s := range n.members() {
		if s.Suffrage == raft.Voter {
			count++
		}
	}
	return count
}
