package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/replay"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/plane"
)

// replays keeps calls in s by a clock that the test moves.
func replays(t *testing.T, s *Store, now *time.Time) *replay.Replays {
	t.Helper()
	v, err := secret.NewVault([][]byte{make([]byte, secret.KeyBytes)})
	if err != nil {
		t.Fatal(err)
	}
	return &replay.Replays{Store: s, Vault: v, Now: func() time.Time { return *now }}
}

func claimOf(appID, keyID, text, request string) *plane.ReplayClaim {
	k, r := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(request))
	return &plane.ReplayClaim{ClaimID: uuid.NewString(), Scope: appID, KeyID: keyID, Key: k[:], Request: r[:]}
}

// wantState claims and checks what is said.
func wantState(t *testing.T, r *replay.Replays, c *plane.ReplayClaim, want plane.ReplayState) plane.ReplayAnswer {
	t.Helper()
	there, err := r.Claim(t.Context(), c)
	if err != nil || there.State != want {
		t.Fatalf("state %q, want %q: %v", there.State, want, err)
	}
	return there
}

func end(t *testing.T, r *replay.Replays, e *plane.ReplayEnd, want bool) {
	t.Helper()
	if held, err := r.End(t.Context(), e); err != nil || held != want {
		t.Fatalf("held %v, want %v: %v", held, want, err)
	}
}

func TestAClaimIsReplayedAfterItsEnd(t *testing.T) {
	s, now := open(t), micros()
	_, _, appID, k := withKey(t, s)
	_, _, otherApp, otherKey := withKey(t, s)
	r := replays(t, s, &now)
	first, second := claimOf(appID, k.ID, "one", "hello"), claimOf(appID, k.ID, "one", "hello")
	look := claimOf(appID, k.ID, "one", "hello")
	look.Look = true
	wantState(t, r, look, plane.ReplayFree)
	wantState(t, r, first, plane.ReplayClaimed)
	wantState(t, r, first, plane.ReplayClaimed) // its answer was lost, perhaps
	wantState(t, r, second, plane.ReplayRunning)
	wantState(t, r, claimOf(appID, k.ID, "one", "goodbye"), plane.ReplayOther)
	wantState(t, r, claimOf(otherApp, otherKey.ID, "one", "goodbye"), plane.ReplayClaimed) // the same key of somebody else is another key

	result := &plane.ReplayResult{Stream: true, Media: true, Backend: "simulator", Body: []byte("data: the answer\n\n")}
	end(t, r, &plane.ReplayEnd{ClaimID: first.ClaimID, Result: result}, true)
	end(t, r, &plane.ReplayEnd{ClaimID: first.ClaimID}, false) // what is done is not undone
	for _, c := range []*plane.ReplayClaim{first, second, look} {
		got := wantState(t, r, c, plane.ReplayDone)
		if got.Result == nil || !got.Result.Stream || !got.Result.Media || got.Result.Backend != "simulator" || !bytes.Equal(got.Result.Body, result.Body) {
			t.Errorf("replayed %+v", got.Result)
		}
	}
	wantState(t, r, claimOf(appID, k.ID, "one", "goodbye"), plane.ReplayOther)
	row, err := one[replayRow](t.Context(), s.pool, selectReplay, appID, first.Key, now, now.Add(-time.Hour))
	if err != nil || bytes.Contains(row.Ciphertext, []byte("the answer")) || len(row.Ciphertext) == 0 {
		t.Errorf("the result is not sealed: %q %v", row.Ciphertext, err)
	}
	// After its time the key is a new one, and housekeeping removes it.
	now = now.Add(plane.ReplayFor)
	wantState(t, r, look, plane.ReplayFree)
	s.Now = r.Now
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, _, err := s.ReplayTotals(t.Context(), appID, now.Add(-72*time.Hour)); err != nil || entries != 0 {
		t.Errorf("%d entries are left: %v", entries, err)
	}
	wantState(t, r, claimOf(appID, k.ID, "one", "goodbye"), plane.ReplayClaimed)
}

