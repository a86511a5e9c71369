package node_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/node"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

const token = "a join token for tests"

// registries returns two replicas on one new database and their clock.
func registries(t *testing.T) (a, b *node.Registry, now *time.Time, log *bytes.Buffer) {
	t.Helper()
	a, b, now, log, _ = registriesOn(t)
	return a, b, now, log
}

// registriesOn also returns a store of the database.
func registriesOn(t *testing.T) (a, b *node.Registry, now *time.Time, log *bytes.Buffer, s *store.Store) {
	t.Helper()
	log = &bytes.Buffer{}
	url := storetest.Database(t)
	clock := time.Now().UTC().Truncate(time.Microsecond)
	open := func() *node.Registry {
		r, err := node.NewRegistry(storetest.Open(t, url), token, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		r.Now = func() time.Time { return clock }
		return r
	}
	return open(), open(), &clock, log, storetest.Open(t, url)
}

func join(t *testing.T, r *node.Registry, name string) plane.JoinAnswer {
	t.Helper()
	identity, err := r.Join(t.Context(), token, plane.JoinRequest{Name: name, Build: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

func kind(err error) apierr.Kind { return apierr.From(err).Kind }

func TestANameIsKeptAndItsSecretReplaced(t *testing.T) {
	a, b, now, log := registries(t)
	first := join(t, a, "eu-1")
	if n, err := b.Authenticate(t.Context(), first.Secret); err != nil || n.ID != first.NodeID || n.Name != "eu-1" {
		t.Fatalf("recognized %+v, %v", n, err)
	}
	*now = now.Add(29 * time.Second)
	_, err := b.Join(t.Context(), token, plane.JoinRequest{Name: "eu-1"})
	if kind(err) != apierr.Conflict || !strings.Contains(apierr.From(err).Detail, `"eu-1" is live`) {
		t.Errorf("a live name was given away: %v", err)
	}
	*now = now.Add(2 * time.Second)
	second := join(t, b, "eu-1")
	if second.NodeID != first.NodeID || second.Secret == first.Secret {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if _, err := b.Authenticate(t.Context(), first.Secret); !errors.Is(err, node.ErrSecret) {
		t.Errorf("the withdrawn secret: %v", err)
	}
	*now = now.Add(node.RecognizedFor)
	if _, err := a.Authenticate(t.Context(), first.Secret); !errors.Is(err, node.ErrSecret) {
		t.Errorf("the withdrawn secret at the other replica: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), second.Secret); err != nil {
		t.Errorf("the new secret: %v", err)
	}
	if strings.Contains(log.String(), first.Secret) || strings.Contains(log.String(), token) {
		t.Error("a secret is in the log")
	}
}

func TestBeingSeenKeepsANodeLive(t *testing.T) {
	a, b, now, _ := registries(t)
	identity := join(t, a, "eu-1")
	for range 10 {
		*now = now.Add(10 * time.Second)
		if _, err := a.Authenticate(t.Context(), identity.Secret); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Join(t.Context(), token, plane.JoinRequest{Name: "eu-1"}); kind(err) != apierr.Conflict {
		t.Errorf("the name was given away: %v", err)
	}
}

func TestWhoMayJoin(t *testing.T) {
	a, _, _, _ := registries(t)
	for _, wrong := range []string{"", "wrong", token + "x", token[:len(token)-1]} {
		if _, err := a.Join(t.Context(), wrong, plane.JoinRequest{Name: "x"}); !errors.Is(err, node.ErrJoinToken) {
			t.Errorf("token %q: %v", wrong, err)
		}
	}
	for _, name := range []string{"", "a b", "a\n", strings.Repeat("x", 65), "ü"} {
		if _, err := a.Join(t.Context(), token, plane.JoinRequest{Name: name}); kind(err) != apierr.Invalid {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, wrong := range []string{"", "mgn_", "mgn_wrong", token, strings.Repeat("x", 1000)} {
		if _, err := a.Authenticate(t.Context(), wrong); !errors.Is(err, node.ErrSecret) {
			t.Errorf("secret %q: %v", wrong, err)
		}
	}
	off, err := node.NewRegistry(nil, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := off.Join(t.Context(), "", plane.JoinRequest{Name: "x"}); !errors.Is(err, node.ErrJoinOff) {
		t.Errorf("without a token: %v", err)
	}
	if _, err := node.NewRegistry(nil, "short", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a short token was accepted")
	}
}

func TestWhichNodesHaveAChange(t *testing.T) {
	a, b, now, _ := registries(t)
	one, two := join(t, a, "one"), join(t, a, "two")
	join(t, a, "gone")
	for identity, v := range map[plane.JoinAnswer]plane.Version{one: 7, two: 6} {
		n, err := a.Authenticate(t.Context(), identity.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Acknowledge(t.Context(), n, plane.Ack{Cursor: plane.Cursor{Epoch: 9, Version: v}, KeysHeld: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Forget(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if err := b.Forget(t.Context(), "nobody"); kind(err) != apierr.NotFound {
		t.Errorf("forgetting nobody: %v", err)
	}
	have := func(epoch uint64, v plane.Version) (out string) {
		states, err := b.Have(t.Context(), plane.Cursor{Epoch: epoch, Version: v})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range states {
			out += s.Name
			if s.Has {
				out += "+"
			}
			if s.Live {
				out += "!"
			}
			out += " "
		}
		return out
	}
	if got := have(9, 7); got != "one+! two! " {
		t.Errorf("version 7: %s", got)
	}
	if got := have(9, 6); got != "one+! two+! " {
		t.Errorf("version 6: %s", got)
	}
	if got := have(8, 1); got != "one! two! " {
		t.Errorf("another epoch: %s", got)
	}
	*now = now.Add(time.Minute)
	if got := have(9, 7); got != "one+ two " {
		t.Errorf("a minute later: %s", got)
	}
	join(t, a, "one") // which has nothing until it says so
	if got := have(9, 1); got != "one! two+ " {
		t.Errorf("after joining again: %s", got)
	}
	all, err := b.List(t.Context())
	if err != nil || len(all) != 3 || !all[0].Forgotten {
		t.Errorf("list: %+v, %v", all, err)
	}
}
