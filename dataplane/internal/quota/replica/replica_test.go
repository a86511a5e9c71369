package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// member is a running replica.
type member struct {
	*Replica
	stop func() error
}

func begin(t *testing.T, o Options) *member {
	t.Helper()
	o.Policy, o.Now = ledger.DefaultPolicy(), time.Now
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var once sync.Once
	var result error
	m := &member{r, func() error {
		once.Do(func() { cancel(); result = <-ended })
		return result
	}}
	t.Cleanup(func() { _ = m.stop() })
	return m
}

func onDisk(t *testing.T, dir string) (*member, *Stores) {
	t.Helper()
	if entries, _ := os.ReadDir(dir); len(entries) == 0 {
		if err := BeginStores(dir, "replica-1", nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenStores(dir, "replica-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	addr, transport := raft.NewInmemTransport("")
	m := begin(t, Options{
		ID: s.ID, Logs: s.Log, Stable: s.Log, Snapshots: s.Snapshots, Transport: transport,
		Voters: []raft.Server{{ID: s.ID, Address: addr}},
	})
	m.ready(t)
	return m, s
}

func (m *member) ready(t *testing.T) {
	t.Helper()
	for range 1000 {
		err := m.Propose(t.Context(), ledger.Command{Kind: ledger.SetClass, Class: 1, Version: 1, Max: 100})
		if err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no leader")
}

// ask submits a frame and waits for its reply.
func (r *Replica) ask(f ledger.Frame, wait time.Duration) (ledger.Reply, error) {
	answer := make(chan ledger.Reply, 1)
	if err := r.Submit(f, func(r ledger.Reply) { answer <- r }); err != nil {
		return ledger.Reply{}, err
	}
	select {
	case reply := <-answer:
		return reply, nil
	case <-time.After(wait):
		return ledger.Reply{}, ErrLost
	}
}

func frameOf(node, seq uint64, hold int64) ledger.Frame {
	return ledger.Frame{Node: node, Incarnation: 1, Seq: seq, Records: []ledger.Record{{ID: ledger.ID{Kind: ledger.KeyMinute, Lo: 1}, Class: 1, Hold: hold}}}
}

// One replica alone works, keeps what it promised over restarts, with and without a snapshot, and its clock goes on.
func TestALoneReplicaKeepsItsPromises(t *testing.T) {
	dir := t.TempDir()
	m, stores := onDisk(t, dir)
	first, err := m.ask(frameOf(1, 1, 40), time.Second)
	if err != nil || first.Grants[0].Granted != 40 {
		t.Fatal(first, err)
	}
	for i := range 2 {
		before, id := m.Ledger().Now(), stores.ID
		if i == 1 {
			if err := m.Raft().Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(m.stop(), stores.Close()); err != nil {
			t.Fatal(err)
		}
		m, stores = onDisk(t, dir)
		if stores.ID != id {
			t.Error("another identity")
		}
		if m.Ledger().Now() < before {
			t.Error("the clock went back")
		}
		reply, err := m.ask(frameOf(uint64(2+i), 1, 0), time.Second)
		if err != nil || reply.Grants[0].Avail != 60 {
			t.Fatal(reply, err)
		}
	}
	if err := errors.Join(m.stop(), stores.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestAWipedLogIsNotTheSameReplica(t *testing.T) {
	dir := t.TempDir()
	m, stores := onDisk(t, dir)
	if err := errors.Join(m.Raft().Snapshot().Error(), m.stop(), stores.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStores(dir, "replica-2", nil); err == nil || !strings.Contains(err.Error(), "never moved to another node") {
		t.Errorf("a foreign log: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "wal")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStores(dir, "replica-1", nil); err == nil || !strings.Contains(err.Error(), "join anew") {
		t.Errorf("a wiped log: %v", err)
	}
	if err := BeginStores(dir, "replica-1", nil); err == nil {
		t.Error("a log was begun beside what is left of another")
	}
}

func TestAnUnknownEntryHalts(t *testing.T) {
	m, stores := onDisk(t, t.TempDir())
	defer func() { _ = stores.Close() }()
	if err := m.Raft().Apply([]byte{99, 1, 2, 3}, time.Second).Error(); err != nil && !errors.Is(err, raft.ErrRaftShutdown) {
		t.Fatal(err)
	}
	var halt *ledger.HaltError
	for range 500 {
		if _, err := m.ask(frameOf(1, 1, 1), 10*time.Millisecond); errors.Is(err, ErrNotLeader) {
			break
		}
	}
	if err := m.stop(); !errors.As(err, &halt) {
		t.Fatal(err)
	}
}

// Frames that come together are one entry, and an entry does not grow without bound.
func TestFramesAreGrouped(t *testing.T) {
	m, stores := onDisk(t, t.TempDir())
	defer func() { _ = stores.Close() }()
	defer func() { _ = m.stop() }()
	before := m.Entries()
	var done sync.WaitGroup
	const frames = 2000
	done.Add(frames)
	begin := time.Now()
	for i := range uint64(frames) {
		f := ledger.Frame{Node: 1 + i, Incarnation: 1, Seq: 1}
		for j := range uint64(8) {
			f.Records = append(f.Records, ledger.Record{ID: ledger.ID{Kind: ledger.KeyMinute, Lo: i*8 + j}, Class: 1, Hold: 1})
		}
		if err := m.Submit(f, func(r ledger.Reply) {
			if len(r.Grants) != 8 || r.Grants[0].Granted != 1 {
				t.Errorf("%+v", r)
			}
			done.Done()
		}); err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
	took, entries := time.Since(begin), m.Entries()-before
	if least := uint64(frames * 8 / ledger.EntryRecordsMax); entries < least || entries > frames/2 {
		t.Errorf("%d entries for %d frames", entries, frames)
	}
	if most := uint64(took/tickGap) + 2; entries > most {
		t.Errorf("%d entries in %s", entries, took)
	}
}

func TestOverloadIsRefused(t *testing.T) {
	m, stores := onDisk(t, t.TempDir())
	defer func() { _ = stores.Close() }()
	defer func() { _ = m.stop() }()
	f := frameOf(1, 1, 1)
	for len(f.Records) < ledger.FrameRecordsMax {
		f.Records = append(f.Records, ledger.Record{ID: ledger.ID{Kind: ledger.KeyMinute, Lo: uint64(len(f.Records) + 1)}, Class: 1})
	}
	var err error
	for range 1000 {
		if err = m.Submit(f, func(ledger.Reply) {}); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	f.Records = []ledger.Record{{ID: ledger.ID{Kind: 77}}} // the submitted ones still belong to the replica
	if err := m.Submit(f, nil); err == nil || errors.Is(err, ErrBusy) {
		t.Fatal("a frame of an unknown kind was taken", err)
	}
}

// three starts three replicas in memory.
func three(t *testing.T) []*member {
	t.Helper()
	var voters []raft.Server
	var transports []*raft.InmemTransport
	for i := range 3 {
		addr, transport := raft.NewInmemTransport("")
		voters = append(voters, raft.Server{ID: raft.ServerID(fmt.Sprint("voter-", i)), Address: addr})
		transports = append(transports, transport)
	}
	for _, a := range transports {
		for j, b := range transports {
			a.Connect(voters[j].Address, b)
		}
	}
	var members []*member
	for i := range voters {
		memory := raft.NewInmemStore()
		store := &small{LogStore: memory, StableStore: memory}
		members = append(members, begin(t, Options{
			ID: voters[i].ID, Logs: store, Stable: store, Snapshots: raft.NewInmemSnapshotStore(), Transport: transports[i], Voters: voters,
		}))
	}
	return members
}
