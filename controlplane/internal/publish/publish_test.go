package publish_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

func catalog(t *testing.T, p *publish.Publisher, models ...string) plane.Version {
	t.Helper()
	list := make([]plane.Model, len(models))
	for i, id := range models {
		list[i] = plane.Model{ID: id, Tasks: []string{"chat"}}
	}
	v, err := p.Catalog(t.Context(), publish.Catalog{Models: list})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCatalogAnnouncesDifferencesOnly(t *testing.T) {
	s := replicas(t, 1)[0]
	p := newPublisher(s)
	if v := catalog(t, p, "a", "b"); v != 2 {
		t.Errorf("two models made version %d", v)
	}
	if v := catalog(t, p, "a", "b"); v != 2 {
		t.Errorf("nothing new made version %d", v)
	}
	if v := catalog(t, p, "b", "c"); v != 4 { // c, and a gone
		t.Errorf("one more and one less made version %d", v)
	}
	changes, err := s.ChangesBetween(t.Context(), 2, 4, 10)
	if err != nil || len(changes) != 2 || changes[0].ID != "c" || changes[1].ID != "a" || !changes[1].Gone {
		t.Errorf("announced %+v, %v", changes, err)
	}
}

func TestCatalogThatContradictsItself(t *testing.T) {
	p := newPublisher(replicas(t, 1)[0])
	chat := plane.UpstreamSpec{ID: "u", Dialect: plane.DialectChat}
	for want, c := range map[string]publish.Catalog{
		"empty or there twice": {Models: []plane.Model{{ID: "a"}, {ID: "a"}}},
		"which is neither":     {Models: []plane.Model{{ID: "a", Upstream: "u"}}},
		`upstream ID ""`:       {Upstreams: []plane.UpstreamSpec{{}}},
		`pool "p"`:             {Upstreams: []plane.UpstreamSpec{chat}, Pools: []plane.PoolSpec{{ID: "p", Members: []plane.Member{{Upstream: "v"}}}}},
		"more than 65536":      {Models: []plane.Model{{ID: "a", Setting: strings.Repeat("x", publish.RecordBytesMax)}}},
	} {
		if _, err := p.Catalog(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestSkillsArePublishedAfterWhatTheyName(t *testing.T) {
	p := newPublisher(replicas(t, 1)[0])
	c := publish.Catalog{
		Upstreams: []plane.UpstreamSpec{{ID: "u", Dialect: plane.DialectNative}},
		Skills:    []plane.SkillSpec{{Name: "s", Kind: plane.SkillHosted, Family: "f", Task: "t", Upstream: "u", Path: "/s"}},
	}
	if v, err := p.Catalog(t.Context(), c); err != nil || v != 2 {
		t.Fatalf("version %d, %v", v, err)
	}
	n := newNode("n")
	n.untilMark(t, p, 2)
	c.Skills = nil
	if v, err := p.Catalog(t.Context(), c); err != nil || v != 3 {
		t.Errorf("removal made version %d, %v", v, err)
	}
	c.Skills = []plane.SkillSpec{{Name: "s", Kind: plane.SkillChain, Family: "f", Task: "t"}}
	if _, err := p.Catalog(t.Context(), c); err == nil {
		t.Error("a chain is published")
	}
}

func TestPoolsArePublishedBetweenWhatTheyNameAndWhatNamesThem(t *testing.T) {
	s := replicas(t, 1)[0]
	p := newPublisher(s)
	c := publish.Catalog{
		Models:    []plane.Model{{ID: "m", Upstream: "p"}},
		Upstreams: []plane.UpstreamSpec{{ID: "u", Dialect: plane.DialectChat}},
		Pools:     []plane.PoolSpec{{ID: "p", Members: []plane.Member{{Upstream: "u", Weight: 2}}}},
	}
	if v, err := p.Catalog(t.Context(), c); err != nil || v != 3 {
		t.Fatalf("version %d, %v", v, err)
	}
	if v, err := p.Catalog(t.Context(), c); err != nil || v != 3 {
		t.Errorf("nothing new made version %d, %v", v, err)
	}
	if v, err := p.Catalog(t.Context(), publish.Catalog{}); err != nil || v != 6 {
		t.Errorf("removal made version %d, %v", v, err)
	}
	changes, err := s.ChangesBetween(t.Context(), 0, 6, 10)
	if err != nil || len(changes) != 6 {
		t.Fatalf("announced %+v, %v", changes, err)
	}
	for i, want := range []string{plane.KindUpstream, plane.KindPool, plane.KindModel, plane.KindModel, plane.KindPool, plane.KindUpstream} {
		if changes[i].Kind != want || changes[i].Gone != (i > 2) {
			t.Errorf("change %d is %+v, want kind %s", i, changes[i], want)
		}
	}
}

func TestWhoMustStartOver(t *testing.T) {
	s := replicas(t, 1)[0]
	p, _ := running(t, s)
	last := catalog(t, p, "a", "b", "c", "d", "e", "f")
	if _, err := s.TrimLog(t.Context(), time.Time{}, 3, 100); err != nil { // keeps 4, 5, 6
		t.Fatal(err)
	}
	now, err := s.Cursor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		from  plane.Cursor
		reset bool
	}{
		{plane.Cursor{}, true},
		{plane.Cursor{Epoch: now.Epoch + 1, Version: last}, true},
		{plane.Cursor{Epoch: now.Epoch, Version: 0}, true},
		{plane.Cursor{Epoch: now.Epoch, Version: last + 1}, true},
		{plane.Cursor{Epoch: now.Epoch, Version: 2}, true},
		{plane.Cursor{Epoch: now.Epoch, Version: 3}, false},
		{plane.Cursor{Epoch: now.Epoch, Version: last}, false},
	}
	for _, tt := range tests {
		n := newNode("n")
		n.cursor = tt.from
		n.untilMark(t, p, last)
		h := n.hellos[0]
		if h.Reset != tt.reset || h.Epoch != now.Epoch {
			t.Errorf("from %+v: hello %+v", tt.from, h)
		}
		if n.cursor != now {
			t.Errorf("from %+v: first mark %+v, not %+v", tt.from, n.cursor, now)
		}
		if len(h.KeyPeppers) != 1 || string(h.StreamKeys["k1"]) != "\x04\x05" {
			t.Errorf("hello without its keys: %+v", h)
		}
	}
	if _, err := s.TrimLog(t.Context(), time.Time{}, 0, 100); err != nil { // an empty log
		t.Fatal(err)
	}
	n := newNode("n")
	n.cursor = now
	if n.untilMark(t, p, last); n.hellos[0].Reset {
		t.Error("a node that has everything starts over because the log is empty")
	}
	n.cursor.Version--
	if n.untilMark(t, p, last); !n.hellos[1].Reset {
		t.Error("a node goes on although the log is empty")
	}
}

// A change reaches a node that is connected to the announcing process by the wake-up, and one that is connected to another
// process with the next look. How long that takes is logged; the bound is for a change that is only found by starting over.
func TestChangesArriveSoon(t *testing.T) {
	stores := replicas(t, 2)
	near := newPublisher(stores[0])
	near.WokenOnly()
	run(t, near)
	far, _ := running(t, stores[1])
	for name, p := range map[string]*publish.Publisher{"same process": near, "other process": far} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		var took time.Duration
		n := newNode(name)
		marks := 0
		var announced time.Time
		err := n.follow(ctx, p, func(m plane.Message) error {
			if m.Mark == nil {
				return nil
			}
			if marks++; marks > 20 {
				return errEnough
			}
			if marks > 1 {
				took += time.Since(announced)
			}
			announced = time.Now()
			catalog(t, near, fmt.Sprintf("%s-%d", name, marks))
			return nil
		})
		cancel()
		if !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		t.Logf("%s: %s from before the transaction to the mark", name, took/19)
	}
}

func TestSilenceIsPinged(t *testing.T) {
	p, stop := running(t, replicas(t, 1)[0])
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	pinged := false
	n := newNode("n")
	err := n.follow(ctx, p, func(m plane.Message) error {
		if m.Ping && !pinged {
			pinged = true
			stop() // ends the streams
		}
		return nil
	})
	if !pinged || err == nil || !strings.Contains(err.Error(), "publishing stops") {
		t.Errorf("pinged %v, %v", pinged, err)
	}
	err = n.follow(ctx, p, func(plane.Message) error { return nil })
	if e := apierr.From(err); e.Kind != apierr.Unavailable {
		t.Errorf("a stream after the end: %v", err)
	}
}

func TestOneStreamANode(t *testing.T) {
	p, _ := running(t, replicas(t, 1)[0])
	first := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		opened := false
		first <- newNode("n").follow(t.Context(), p, func(m plane.Message) error {
			if m.Mark != nil && !opened {
				opened = true
				close(begun)
			}
			return nil
		})
	}()
	<-begun
	newNode("other").untilMark(t, p, 0)
	newNode("n").untilMark(t, p, 0)
	if err := <-first; err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("the first stream ended with %v", err)
	}
}

