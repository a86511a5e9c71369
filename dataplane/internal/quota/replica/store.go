package replica

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/metadb"
)

const (
	logDir = "wal"
	idFile = "server-id"
)

// Stores are a replica's log, votes and snapshots on disk, and its identity, which belongs to them.
type Stores struct {
	ID        raft.ServerID
	Log       *disk // also the stable store
	Snapshots raft.SnapshotStore
}

// BeginStores makes the stores of a new replica in a directory that has none. The founder of a group is its first voter; any other
// replica waits to be added.
func BeginStores(dir string, id raft.ServerID, founder *raft.Server) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make log of the quota ledger: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("make log of the quota ledger: %s is not empty", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, logDir), 0o700); err != nil {
		return fmt.Errorf("make log of the quota ledger: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, idFile), []byte(id+"\n"), 0o600); err != nil {
		return fmt.Errorf("write identity of the quota ledger's log: %w", err)
	}
	s, err := open(dir, id, io.Discard)
	if err != nil {
		return err
	}
	if founder != nil {
		c := raft.DefaultConfig()
		c.LocalID, c.LogOutput = id, io.Discard
		_, nowhere := raft.NewInmemTransport("")
		if err := raft.BootstrapCluster(c, s.Log, s.Log, s.Snapshots, nowhere, raft.Configuration{Servers: []raft.Server{*founder}}); err != nil {
			return errors.Join(fmt.Errorf("begin quota ledger: %w", err), s.Close())
		}
	}
	return s.Close()
}

// OpenStores opens the stores of the replica with the ID. It refuses a log that belongs to another one, and a replica that lost its
// log: one that forgot what it had promised must not speak for the one that promised it.
func OpenStores(dir string, id raft.ServerID, raftLog io.Writer) (*Stores, error) {
	if raftLog == nil {
		raftLog = io.Discard
	}
	stamp, err := os.ReadFile(filepath.Join(dir, idFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read identity of the quota ledger's log: %w", err)
	}
	entries, logErr := os.ReadDir(filepath.Join(dir, logDir))
	if logErr != nil && !errors.Is(logErr, fs.ErrNotExist) {
		return nil, fmt.Errorf("open quota ledger: %w", logErr)
	}
	switch {
	case err != nil || len(entries) == 0:
		return nil, fmt.Errorf("the log of the quota ledger in %s is gone, and with it what this replica promised. "+
			"It cannot go on as itself: forget it in the cluster, move its directory away, and join anew", dir)
	case strings.TrimSpace(string(stamp)) != string(id):
		return nil, fmt.Errorf("the log of the quota ledger in %s belongs to the replica %q, and this is %q: "+
			"a log is never moved to another node", dir, strings.TrimSpace(string(stamp)), id)
	}
	return open(dir, id, raftLog)
}

func open(dir string, id raft.ServerID, raftLog io.Writer) (*Stores, error) {
	snapshots, err := raft.NewFileSnapshotStore(dir, snapshotsKept, raftLog)
	if err != nil {
		return nil, fmt.Errorf("open snapshots of the quota ledger: %w", err)
	}
	log, err := openDisk(dir, &metadb.BoltMetaDB{})
	if err != nil {
		return nil, err
	}
	return &Stores{ID: id, Log: log, Snapshots: snapshots}, nil
}

// Close closes the log, after the replica has stopped.
func (s *Stores) Close() error { return s.Log.Close() }
