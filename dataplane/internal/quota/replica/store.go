package replica

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
)

// Stores are a replica's log, votes and snapshots on disk, and its identity, which belongs to them.
type Stores struct {
	ID        raft.ServerID
	Log       *wal.WAL // also the stable store
	Snapshots raft.SnapshotStore

	meta *metadb.BoltMetaDB // of the log, which does not close it
}

// OpenStores opens or makes the stores in a directory. A directory without log gets a new identity: a replica that forgot what it
// had promised must not speak for the one that promised it.
func OpenStores(dir string, raftLog io.Writer) (*Stores, error) {
	if raftLog == nil {
		raftLog = io.Discard
	}
	logDir, idFile := filepath.Join(dir, "wal"), filepath.Join(dir, "server-id")
	entries, err := os.ReadDir(logDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open quota ledger: %w", err)
	}
	fresh := len(entries) == 0
	if err := os.MkdirAll(logDir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of the quota ledger: %w", err)
	}
	id, err := serverID(idFile, fresh)
	if err != nil {
		return nil, err
	}
	snapshots, err := raft.NewFileSnapshotStore(dir, snapshotsKept, raftLog)
	if err != nil {
		return nil, fmt.Errorf("open snapshots of the quota ledger: %w", err)
	}
	if old, err := snapshots.List(); err != nil {
		return nil, fmt.Errorf("list snapshots of the quota ledger: %w", err)
	} else if fresh && len(old) > 0 {
		return nil, fmt.Errorf("open quota ledger: %s has snapshots but its log is gone; move the directory away to join anew as an empty replica", dir)
	}
	meta := &metadb.BoltMetaDB{}
	log, err := wal.Open(logDir, wal.WithMetaStore(meta))
	if err != nil {
		return nil, fmt.Errorf("open log of the quota ledger: %w", err)
	}
	return &Stores{ID: raft.ServerID(id), Log: log, Snapshots: snapshots, meta: meta}, nil
}

// Close closes the log, after the replica has stopped.
func (s *Stores) Close() error { return errors.Join(s.Log.Close(), s.meta.Close()) }

func serverID(path string, fresh bool) (string, error) {
	if !fresh {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read identity of the quota ledger's log: %w", err)
		}
		id := strings.TrimSpace(string(b))
		if raw, err := hex.DecodeString(id); err != nil || len(raw) != idBytes {
			return "", fmt.Errorf("identity of the quota ledger in %s is damaged", path)
		}
		return id, nil
	}
	raw := make([]byte, idBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("make identity of the quota ledger: %w", err)
	}
	id := hex.EncodeToString(raw)
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write identity of the quota ledger: %w", err)
	}
	return id, nil
}