// A stream that needs what has been deleted meanwhile ends, and the node starts over.
func TestFallingBehindTheLog(t *testing.T) {
	s := replicas(t, 1)[0]
	p, _ := running(t, s)
	p.Shrink(2, 2)
	catalog(t, p, "a")
	n := newNode("n")
	n.untilMark(t, p, 1)
	catalog(t, p, "b", "c", "d")
	behind := false
	err := n.follow(t.Context(), p, func(m plane.Message) error {
		if m.Hello != nil && !m.Hello.Reset && !behind {
			behind = true // the node is slow: everything it needs is deleted before it reads on
			catalog(t, p, "x", "y", "z", "q", "r")
			if _, err := s.TrimLog(t.Context(), time.Time{}, 0, 100); err != nil {
				return err
			}
		}
		return nil
	})
	if !behind || !errors.Is(err, publish.ErrBehind) {
		t.Fatalf("ended with %v", err)
	}
	cursor, err := s.Cursor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.untilMark(t, p, cursor.Version)
	if want := records(t, s); !maps.Equal(n.state, want) {
		t.Errorf("has %v, want %v", n.state, want)
	}
}

func TestOneReplicaTrims(t *testing.T) {
	stores := replicas(t, 2)
	now := time.Now()
	for i, want := range []bool{true, false} {
		mine, err := stores[i].Lease(t.Context(), "l", fmt.Sprint(i), now, now.Add(time.Minute))
		if err != nil || mine != want {
			t.Errorf("replica %d: %v, %v", i, mine, err)
		}
	}
	if mine, err := stores[0].Lease(t.Context(), "l", "0", now, now.Add(2*time.Minute)); err != nil || !mine {
		t.Errorf("extending: %v, %v", mine, err)
	}
	late := now.Add(2 * time.Minute)
	if mine, err := stores[1].Lease(t.Context(), "l", "1", late, late.Add(time.Minute)); err != nil || !mine {
		t.Errorf("after the end: %v, %v", mine, err)
	}
}

func TestTrimByAge(t *testing.T) {
	s := replicas(t, 1)[0]
	clock := time.Now().Add(-48 * time.Hour)
	s.Now = func() time.Time { return clock }
	p := newPublisher(s)
	catalog(t, p, "a", "b")
	clock = time.Now()
	catalog(t, p, "a", "b", "c")
	if n, err := publish.Trim(p, t.Context(), "me"); err != nil || n != 2 {
		t.Errorf("deleted %d, %v", n, err)
	}
	if oldest, ok, err := s.OldestChange(t.Context()); err != nil || !ok || oldest != 3 {
		t.Errorf("oldest %d %v %v", oldest, ok, err)
	}
	if n, err := publish.Trim(p, t.Context(), "another"); err != nil || n != 0 {
		t.Errorf("without the lease: deleted %d, %v", n, err)
	}
}
