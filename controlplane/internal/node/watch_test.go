package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/shared/plane"
)

// fleet is a store whose nodes acknowledge every version after a time of their own.
type fleet struct {
	node.Store

	mu     sync.Mutex
	newest plane.Cursor
	nodes  []node.Node
	delay  []time.Duration // of each node; below zero it does nothing
	looks  int
	away   error
}

func (f *fleet) Cursor(context.Context) (plane.Cursor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest, f.away
}

func (f *fleet) Nodes(context.Context) ([]node.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	return slices.Clone(f.nodes), f.away
}

func (f *fleet) NodeAcked(_ context.Context, id string, ack plane.Ack, at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.nodes, func(n node.Node) bool { return n.ID == id })
	if f.delay[i] >= 0 && f.nodes[i].Acked.Version < ack.Version {
		f.nodes[i].Acked, f.nodes[i].AckedAt = ack.Cursor, &at
	}
	return nil
}

// newFleet returns n nodes that acknowledge after 20 ms, and their registry.
func newFleet(t *testing.T, n int) (*fleet, *node.Registry) {
	t.Helper()
	f := &fleet{newest: plane.Cursor{Epoch: 1}, delay: slices.Repeat([]time.Duration{20 * time.Millisecond}, n)}
	now := time.Now()
	for i := range n {
		f.nodes = append(f.nodes, node.Node{ID: fmt.Sprint(i), Name: fmt.Sprintf("node-%d", i), LastSeenAt: now, Acked: f.newest, AckedAt: &now})
	}
	r, err := node.NewRegistry(f, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r.Now = func() time.Time { return now }             // all of them stay live
	t.Cleanup(func() { time.Sleep(2 * node.AwaitMax) }) // for what is under way in the bubble
	return f, r
}

// announce makes a version, which the nodes acknowledge at the registry.
func (f *fleet) announce(t *testing.T, r *node.Registry) plane.Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest.Version++
	at := f.newest
	for i, n := range f.nodes {
		time.AfterFunc(max(0, f.delay[i]), func() {
			if err := r.Acknowledge(t.Context(), n, plane.Ack{Cursor: at}); err != nil {
				t.Error(err)
			}
		})
	}
	return at.Version
}

// change announces a version and waits for it; it returns how many nodes have it and how long that took.
func (f *fleet) change(t *testing.T, r *node.Registry) (have int, took time.Duration) {
	began := time.Now()
	got, err := r.Await(t.Context(), f.announce(t, r))
	if err != nil {
		t.Error(err)
	}
	return len(got.Nodes), time.Since(began)
}

// TestManyWaitAsOne: requests that wait at the same time neither wait for each other nor ask the database each for itself.
func TestManyWaitAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFleet(t, 5)
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if have, took := f.change(t, r); have != 5 || took > 60*time.Millisecond {
					t.Errorf("%d nodes after %s", have, took)
				}
			})
		}
		all.Wait()
		if f.looks > 20 {
			t.Errorf("1000 requests looked %d times", f.looks)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		before := f.looks
		time.Sleep(time.Hour)
		synctest.Wait()
		if f.looks != before {
			t.Errorf("looked %d times while nobody waited", f.looks-before)
		}
	})
}

// TestANodeThatStandsStillCostsOneWait: the first changes that it lacks are waited for as long as anybody waits, and those that come after
// wait for it a quarter of a second, until it is back.
func TestANodeThatStandsStillCostsOneWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFleet(t, 5)
		stop := func(delay time.Duration) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.delay[3] = delay
		}
		within := func(what string, wantNodes int, least, most time.Duration) {
			t.Helper()
			if have, took := f.change(t, r); have != wantNodes || took < least || took > most {
				t.Errorf("%s: %d nodes after %s", what, have, took)
			}
		}
		within("all run", 5, 20*time.Millisecond, 60*time.Millisecond)
		stop(-1)
		var all sync.WaitGroup
		all.Go(func() { within("one stands still", 4, node.AwaitMax, node.AwaitMax) })
		time.Sleep(node.AwaitMax / 2)
		synctest.Wait()
		within("a second later", 4, node.AwaitMax/2, node.AwaitMax/2+60*time.Millisecond)
		all.Wait()
		for range 10 {
			within("it is behind", 4, node.AwaitBehind, node.AwaitBehind+60*time.Millisecond)
		}
		time.Sleep(time.Hour)
		within("it is still behind", 4, node.AwaitBehind, node.AwaitBehind+60*time.Millisecond)
		stop(20 * time.Millisecond)
		within("it runs again", 5, 20*time.Millisecond, 60*time.Millisecond)
		stop(-1)
		within("it stands still again", 4, node.AwaitMax, node.AwaitMax)
	})
}

// TestASlowNodeThatFollowsIsNotBehind: it lacks the newest version at any time, and none for long.
func TestASlowNodeThatFollowsIsNotBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFleet(t, 2)
		f.delay[1] = node.AwaitMax / 2
		done := make(chan struct{})
		go func() {
			for tick := time.NewTicker(10 * time.Millisecond); ; {
				select {
				case <-done:
					return
				case <-tick.C:
					f.announce(t, r)
				}
			}
		}()
		for range 10 {
			if have, took := f.change(t, r); have != 2 || took < node.AwaitMax/2 {
				t.Errorf("%d nodes after %s", have, took)
			}
		}
		close(done)
	})
}

// TestWhoLeavesOrHasNoDatabase ends the waiting without an answer of the nodes.
func TestWhoLeavesOrHasNoDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFleet(t, 2)
		f.delay[1] = -1
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		got, err := r.Await(ctx, f.announce(t, r))
		if err != nil || len(got.Nodes) != 1 || len(got.Missing) != 1 || time.Since(began) != 100*time.Millisecond || got.Waited != 100*time.Millisecond {
			t.Errorf("%+v %v after %s", got, err, time.Since(began))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		f.away = errors.New("no database")
		if got, err := r.Await(t.Context(), 1); err == nil {
			t.Errorf("%+v", got)
		}
		if got, err := r.AwaitNewest(t.Context()); err == nil {
			t.Errorf("%+v", got)
		}
	})
}