func TestAClaimEndsWithItsNodeOrItsFailure(t *testing.T) {
	s, now := open(t), micros()
	_, _, appID, k := withKey(t, s)
	r := replays(t, s, &now)
	dead, next := claimOf(appID, k.ID, "one", "hello"), claimOf(appID, k.ID, "one", "hello")
	wantState(t, r, dead, plane.ReplayClaimed)
	now = now.Add(plane.ReplayLease - time.Second)
	wantState(t, r, next, plane.ReplayRunning)
	if held, err := r.Renew(t.Context(), dead.ClaimID); err != nil || !held {
		t.Fatalf("renewed: %v %v", held, err)
	}
	now = now.Add(plane.ReplayLease - time.Second)
	wantState(t, r, next, plane.ReplayRunning)
	now = now.Add(time.Second) // nobody renews
	wantState(t, r, next, plane.ReplayClaimed)
	if held, err := r.Renew(t.Context(), dead.ClaimID); err != nil || held {
		t.Errorf("a claim that was taken over is renewed: %v %v", held, err)
	}
	end(t, r, &plane.ReplayEnd{ClaimID: dead.ClaimID, Result: &plane.ReplayResult{Body: []byte("late")}}, false)
	end(t, r, &plane.ReplayEnd{ClaimID: next.ClaimID}, true) // it failed
	again := claimOf(appID, k.ID, "one", "hello")
	wantState(t, r, again, plane.ReplayClaimed)
	end(t, r, &plane.ReplayEnd{ClaimID: again.ClaimID, Unkept: true}, true)
	wantState(t, r, claimOf(appID, k.ID, "one", "hello"), plane.ReplayUnkept)
	// What is kept goes with the key.
	if _, err := s.pool.Exec(t.Context(), `DELETE FROM api_keys WHERE id = $1`, k.ID); err != nil {
		t.Fatal(err)
	}
	if entries, _, err := s.ReplayTotals(t.Context(), appID, now.Add(-time.Hour)); err != nil || entries != 0 {
		t.Errorf("%d entries are left: %v", entries, err)
	}
	if _, err := r.Claim(t.Context(), claimOf(appID, k.ID, "one", "hello")); !isErr(err, replay.ErrNoKey) {
		t.Errorf("a claim of a key that is gone: %v", err)
	}
}

func TestWhatAnAppKeepsIsBounded(t *testing.T) {
	s, now := open(t), micros()
	_, _, appID, k := withKey(t, s)
	r := replays(t, s, &now)
	running := claimOf(appID, k.ID, "running", "hello")
	wantState(t, r, running, plane.ReplayClaimed)
	_, err := s.pool.Exec(t.Context(), `
		INSERT INTO call_replays SELECT $1, decode(lpad(to_hex(n), 64, '0'), 'hex'), $3, $2, gen_random_uuid(), false, $4, $4, $5, '', $3, $3, $3
		FROM generate_series(1, $6::INT8) AS n`, appID, k.ID, []byte{}, now, int64(plane.ReplayScopeBytesMax/plane.ReplayEntriesMax)+2, plane.ReplayEntriesMax-1)
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, r, claimOf(appID, k.ID, "one too many", "hello"), plane.ReplayFull)
	wantState(t, r, claimOf(appID, k.ID, "running", "hello"), plane.ReplayRunning)
	// There is no room for its result. That it was made is kept.
	end(t, r, &plane.ReplayEnd{ClaimID: running.ClaimID, Result: &plane.ReplayResult{Body: []byte("answer")}}, true)
	wantState(t, r, claimOf(appID, k.ID, "running", "hello"), plane.ReplayUnkept)
	if _, err := r.End(t.Context(), &plane.ReplayEnd{ClaimID: running.ClaimID, Result: &plane.ReplayResult{Body: make([]byte, plane.ReplayBytesMax+1)}}); err == nil {
		t.Error("a result over the limit is taken")
	}
}

func TestClaimsAtOnceHaveOneWinner(t *testing.T) {
	url, now := database(t), micros()
	stores := []*Store{openAt(t, url), openAt(t, url)} // two processes
	_, _, appID, k := withKey(t, stores[0])
	const racers = 20
	states, start := make(chan plane.ReplayState, racers), make(chan struct{})
	for i := range racers {
		r := replays(t, stores[i%2], &now)
		go func() {
			<-start
			there, err := r.Claim(context.WithoutCancel(t.Context()), claimOf(appID, k.ID, "race", "hello"))
			if err != nil {
				t.Error(err)
			}
			states <- there.State
		}()
	}
	close(start)
	got := map[plane.ReplayState]int{}
	for range racers {
		got[<-states]++
	}
	if got[plane.ReplayClaimed] != 1 || got[plane.ReplayRunning] != racers-1 {
		t.Errorf("%v", got)
	}
}
