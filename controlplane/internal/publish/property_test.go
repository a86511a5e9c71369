package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// TestEveryMarkIsWhatWasCommitted lets writers on two replicas, publishers that come and go, nodes that are cut off, slow or
// sent to another replica, and the deletion of history run against each other. Whatever the interleaving, a node's state at a
// mark is exactly what was committed as that version, and in the end every node has what the database has.
func TestEveryMarkIsWhatWasCommitted(t *testing.T) {
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			interleave(t, seed)
		})
	}
}

// marksLeast is how many marks the nodes see together, so that there is something to compare.
const marksLeast = 12

type history struct {
	mu   sync.Mutex
	held map[plane.Version]map[publish.RecordID]string
}

func (h *history) committed(v plane.Version, models []plane.Model, upstreams []plane.UpstreamSpec) {
	state := map[publish.RecordID]string{}
	for _, m := range models {
		body, _ := json.Marshal(m)
		state[publish.RecordID{Kind: plane.KindModel, ID: m.ID}] = canonical(body)
	}
	for _, u := range upstreams {
		body, _ := json.Marshal(u)
		state[publish.RecordID{Kind: plane.KindUpstream, ID: u.ID}] = canonical(body)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[v] = state
}

func interleave(t *testing.T, seed uint64) {
	const writes = 40 // of each of two writers, or as many more as the nodes need to see something
	stores := replicas(t, 2)
	h := &history{held: map[plane.Version]map[publish.RecordID]string{0: {}}}
	writing, written := context.WithCancel(t.Context())
	var writers, others sync.WaitGroup
	nodes := make([]*node, 4)
	for i := range nodes {
		nodes[i] = newNode(fmt.Sprintf("node-%d", i))
	}
	more := func(done int) bool {
		seen := int64(0)
		for _, n := range nodes {
			seen += n.seen.Load()
		}
		return done < writes || seen < marksLeast && done < 10*writes
	}
	for i, s := range stores {
		writers.Go(func() { write(t, s, rand.New(rand.NewPCG(seed, uint64(i))), i, more, h) })
	}
	others.Go(func() { // the deletion of history
		dice := rand.New(rand.NewPCG(seed, 10))
		for writing.Err() == nil {
			if _, err := stores[0].TrimLog(t.Context(), time.Time{}, dice.Int64N(25), 10_000); err != nil {
				t.Errorf("trim: %v", err)
			}
			time.Sleep(time.Duration(dice.IntN(30)) * time.Millisecond)
		}
	})
	var mu sync.Mutex // publishers come and go
	publishers := make([]*publish.Publisher, len(stores))
	start := func(i int) func() {
		p := newPublisher(stores[i])
		p.Shrink(3, 8)
		mu.Lock()
		defer mu.Unlock()
		publishers[i] = p
		return run(t, p)
	}
	pick := func(i int) *publish.Publisher {
		mu.Lock()
		defer mu.Unlock()
		return publishers[i%len(publishers)]
	}
	for i := range stores {
		stop := start(i)
		others.Go(func() {
			dice := rand.New(rand.NewPCG(seed, 20+uint64(i)))
			for writing.Err() == nil {
				time.Sleep(time.Duration(50+dice.IntN(200)) * time.Millisecond)
				stop()
				stop = start(i)
			}
		})
	}
	for i, n := range nodes {
		others.Go(func() { wander(t, writing, n, rand.New(rand.NewPCG(seed, 30+uint64(i))), pick) })
	}
	writers.Wait()
	written()
	others.Wait()

	last, err := stores[0].Cursor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for i, n := range nodes {
		n.untilMark(t, pick(i), last.Version)
		marks += len(n.marks)
		for _, m := range n.marks {
			want, ok := h.held[m.at.Version]
			if !ok {
				t.Errorf("seed %d: %s has a mark at %d, where no commit ended", seed, n.name, m.at.Version)
			} else if !maps.Equal(m.state, want) {
				t.Fatalf("seed %d: %s at %d has\n%v\nwant\n%v", seed, n.name, m.at.Version, m.state, want)
			}
		}
		if stored := records(t, stores[1]); !maps.Equal(n.state, stored) {
			t.Errorf("seed %d: %s ends with\n%v\nthe database has\n%v", seed, n.name, n.state, stored)
		}
	}
	if marks < marksLeast {
		t.Errorf("seed %d: %d marks only", seed, marks)
	}
}

// write announces random catalogs, each different from all others, as long as more says of those that were written.
func write(t *testing.T, s *store.Store, dice *rand.Rand, writer int, more func(done int) bool, h *history) {
	p := newPublisher(s)
	for i := 0; more(i); i++ {
		upstreams := []plane.UpstreamSpec{{ID: "always", Dialect: plane.DialectChat, Model: fmt.Sprintf("%d.%d", writer, i)}}
		var models []plane.Model
		for u := range dice.IntN(8) {
			if dice.IntN(3) > 0 {
				upstreams = append(upstreams, plane.UpstreamSpec{ID: fmt.Sprintf("u%d", u), Dialect: plane.DialectChat, Model: fmt.Sprint(dice.IntN(3))})
			}
			if dice.IntN(3) > 0 {
				models = append(models, plane.Model{ID: fmt.Sprintf("m%d", u), Upstream: "always", Tasks: []string{fmt.Sprint(dice.IntN(2))}})
			}
		}
		v, err := p.Catalog(t.Context(), publish.Catalog{Models: models, Upstreams: upstreams})
		if err != nil && apierr.From(err).Kind == apierr.Unavailable { // the writers collided for as long as a change may take
			continue
		}
		if err != nil {
			t.Errorf("catalog: %v", err)
			return
		}
		h.committed(v, models, upstreams)
		time.Sleep(time.Duration(dice.IntN(20)) * time.Millisecond)
	}
}

// wander follows one stream after another, at its own pace, cut off at any message, until ctx ends.
func wander(t *testing.T, ctx context.Context, n *node, dice *rand.Rand, pick func(int) *publish.Publisher) {
	for ctx.Err() == nil {
		left := dice.IntN(60)
		slow := dice.IntN(3) == 0
		err := n.follow(t.Context(), pick(dice.IntN(2)), func(plane.Message) error {
			if slow {
				time.Sleep(time.Duration(dice.IntN(8)) * time.Millisecond)
			}
			if left--; left < 0 || ctx.Err() != nil {
				return errEnough
			}
			return nil
		})
		n.seen.Store(int64(len(n.marks)))
		if !errors.Is(err, errEnough) { // the publisher went away or the log was cut
			time.Sleep(5 * time.Millisecond)
		}
		if dice.IntN(10) == 0 { // the node loses its disk
			n.cursor, n.state = plane.Cursor{}, map[publish.RecordID]string{}
		}
	}
}

// records is what a snapshot is made of.
func records(t *testing.T, s *store.Store) map[publish.RecordID]string {
	t.Helper()
	page, err := s.RecordsAfter(t.Context(), publish.RecordID{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	state := map[publish.RecordID]string{}
	for _, c := range page {
		state[publish.RecordID{Kind: c.Kind, ID: c.ID}] = canonical(c.Body)
	}
	return state
}
