package node_test

import (
	"slices"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/shared/plane"
)

// acknowledge says that the node serves by the version in the epoch of its database.
func acknowledge(t *testing.T, r *node.Registry, secret string, at plane.Cursor) {
	t.Helper()
	n, err := r.Authenticate(t.Context(), secret)
	if err != nil {
		t.Error(err)
		return
	}
	if err := r.Acknowledge(t.Context(), n, plane.Ack{Cursor: at, Build: "v1"}); err != nil {
		t.Error(err)
	}
}

func TestAwaitEndsWithTheLastNode(t *testing.T) {
	a, b, _, _, s := registriesOn(t)
	one, two := join(t, a, "eu-1"), join(t, b, "eu-2")
	cursor, err := s.Cursor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cursor.Version = 7
	acknowledge(t, a, one.Secret, cursor)
	go func() { // at the other replica
		time.Sleep(30 * time.Millisecond)
		cursor.Version = 9
		acknowledge(t, b, two.Secret, cursor)
	}()
	got, err := a.Await(t.Context(), 7)
	if err != nil || len(got.Missing) != 0 || len(got.Nodes) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	if n := got.Nodes[1]; n.Name != "eu-2" || n.Version != 9 || n.After < 30*time.Millisecond || got.Nodes[0].Version != 7 {
		t.Errorf("%+v", got)
	}
}

func TestAwaitNamesWhoIsMissing(t *testing.T) {
	a, _, now, _, s := registriesOn(t)
	join(t, a, "away")
	*now = now.Add(node.LiveFor + time.Second)
	behind := join(t, a, "behind")
	cursor, err := s.Cursor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := cursor
	other.Epoch, other.Version = other.Epoch+1, 100 // a version of another database says nothing
	acknowledge(t, a, behind.Secret, other)
	began := time.Now()
	got, err := a.Await(t.Context(), 7)
	want := []node.Missing{{Name: "away", Live: false}, {Name: "behind", Live: true}}
	if err != nil || len(got.Nodes) != 0 || !slices.Equal(got.Missing, want) {
		t.Errorf("%+v %v", got, err)
	}
	if took := time.Since(began); took < node.AwaitMax {
		t.Errorf("gave up a live node after %v", took)
	}
	if err := a.Forget(t.Context(), "behind"); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	got, err = a.Await(t.Context(), 7)
	if err != nil || !slices.Equal(got.Missing, want[:1]) {
		t.Errorf("%+v %v", got, err)
	}
	if took := time.Since(began); took >= node.AwaitMax {
		t.Errorf("waited %v for a node that is not live", took)
	}
}
