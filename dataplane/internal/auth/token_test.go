package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/auth"
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/quota/quotatest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// tokens is an Auth that accepts stream tokens, and who signs them.
type tokens struct {
	*auth.Auth
	index    *fakeIndex
	signer   *key.StreamSigner
	verifier atomic.Pointer[key.StreamVerifier]
}

func newTokens(t testing.TB) *tokens {
	t.Helper()
	signer, err := key.NewStreamSigner([][]byte{bytes.Repeat([]byte{5}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	l := limit.New(quotatest.New().Node(t, 1))
	k := &tokens{index: newIndex(), signer: signer}
	k.verifier.Store(key.NewStreamVerifier(signer.Public()))
	k.Auth, err = auth.New(auth.Options{Index: k.index, Cells: l.Cells, StreamKeys: k.verifier.Load, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// keyAndToken publishes a key and signs a token that stands for it.
func (k *tokens) keyAndToken(t testing.TB, now time.Time) (text, token string) {
	t.Helper()
	text, err := key.Mint(key.Test, pepper)
	if err != nil {
		t.Fatal(err)
	}
	k.index.put(text, &plane.Principal{
		KeyID: "key_1", AppID: "app_1", DeveloperID: "dev_1", Kind: key.Test,
		Limits: []plane.Limit{{Name: plane.LimitKeyMinute, Bucket: "key/1/minute", Max: 30, Window: time.Minute}},
	})
	if token, err = k.signer.Sign("key_1", key.Hash(text), now); err != nil {
		t.Fatal(err)
	}
	return text, token
}

func (k *tokens) ask(token string, now time.Time) (*call.Caller, error) {
	return k.Authenticate(context.Background(), []byte(token), now)
}

func TestAStreamTokenIsItsKey(t *testing.T) {
	k := newTokens(t)
	now := time.Now()
	text, token := k.keyAndToken(t, now)
	byKey, err := k.ask(text, now)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		byToken, err := k.ask(token, now)
		if err != nil || byToken.KeyID != "key_1" || byToken.Kind != key.Test || byToken.Revoked != byKey.Revoked || byToken.Cells.Counters()[0] != byKey.Cells.Counters()[0] {
			t.Fatalf("got %+v, %v; the key is %+v", byToken, err, byKey)
		}
	}
}

func TestAStreamTokenEndsWithItsKey(t *testing.T) {
	k := newTokens(t)
	now := time.Now()
	text, token := k.keyAndToken(t, now)
	caller, err := k.ask(token, now)
	if err != nil {
		t.Fatal(err)
	}
	k.index.remove(text)
	k.KeyChanged(key.Hash(text), true)
	if cause := context.Cause(caller.Revoked); !errors.Is(cause, call.ErrRevoked) {
		t.Errorf("its streams end for %v", cause)
	}
	if _, err := k.ask(token, now); !errors.Is(err, auth.ErrTokenKey) || apierr.From(err).Kind != apierr.Unauthorized {
		t.Errorf("afterwards: %v", err)
	}
}

func TestStreamTokensThatAreNotAccepted(t *testing.T) {
	k := newTokens(t)
	now := time.Now()
	_, token := k.keyAndToken(t, now)
	expect := func(what, text string, at time.Time, want error) {
		t.Helper()
		if _, err := k.ask(text, at); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect("good", token, now, nil)
	k.SettleTokens()
	expect("expired, and remembered", token, now.Add(key.StreamLife), auth.ErrTokenExpired)
	_, other := k.keyAndToken(t, now.Add(-time.Hour))
	expect("expired, and new", other, now, auth.ErrTokenExpired)
	cut := token[:len(token)-4]
	expect("another signature", cut+"AAAA", now, auth.ErrTokenSignature)
	expect("cut", strings.Join(strings.Split(token, ".")[:2], "."), now, auth.ErrTokenMalformed)
	expect("too long", token+strings.Repeat("A", key.StreamBytesMax), now, auth.ErrTokenMalformed)
	k.verifier.Store(key.NewStreamVerifier(nil))
	expect("of a key no longer in force, and remembered", token, now, auth.ErrTokenSignature)
	k.verifier.Store(nil)
	expect("without a configuration", token, now, auth.ErrNoKeys)
	plain := newAuth(t, newIndex(), 0)
	if _, err := plain.Authenticate(context.Background(), []byte(token), now); !errors.Is(err, auth.ErrTokenMalformed) {
		t.Errorf("where there are none: %v", err)
	}
}

// What verified is remembered, because verifying takes longer than everything else.
func BenchmarkStreamToken(b *testing.B) {
	k := newTokens(b)
	now := time.Now()
	_, token := k.keyAndToken(b, now)
	for range 100 { // the caches take things in their own time
		if _, err := k.ask(token, now); err != nil {
			b.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.ask(token, now); err != nil {
			b.Fatal(err)
		}
	}
}

// sessionToken signs a token of a developer's own session that allows so many calls per minute.
func (k *tokens) sessionToken(t testing.TB, kind key.Kind, perMinute int64, now time.Time) []byte {
	t.Helper()
	text, err := json.Marshal(plane.Session{Seen: 3, Principal: plane.Principal{
		KeyID: "dev_1", DeveloperID: "dev_1", Kind: kind,
		Limits: []plane.Limit{{Name: plane.LimitKeyMinute, Bucket: "key/dev_1/minute", Max: perMinute, Window: time.Minute}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := k.signer.SignSession("dev_1", text, now)
	if err != nil || len(token) > key.StreamBytesMax {
		t.Fatalf("%d bytes: %v", len(token), err)
	}
	return []byte(token)
}

func TestASessionTokenSaysItselfWhatItMayDo(t *testing.T) {
	k := newTokens(t)
	now := time.Now()
	first, second := k.sessionToken(t, key.Portal, 2, now), k.sessionToken(t, key.Portal, 2, now)
	one, err := k.Authenticate(t.Context(), first, now)
	if err != nil || one.Kind != key.Portal || one.Account() != "dev_1" || one.KeyID != "dev_1" || one.AppID != "" || one.Seen != 3 {
		t.Fatalf("%+v, %v", one, err)
	}
	two, err := k.Authenticate(t.Context(), second, now)
	if err != nil || one.Cells.Counters()[0] != two.Cells.Counters()[0] {
		t.Errorf("two tokens of a session do not share their limits: %v", err)
	}
	if again, err := k.Authenticate(t.Context(), first, now); err != nil || again.Cells.Counters()[0] != one.Cells.Counters()[0] {
		t.Errorf("the same token again: %v", err)
	}
	for what, tt := range map[string]struct {
		token []byte
		at    time.Time
		want  error
	}{
		"old":              {first, now.Add(key.SessionLife), auth.ErrTokenExpired},
		"old and not seen": {k.sessionToken(t, key.Portal, 2, now), now.Add(key.SessionLife), auth.ErrTokenExpired},
		"of a live key":    {k.sessionToken(t, key.Live, 2, now), now, auth.ErrTokenMalformed},
	} {
		if _, err := k.Authenticate(t.Context(), tt.token, tt.at); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
