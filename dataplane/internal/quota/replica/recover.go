package replica

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// Inspect returns the members that a stopped replica knows, and the index of its newest entry.
func Inspect(s *Stores) ([]raft.Server, uint64, error) {
	first, err := s.Log.FirstIndex()
	if err != nil {
		return nil, 0, fmt.Errorf("read log of the quota ledger: %w", err)
	}
	last, err := s.Log.LastIndex()
	if err != nil {
		return nil, 0, fmt.Errorf("read log of the quota ledger: %w", err)
	}
	var members raft.Configuration
	if snapshots, err := s.Snapshots.List(); err != nil {
		return nil, 0, fmt.Errorf("list snapshots of the quota ledger: %w", err)
	} else if len(snapshots) > 0 {
		members, last = snapshots[0].Configuration, max(last, snapshots[0].Index)
	}
	for i := max(first, 1); i <= last && first > 0; i++ {
		var l raft.Log
		if err := s.Log.GetLog(i, &l); err != nil {
			return nil, 0, fmt.Errorf("read entry %d of the quota ledger: %w", i, err)
		}
		if l.Type == raft.LogConfiguration {
			members = raft.DecodeConfiguration(l.Data)
		}
	}
	return members.Servers, last, nil
}

// Recover makes a stopped replica the only member of its group. Entries that were not known to be committed are kept, which charges what
// they charged.
func Recover(s *Stores, p ledger.Policy, self raft.Server, now func() time.Time) error {
	begin := now()
	c := raft.DefaultConfig()
	c.LocalID, c.LogOutput = s.ID, io.Discard
	_, nowhere := raft.NewInmemTransport("")
	var halted error
	f := &fsm{state: ledger.New(p), mono: func() int64 { return int64(now().Sub(begin)) }, halt: func(err error) { halted = err }}
	err := raft.RecoverCluster(c, f, s.Log, s.Log, s.Snapshots, nowhere, raft.Configuration{Servers: []raft.Server{self}})
	if err == nil {
		err = halted
	}
	if err == nil {
		err = s.Log.SetUint64([]byte(recoveredKey), 1)
	}
	if err != nil {
		return fmt.Errorf("recover quota ledger: %w", err)
	}
	return nil
}

// recoveredKey is set in the log's stable store by a recovery: entries may have been lost.
const recoveredKey = "quota recovered"

func recovered(stable raft.StableStore) bool {
	n, err := stable.GetUint64([]byte(recoveredKey))
	return err == nil && n != 0
}
