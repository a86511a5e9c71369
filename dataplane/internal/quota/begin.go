package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
	"modelgate.internal/dataplane/internal/quota/link"
	"modelgate.internal/dataplane/internal/quota/replica"
)

// Files of a node beside its identity.
const (
	logDir     = "log"
	peersFile  = "peers.json"
	socketFile = "control.sock"
)

// Exists reports whether the directory belongs to a node.
func Exists(dir string) bool { return identity.Exists(dir) }

// Begin makes a cluster, of which the directory's node is the only voter, and returns the cluster's ID. Nothing may be there.
func Begin(dir, name string) (cluster string, err error) {
	err = whole(dir, func(dir string) error {
		id, err := identity.Begin(dir, name)
		if err != nil {
			return err
		}
		cluster = id.Cluster
		server := raft.Server{ID: raft.ServerID(id.Node), Address: raft.ServerAddress(link.Address(id.Node, ""))}
		return replica.BeginStores(filepath.Join(dir, logDir), server.ID, &server)
	})
	return cluster, err
}

// Join makes the directory of a node that joins a cluster by a token.
func Join(ctx context.Context, dir, name, token string) (identity.Peer, error) {
	t, err := identity.ParseToken(token)
	if err != nil {
		return identity.Peer{}, err
	}
	var peer identity.Peer
	err = whole(dir, func(dir string) error {
		id, peers, err := link.Join(ctx, dir, name, t)
		if err != nil {
			return err
		}
		peer = id.Peer
		if err := savePeers(dir, append(peers, t.Address)); err != nil {
			return err
		}
		if id.Role == identity.Client {
			return nil
		}
		return replica.BeginStores(filepath.Join(dir, logDir), raft.ServerID(id.Node), nil)
	})
	return peer, err
}

// whole makes a directory as a whole or not at all.
func whole(dir string, fill func(dir string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s exists already: a node belongs to one cluster for good. To leave it, run `dataplane quota leave`, "+
			"stop the node and move the directory away", dir)
	}
	draft := dir + ".new"
	if err := errors.Join(os.RemoveAll(draft), os.MkdirAll(draft, 0o700)); err != nil {
		return fmt.Errorf("make directory of the quota ledger: %w", err)
	}
	if err := fill(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, dir); err != nil {
		return fmt.Errorf("make directory of the quota ledger: %w", err)
	}
	return nil
}

func savePeers(dir string, peers []string) error {
	b, err := json.Marshal(peers)
	if err == nil {
		path := filepath.Join(dir, peersFile)
		err = errors.Join(os.WriteFile(path+".new", b, 0o600), os.Rename(path+".new", path))
	}
	if err != nil {
		return fmt.Errorf("keep addresses of the quota ledger: %w", err)
	}
	return nil
}

// loadPeers returns the kept addresses. They only save a look at the configuration, so a damaged file counts as none.
func loadPeers(dir string) []string {
	var peers []string
	b, err := os.ReadFile(filepath.Join(dir, peersFile))
	if err != nil || json.Unmarshal(b, &peers) != nil {
		return nil
	}
	return peers
}

// Losses says what a recovery gives up.
type Losses struct {
	Voters, Others int // members that the group forgets
	LastIndex      uint64
}

// Recover makes the node, which must be stopped, the only voter of its cluster, for when the other voters are lost for good. With
// do unset it only says what that would give up.
func Recover(ctx context.Context, dir string, do bool) (Losses, error) {
	id, err := identity.Load(dir)
	if err != nil {
		return Losses{}, err
	}
	if id.Role != identity.Voter {
		return Losses{}, errors.New("this node keeps no log: recover on a voter")
	}
	if _, err := Ask(ctx, dir, Command{Op: OpPeers}); err == nil {
		return Losses{}, errors.New("the node runs: stop it first, and every other voter that is still there")
	}
	s, err := replica.OpenStores(filepath.Join(dir, logDir), raft.ServerID(id.Node), nil)
	if err != nil {
		return Losses{}, err
	}
	servers, losses, err := replica.Inspect(s)
	if err != nil {
		return Losses{}, errors.Join(err, s.Close())
	}
	out := Losses{LastIndex: losses}
	self := raft.Server{ID: s.ID, Address: raft.ServerAddress(link.Address(id.Node, ""))}
	for _, server := range servers {
		switch {
		case server.ID == s.ID:
			self.Address = server.Address
		case server.Suffrage == raft.Voter:
			out.Voters++
		default:
			out.Others++
		}
	}
	if do {
		err = replica.Recover(s, ledger.DefaultPolicy(), self, time.Now)
	}
	return out, errors.Join(err, s.Close())
}
