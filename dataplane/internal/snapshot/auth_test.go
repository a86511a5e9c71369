package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/auth"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/snapshot"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// Both ends are real: the source serves by its file, package auth authenticates by the source.
func TestAcknowledgedRevocationIsInForce(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	w := &late{}
	n := startNode(t, dir, p.server.URL, w)
	a, err := auth.New(auth.Options{
		Index: n, Now: time.Now, Cells: func(*plane.Principal) *limit.Cells { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	w.Auth = a
	const keys = 40
	texts := make([]string, keys)
	s := p.stream()
	authenticate := func(i int) error {
		_, err := a.Authenticate(context.Background(), []byte(texts[i]), time.Now())
		return err
	}
	texts[0], _ = key.Mint(key.Live, testPepper)
	if err := authenticate(0); !errors.Is(err, auth.ErrNoKeys) {
		t.Errorf("before the first configuration: %v", err)
	}
	s.send(hello(1, true))
	for i := range texts {
		if texts[i], err = key.Mint(key.Live, testPepper); err != nil {
			t.Fatal(err)
		}
		s.send(change(plane.Version(i+1), plane.KindKey, keyID(texts[i]), plane.Principal{KeyID: fmt.Sprint(i), Kind: key.Live}))
	}
	s.send(mark(1, keys))
	p.acked(1, keys)
	for i := range texts {
		if err := authenticate(i); err != nil {
			t.Fatalf("key %d: %v", i, err)
		}
	}
	for i := range texts {
		v := plane.Version(keys + i + 1)
		caller, err := a.Authenticate(context.Background(), []byte(texts[i]), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 { // by a new state as a whole
			s.raw(nil)
			s = p.stream()
			s.send(hello(1, true), mark(1, v))
		} else {
			s.send(keyGone(v, texts[i]), mark(1, v))
		}
		p.acked(1, v)
		if err := authenticate(i); !errors.Is(err, auth.ErrUnknown) || caller.Revoked.Err() == nil {
			t.Errorf("key %d after its acknowledged revocation: %v, stream %v", i, err, caller.Revoked.Err())
		}
		if i%10 == 9 {
			s.send(hello(1, true))
			s.raw(nil) // hello twice ends the stream; the rest goes on from a new one
			s = p.stream()
			s.send(hello(1, true))
			for k := i + 1; k < keys; k++ {
				s.send(change(v, plane.KindKey, keyID(texts[k]), plane.Principal{KeyID: fmt.Sprint(k), Kind: key.Live}))
			}
			s.send(mark(1, v+1))
			p.acked(1, v+1)
		}
	}
}

// late passes on to an Auth that is made after the source.
type late struct{ *auth.Auth }

func (l *late) KeyChanged(digest key.Digest, gone bool) { l.Auth.KeyChanged(digest, gone) }
func (l *late) AllChanged()                             { l.Auth.AllChanged() }

var _ auth.Index = (*snapshot.Source)(nil)
