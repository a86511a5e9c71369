package quota

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/dataplane/internal/quota/link"
)

// forget removes a node for good: from the group, and from the ledger, which bans its number. Every voter enforces that.
func (n *Node) forget(ctx context.Context, node string, force bool) (string, error) {
	peer := identity.Peer{Node: node}
	if peer.Number() == 0 {
		return "", errors.New("this is no node's ID; see `dataplane quota peers`")
	}
	if n.replica.Ledger().Banned(peer.Number()) {
		return "it is forgotten already", nil
	}
	if from, connected := n.server.Connected()[node]; connected && !force {
		return "", fmt.Errorf("refused: it is connected, from %s. Stop it first; if you cannot, `dataplane quota forget -force %s` cuts it off", from, node)
	}
	id := raft.ServerID(node)
	_, member := n.find(id)
	if err := n.mayBan(ctx, id); err != nil {
		return "", err
	}
	if member {
		if err := n.mayLose(id); err != nil {
			return "", err
		}
		if err := n.replica.Raft().RemoveServer(id, 0, membershipTime).Error(); err != nil {
			return "", err
		}
	}
	if err := n.replica.Propose(ctx, ledger.Command{Kind: ledger.BanNode, Node: peer.Number()}); err != nil {
		return "", err
	}
	n.mu.Lock()
	delete(n.failed, id)
	n.mu.Unlock()
	text := "forgotten: its certificate is refused from now on, and what it held counts until one window after its session"
	if member {
		text += ". It kept the log and so has the authority's key: if others may have its disk, begin a new cluster"
	}
	return text, nil
}

// mayBan refuses to write what a member that answers would halt at.
func (n *Node) mayBan(ctx context.Context, id raft.ServerID) error {
	if n.replica.Ledger().Size().Banned >= ledger.BannedMax {
		return fmt.Errorf("refused: %d nodes are forgotten, and there is no room for more: begin a new cluster", ledger.BannedMax)
	}
	for _, m := range n.members() {
		if m.ID == id || string(m.ID) == n.id.Node {
			continue
		}
		n.mu.Lock()
		_, silent := n.failed[m.ID]
		n.mu.Unlock()
		if silent { // should it come back as an old build, it halts and says why
			continue
		}
		var a Answer
		if err := link.Command(ctx, n.id, string(m.Address), Command{Op: opStatus}, &a); err != nil {
			continue
		}
		if a.Knows < int(ledger.BanNode) {
			return fmt.Errorf("refused: the replica %s runs a build that does not know this command and would halt at it. Finish the upgrade first", m.ID)
		}
	}
	return nil
}
