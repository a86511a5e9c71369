package auth_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"modelgate.internal/dataplane/internal/auth"
	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/quota/quotatest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

var pepper = []byte("a pepper of thirty-two bytes ---")

// fakeIndex is an index in memory.
type fakeIndex struct {
	mu      sync.Mutex
	keys    map[key.Digest]*plane.Principal
	err     error
	checker *key.Checker
	lookups atomic.Int64
}

func newIndex() *fakeIndex {
	return &fakeIndex{keys: map[key.Digest]*plane.Principal{}, checker: key.NewChecker([][]byte{pepper})}
}

func (x *fakeIndex) Checker() *key.Checker { return x.checker }

func (x *fakeIndex) Lookup(digest key.Digest) (*plane.Principal, bool, error) {
	x.lookups.Add(1)
	x.mu.Lock()
	defer x.mu.Unlock()
	p, ok := x.keys[digest]
	return p, ok, x.err
}

func (x *fakeIndex) put(text string, p *plane.Principal) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.keys[key.Hash(text)] = p
}

func (x *fakeIndex) remove(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.keys, key.Hash(text))
}

func (x *fakeIndex) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
}

func newAuth(t testing.TB, x *fakeIndex, cached int64) *auth.Auth {
	t.Helper()
	l := limit.New(quotatest.New().Node(t, 1))
	a, err := auth.New(auth.Options{Index: x, Cells: l.Cells, Now: time.Now, CachedKeys: cached})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func mint(t testing.TB) string {
	t.Helper()
	text, err := key.Mint(key.Test, pepper)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func principal(id string) *plane.Principal {
	return &plane.Principal{KeyID: id, DeveloperID: "dev", Kind: key.Test, Limits: []plane.Limit{
		{Name: plane.LimitKeyMinute, Bucket: "key/" + id + "/minute", Max: 30, Window: time.Minute},
	}}
}

func authenticate(a *auth.Auth, text string) (*call.Caller, error) {
	return a.Authenticate(context.Background(), []byte(text), time.Now())
}

func want(t *testing.T, a *auth.Auth, text string, wanted error) {
	t.Helper()
	if _, err := authenticate(a, text); !errors.Is(err, wanted) || (wanted == nil && err != nil) {
		t.Errorf("%.20s…: %v, want %v", text, err, wanted)
	}
}

func TestRefusals(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	good, expired := mint(t), mint(t)
	x.put(good, principal("good"))
	old := principal("expired")
	old.NotAfter = time.Now().Add(-time.Second)
	x.put(expired, old)
	foreign, err := key.Mint(key.Live, []byte("another installation"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // the second time from the cache
		want(t, a, good, nil)
		want(t, a, "", auth.ErrMissing)
		want(t, a, good[:len(good)-1], auth.ErrMalformed)
		want(t, a, good+" ", auth.ErrMalformed)
		want(t, a, foreign, auth.ErrMalformed)
		want(t, a, mint(t), auth.ErrUnknown)
		want(t, a, expired, auth.ErrExpired)
	}
	for _, refusal := range []*apierr.Error{auth.ErrMissing, auth.ErrMalformed, auth.ErrUnknown, auth.ErrExpired} {
		if refusal.Kind != apierr.Unauthorized {
			t.Errorf("%v is a %d", refusal, refusal.Kind.Status())
		}
	}
}

func TestNoConfiguration(t *testing.T) {
	x := newIndex()
	x.checker = nil
	a := newAuth(t, x, 0)
	want(t, a, mint(t), auth.ErrNoKeys)
	want(t, a, "", auth.ErrMissing)
	if auth.ErrNoKeys.Kind != apierr.Unavailable {
		t.Error("no configuration is not the caller's fault")
	}
}

func TestIndexThatCannotBeRead(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	known, other := mint(t), mint(t)
	x.put(known, principal("known"))
	x.put(other, principal("other"))
	want(t, a, known, nil)
	broken := errors.New("disk on fire")
	x.fail(broken)
	want(t, a, known, nil)
	want(t, a, other, auth.ErrNoKeys)
	if _, err := authenticate(a, other); !errors.Is(err, broken) {
		t.Errorf("the cause is lost: %v", err)
	}
	x.fail(nil)
	want(t, a, other, nil)
}

func TestCallsOfAKeyShareWhatMustBeShared(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	text := mint(t)
	x.put(text, principal("1"))
	first, err := authenticate(a, text)
	if err != nil {
		t.Fatal(err)
	}
	upgraded := principal("1")
	upgraded.Limits[0].Max = 120
	x.put(text, upgraded)
	a.KeyChanged(key.Hash(text), false)
	second, err := authenticate(a, text)
	if err != nil {
		t.Fatal(err)
	}
	if first.Principal == second.Principal || second.Limits[0].Max != 120 || first.Limits[0].Max != 30 {
		t.Error("a change does not reach the calls to come, or reaches those that run")
	}
	if first.Cells.Counters()[0] != second.Cells.Counters()[0] || first.Revoked != second.Revoked {
		t.Error("a change of limits loses the counted history or the revocation")
	}
}

func TestRevocation(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	text := mint(t)
	x.put(text, principal("1"))
	caller, err := authenticate(a, text)
	if err != nil {
		t.Fatal(err)
	}
	stream, stop := context.WithCancelCause(caller.Revoked)
	defer stop(nil)
	x.remove(text)
	a.KeyChanged(key.Hash(text), true)
	if caller.Revoked.Err() == nil || !errors.Is(context.Cause(stream), call.ErrRevoked) {
		t.Errorf("stream of a revoked key goes on: %v", context.Cause(stream))
	}
	want(t, a, text, auth.ErrUnknown)
	x.put(text, principal("1")) // the app was made active again
	a.KeyChanged(key.Hash(text), false)
	again, err := authenticate(a, text)
	if err != nil || again.Revoked.Err() != nil {
		t.Errorf("key that came back: %v", err)
	}
}

// A key of which nothing is cached any more but a stream is open is found by its revocation.
func TestRevocationFindsStreamsOfEvictedKeys(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 1)
	const streams = 50
	texts, callers := make([]string, streams), make([]*call.Caller, streams)
	for i := range streams {
		texts[i] = mint(t)
		x.put(texts[i], principal(fmt.Sprint(i)))
		var err error
		if callers[i], err = authenticate(a, texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	for i := range streams {
		x.remove(texts[i])
		a.KeyChanged(key.Hash(texts[i]), true)
		if callers[i].Revoked.Err() == nil {
			t.Errorf("stream %d was not found", i)
		}
	}
	runtime.KeepAlive(callers)
}

func TestGrantsOfKeysNobodyUsesAreForgotten(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 1)
	for i := range 200 {
		text := mint(t)
		x.put(text, principal(fmt.Sprint(i)))
		want(t, a, text, nil)
	}
	for range 200 { // clean-ups run some time after the collection that finds them due
		runtime.GC()
		if a.Grants() < 20 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d grants are held", a.Grants())
}

func TestReplacedIndex(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	kept, lost, born := mint(t), mint(t), mint(t)
	x.put(kept, principal("kept"))
	x.put(lost, principal("lost"))
	keptCaller, err := authenticate(a, kept)
	if err != nil {
		t.Fatal(err)
	}
	lostCaller, err := authenticate(a, lost)
	if err != nil {
		t.Fatal(err)
	}
	want(t, a, born, auth.ErrUnknown)
	x.remove(lost)
	x.put(born, principal("born"))
	a.AllChanged()
	if keptCaller.Revoked.Err() != nil || lostCaller.Revoked.Err() == nil {
		t.Error("streams do not follow the new index")
	}
	want(t, a, kept, nil)
	want(t, a, lost, auth.ErrUnknown)
	want(t, a, born, nil)
}

func TestUnknownKeysAreNotLookedUpAgain(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	text := mint(t)
	for range 100 {
		want(t, a, text, auth.ErrUnknown)
	}
	if got := x.lookups.Load(); got != 1 {
		t.Errorf("%d look-ups", got)
	}
	x.put(text, principal("1"))
	a.KeyChanged(key.Hash(text), false)
	want(t, a, text, nil)
}

func TestCallersThatMissTogetherLookUpOnce(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	text := mint(t)
	x.put(text, principal("1"))
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { want(t, a, text, nil) })
	}
	group.Wait()
	if got := x.lookups.Load(); got != 1 {
		t.Errorf("%d look-ups", got)
	}
}

// Once KeyChanged has returned, no call gets the old state, whatever look-ups were under way.
func TestNoCallGetsTheOldStateAfterAChange(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 4) // small: evictions and refills all the time
	texts := make([]string, 16)
	for i := range texts {
		texts[i] = mint(t)
	}
	// state of a key: revision*2, +1 while it exists. Written before the index changes (begun) and after KeyChanged (done).
	type history struct{ begun, done atomic.Int64 }
	histories := make([]history, len(texts))
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				i := rand.IntN(len(texts))
				least := histories[i].done.Load()
				caller, err := authenticate(a, texts[i])
				most := histories[i].begun.Load()
				switch {
				case err == nil:
					if got := int64(caller.Seen); got < least || got > most {
						t.Errorf("key %d of revision %d after %d was in force (newest %d)", i, got, least, most)
					}
				case least == most && least%2 == 1:
					t.Errorf("key %d exists and is refused: %v", i, err)
				}
			}
		})
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	for revision := int64(1); revision < 20_000; revision++ {
		i := rnd.IntN(len(texts))
		gone := rnd.IntN(2) == 0
		state := revision * 2
		if !gone {
			state++
		}
		histories[i].begun.Store(state)
		if gone {
			x.remove(texts[i])
		} else {
			p := principal(fmt.Sprint(i))
			p.Seen = plane.Version(state)
			x.put(texts[i], p)
		}
		a.KeyChanged(key.Hash(texts[i]), gone)
		histories[i].done.Store(state)
	}
	cancel()
	group.Wait()
}

func TestExpiryEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newIndex()
		a, err := auth.New(auth.Options{
			Index: x, Now: time.Now, Cells: func(*plane.Principal) *limit.Cells { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		text := mint(t)
		p := principal("1")
		p.NotAfter = time.Now().Add(time.Hour)
		x.put(text, p)
		caller, err := authenticate(a, text)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		longer := principal("1")
		longer.NotAfter = p.NotAfter.Add(time.Hour)
		x.put(text, longer)
		a.KeyChanged(key.Hash(text), false)
		time.Sleep(60 * time.Minute)
		synctest.Wait()
		if caller.Revoked.Err() != nil {
			t.Fatal("expiry was moved and the stream ended at the old one")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !errors.Is(context.Cause(caller.Revoked), call.ErrRevoked) {
			t.Error("stream goes on after the expiry of its key")
		}
		want(t, a, text, auth.ErrExpired)
		x.put(text, principal("1")) // no expiry any more
		a.KeyChanged(key.Hash(text), false)
		again, err := authenticate(a, text)
		if err != nil || again.Revoked.Err() != nil {
			t.Errorf("key that lives again: %v", err)
		}
	})
}

func TestAuthenticateAllocatesNothing(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	text := []byte(mint(t))
	x.put(string(text), principal("1"))
	settled(t, a, text)
	ctx, now := context.Background(), time.Now()
	allocs := testing.AllocsPerRun(2000, func() {
		if _, err := a.Authenticate(ctx, text, now); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// The cache knows a key by 64 bits of its digest; another key with the same 64 bits is another key.
func TestCacheComparesTheWholeDigest(t *testing.T) {
	x := newIndex()
	a := newAuth(t, x, 0)
	text := []byte(mint(t))
	x.put(string(text), principal("1"))
	settled(t, a, text)
	digest := key.Hash(string(text))
	for i := 8; i < len(digest); i++ {
		other := digest
		other[i] ^= 1
		if a.Cached(other) {
			t.Errorf("byte %d of the digest does not matter", i)
		}
	}
}

// settled waits until the cache has taken the key in.
func settled(t testing.TB, a *auth.Auth, text []byte) {
	t.Helper()
	for range 1000 {
		if _, err := a.Authenticate(context.Background(), text, time.Now()); err != nil {
			t.Fatal(err)
		}
		if a.Cached(key.Hash(string(text))) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the cache does not take the key")
}

func BenchmarkAuthenticate(b *testing.B) {
	x := newIndex()
	a := newAuth(b, x, 0)
	text := []byte(mint(b))
	x.put(string(text), principal("1"))
	settled(b, a, text)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Authenticate(ctx, text, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
