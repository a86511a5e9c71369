package replica

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// small is a disk that may have no space for more.
type small struct {
	raft.LogStore
	raft.StableStore
	full atomic.Bool
}

func (d *small) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

func (d *small) StoreLogs(logs []*raft.Log) error {
	if d.full.Load() {
		return syscall.ENOSPC
	}
	return d.LogStore.StoreLogs(logs)
}

func (d *small) Set(key, value []byte) error {
	if d.full.Load() {
		return syscall.ENOSPC
	}
	return d.StableStore.Set(key, value)
}

func (d *small) SetUint64(key []byte, value uint64) error {
	if d.full.Load() {
		return syscall.ENOSPC
	}
	return d.StableStore.SetUint64(key, value)
}

// While the leader's disk is full another replica grants what is left, and not more; with space again the old leader has the same ledger.
func TestALeaderWithoutDiskSpaceIsReplaced(t *testing.T) {
	members := three(t)
	grant := func(node uint64, hold int64) (ledger.Grant, *member) {
		t.Helper()
		for range 600 {
			for _, m := range members {
				reply, err := m.ask(frameOf(node, 1, hold), time.Second)
				switch {
				case err == nil && reply.Status == ledger.Accepted:
					return reply.Grants[0], m
				case err == nil:
					t.Fatalf("status %d", reply.Status)
				case !errors.Is(err, ErrNotLeader):
					node += 1000 // the lost frame may be applied, and charged, later
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatal("nobody grants")
		return ledger.Grant{}, nil
	}
	for range 600 { // until somebody leads and the class is known
		if _, m := grant(1, 0); m.Propose(t.Context(), ledger.Command{Kind: ledger.SetClass, Class: 1, Version: 1, Max: 100}) == nil {
			break
		}
	}
	g, leader := grant(2, 20)
	if g.Granted != 20 {
		t.Fatalf("%+v", g)
	}
	leader.o.Logs.(*small).full.Store(true)
	g, next := grant(3, 100)
	if next == leader || g.Granted == 0 || g.Avail > 80-g.Granted {
		t.Fatalf("%+v, by the same: %v", g, next == leader)
	}
	for begin := time.Now(); !leader.Stalled(); time.Sleep(10 * time.Millisecond) { // the term of the next one is told to it
		if time.Since(begin) > 30*time.Second {
			t.Fatal("the old leader keeps terms without space")
		}
	}
	if leader.Leading() || leader.Submit(frameOf(4, 1, 1), nil) == nil {
		t.Error("the old leader takes frames")
	}
	leader.o.Logs.(*small).full.Store(false)
	for begin := time.Now(); leader.Ledger().Now() < next.Ledger().Now(); time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("the old leader does not catch up")
		}
	}
	if leader.Stalled() {
		t.Error("the old leader says that it waits")
	}
}

// A replica that waits for space stops when it is told to, and one that starts without space waits only for what is new.
func TestAReplicaStopsAndStartsWithoutDiskSpace(t *testing.T) {
	members := three(t)
	var m *member // that does not lead
	for begin := time.Now(); m == nil; time.Sleep(50 * time.Millisecond) {
		for i := range members {
			if members[i].Leading() {
				m = members[(i+1)%len(members)]
			}
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatal("nobody leads")
		}
	}
	d := m.o.Logs.(*small)
	term, err := d.GetUint64([]byte("CurrentTerm"))
	if err != nil || term == 0 {
		t.Fatal(term, err)
	}
	d.full.Store(true)
	for begin := time.Now(); !m.Stalled(); time.Sleep(50 * time.Millisecond) { // terms go up
		for _, other := range members {
			if other.Leading() {
				_ = other.Raft().LeadershipTransfer().Error()
			}
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatal("the replica does not wait")
		}
	}
	if err := m.stop(); err != nil {
		t.Error(err)
	}
	if now, err := d.GetUint64([]byte("CurrentTerm")); err != nil || now != term {
		t.Errorf("term %d was kept, %v", now, err)
	}
	_, nowhere := raft.NewInmemTransport("")
	begin(t, Options{ID: m.o.ID, Logs: d, Stable: d, Snapshots: raft.NewInmemSnapshotStore(), Transport: nowhere})
}

// noSpace is a metadata store that may have no space for more.
type noSpace struct {
	types.MetaStore
	full atomic.Bool
}

func (m *noSpace) CommitState(s types.PersistentState) error {
	if m.full.Load() {
		return syscall.ENOSPC
	}
	return m.MetaStore.CommitState(s)
}

// A log that had no space for its next segment goes on where it was once it has.
func TestALogGoesOnAfterAFailedWrite(t *testing.T) {
	dir := t.TempDir()
	if err := BeginStores(dir, "replica-1", nil); err != nil {
		t.Fatal(err)
	}
	meta := &noSpace{MetaStore: &metadb.BoltMetaDB{}}
	d, err := openDisk(dir, meta)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data := make([]byte, 8<<20)
	last := uint64(0)
	store := func() error { return d.StoreLog(&raft.Log{Index: last + 1, Term: 1, Data: data}) }
	meta.full.Store(true)
	for last < 100 && store() == nil {
		last++
	}
	if last < 2 || last == 100 || store() == nil {
		t.Fatalf("%d entries were stored without space", last)
	}
	meta.full.Store(false)
	if err := store(); err != nil {
		t.Fatal(err)
	}
	for i := range last + 1 {
		var l raft.Log
		if err := d.GetLog(i+1, &l); err != nil || l.Index != i+1 {
			t.Errorf("entry %d: %v", i+1, err)
		}
	}
}

// What is in the file although its write was called failed is taken out, since raft was told that it is not there.
func TestAFailedWriteThatIsInTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := BeginStores(dir, "replica-1", nil); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStores(dir, "replica-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	entry := func(index uint64) *raft.Log { return &raft.Log{Index: index, Term: 1, Data: []byte("x")} }
	if err := s.Log.StoreLog(entry(1)); err != nil {
		t.Fatal(err)
	}
	other, err := wal.Open(s.Log.dir, wal.WithMetaStore(shared{s.Log.meta}))
	if err == nil {
		err = errors.Join(other.StoreLogs([]*raft.Log{entry(2), entry(3)}), other.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Log.broken = true
	if err := s.Log.StoreLog(entry(2)); err != nil {
		t.Fatal(err)
	}
	if last, err := s.Log.LastIndex(); err != nil || last != 2 {
		t.Errorf("%d, %v", last, err)
	}
}

// A log whose newest entries were replaced by those of another leader is whole after a restart.
func TestATruncatedLogIsReadAfterARestart(t *testing.T) {
	dir := t.TempDir()
	if err := BeginStores(dir, "replica-1", nil); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStores(dir, "replica-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	entry := func(index, term uint64) *raft.Log { return &raft.Log{Index: index, Term: term, Data: []byte("x")} }
	err = errors.Join(
		s.Log.StoreLogs([]*raft.Log{entry(1, 1), entry(2, 1), entry(3, 1)}), s.Log.DeleteRange(3, 3), s.Log.StoreLog(entry(3, 2)), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	if s, err = OpenStores(dir, "replica-1", nil); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, term := range []uint64{1, 1, 2} {
		var l raft.Log
		if err := s.Log.GetLog(uint64(i+1), &l); err != nil || l.Term != term {
			t.Errorf("entry %d: term %d, %v", i+1, l.Term, err)
		}
	}
}
