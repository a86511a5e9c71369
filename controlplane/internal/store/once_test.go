package store

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// withKey is an app of a new developer with one key.
func withKey(t *testing.T, s *Store) (a *app.Apps, developerID, appID string, k app.NewKey) {
	t.Helper()
	a = apps(t, s)
	d := developer(t, s, plan.Free)
	made, err := a.Create(t.Context(), app.App{DeveloperID: d.ID, Name: "Bot", Environment: "test", RateLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if k, err = a.CreateKey(t.Context(), d.ID, made.ID, nil); err != nil {
		t.Fatal(err)
	}
	return a, d.ID, made.ID, k
}

// published is the end of the value on the nodes, and whether they know it at all.
func published(t *testing.T, s *Store, value string) (end time.Time, known bool) {
	t.Helper()
	body, known := records(t, s)[recordID{plane.KindKey, fmt.Sprintf("%x", key.Hash(value))}]
	if !known {
		return time.Time{}, false
	}
	var p plane.Principal
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	return p.NotAfter, true
}

func TestGraceGivesTheOldValueAnEnd(t *testing.T) {
	s := open(t)
	a, dev, appID, first := withKey(t, s)
	ctx := t.Context()
	second, err := a.RegenerateKey(ctx, dev, appID, first.ID, time.Hour, nil)
	if err != nil || second.ID != first.ID || second.PreviousUntil == nil || !second.PreviousUntil.Equal(second.ValueMade.Add(time.Hour)) {
		t.Fatalf("%+v %v", second, err)
	}
	if end, known := published(t, s, first.Value); !known || !end.Equal(*second.PreviousUntil) {
		t.Errorf("the old value is known to the nodes: %v, until %v", known, end)
	}
	if end, known := published(t, s, second.Value); !known || !end.IsZero() {
		t.Errorf("the new value is known to the nodes: %v, until %v", known, end)
	}
	if value, err := a.Reveal(ctx, dev, appID, first.ID); err != nil || value != second.Value {
		t.Errorf("the value revealed is not the new one: %v", err)
	}
	keys, err := a.Keys(ctx, dev, appID)
	if err != nil || len(keys) != 1 || keys[0].PreviousUntil == nil || !keys[0].PreviousUntil.Equal(*second.PreviousUntil) {
		t.Errorf("listed %+v %v", keys, err)
	}

	// A longer grace does not extend what the first one gave.
	third, err := a.RegenerateKey(ctx, dev, appID, first.ID, 24*time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	if end, known := published(t, s, first.Value); !known || !end.Equal(*second.PreviousUntil) {
		t.Errorf("the oldest value is known to the nodes: %v, until %v", known, end)
	}
	// Without grace all of them end.
	if _, err := a.RegenerateKey(ctx, dev, appID, first.ID, 0, nil); err != nil {
		t.Fatal(err)
	}
	for i, k := range []app.NewKey{first, second, third} {
		if _, known := published(t, s, k.Value); known {
			t.Errorf("value %d is still known to the nodes", i)
		}
	}
}

func TestValuesOfAKeyAreBounded(t *testing.T) {
	s := open(t)
	a, dev, appID, k := withKey(t, s)
	for range app.ValuesPerKeyMax - 1 {
		if _, err := a.RegenerateKey(t.Context(), dev, appID, k.ID, time.Hour, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.RegenerateKey(t.Context(), dev, appID, k.ID, time.Hour, nil); !isErr(err, app.ErrManyValues) {
		t.Errorf("one value too many: %v", err)
	}
	if _, err := a.RegenerateKey(t.Context(), dev, appID, k.ID, 0, nil); err != nil {
		t.Errorf("without grace: %v", err)
	}
}

func TestEndedValuesAreRetired(t *testing.T) {
	s := open(t)
	a, dev, appID, first := withKey(t, s)
	second, err := a.RegenerateKey(t.Context(), dev, appID, first.ID, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, known := published(t, s, first.Value); !known {
		t.Error("a value was retired before its end")
	}
	s.Now = func() time.Time { return time.Now().Add(time.Hour + time.Minute) }
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, known := published(t, s, first.Value); known {
		t.Error("the nodes keep a value whose time is over")
	}
	if _, known := published(t, s, second.Value); !known {
		t.Error("the current value was retired")
	}
}

func once(t *testing.T, idempotencyKey string, parts ...string) *app.Once {
	t.Helper()
	o, err := app.NewOnce(idempotencyKey, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestARepeatedRequestMakesNothingNew(t *testing.T) {
	s := open(t)
	a, dev, appID, _ := withKey(t, s)
	ctx := t.Context()
	create := func(idempotencyKey string, parts ...string) (app.NewKey, error) {
		return a.CreateKey(ctx, dev, appID, once(t, idempotencyKey, parts...))
	}
	first, err := create("one", "create", appID)
	if err != nil {
		t.Fatal(err)
	}
	again, err := create("one", "create", appID)
	if err != nil || again.Value != first.Value || again.ID != first.ID || again.Version != first.Version || !again.ValueMade.Equal(first.ValueMade) {
		t.Errorf("%+v, first %+v: %v", again, first, err)
	}
	if keys, err := a.Keys(ctx, dev, appID); err != nil || len(keys) != 2 {
		t.Errorf("%d keys: %v", len(keys), err)
	}
	if _, err := create("one", "create", "another app"); !isErr(err, app.ErrOnceOther) {
		t.Errorf("another request: %v", err)
	}
	rotated, err := a.RegenerateKey(ctx, dev, appID, first.ID, time.Hour, once(t, "two", "regenerate"))
	if err != nil {
		t.Fatal(err)
	}
	again, err = a.RegenerateKey(ctx, dev, appID, first.ID, time.Hour, once(t, "two", "regenerate"))
	if err != nil || again.Value != rotated.Value || !again.PreviousUntil.Equal(*rotated.PreviousUntil) {
		t.Errorf("%+v, first %+v: %v", again, rotated, err)
	}
	if _, err := create("one", "create", appID); !isErr(err, app.ErrOnceGone) {
		t.Errorf("after the value was replaced: %v", err)
	}
	other := developer(t, s, plan.Free) // the same key of somebody else is another key
	if _, err := a.CreateToken(ctx, other.ID, app.TokenRequest{Metadata: []byte(`{}`)}, once(t, "one", "token")); err != nil {
		t.Errorf("of another developer: %v", err)
	}
	// After its time it can be used again.
	if _, err := s.pool.Exec(ctx, `UPDATE key_requests SET created_at = $1`, time.Now().Add(-app.OnceFor-time.Second)); err != nil {
		t.Fatal(err)
	}
	if late, err := create("one", "create", "another app"); err != nil || late.ID == first.ID {
		t.Errorf("after its time: %v", err)
	}
}

func TestRequestsAtOnceMakeOneKey(t *testing.T) {
	url := database(t)
	here, there := openAt(t, url), openAt(t, url) // two processes
	a, dev, appID, _ := withKey(t, here)
	b := apps(t, there)
	const racers = 8
	got, start := make(chan app.NewKey, racers), make(chan struct{})
	for i := range racers {
		go func() {
			<-start
			k, err := []*app.Apps{a, b}[i%2].CreateKey(context.WithoutCancel(t.Context()), dev, appID, once(t, "race", "create"))
			if err != nil {
				t.Error(err)
			}
			got <- k
		}()
	}
	close(start)
	first := <-got
	for range racers - 1 {
		if k := <-got; k.Value != first.Value || k.Version != first.Version {
			t.Errorf("two values: %s and %s", k.Hint, first.Hint)
		}
	}
	if keys, err := a.Keys(t.Context(), dev, appID); err != nil || len(keys) != 2 {
		t.Errorf("%d keys: %v", len(keys), err)
	}
}

func TestIdempotencyKeysAreBounded(t *testing.T) {
	s := open(t)
	a, dev, appID, k := withKey(t, s)
	fill := `INSERT INTO key_requests (developer_id, idempotency_hash, request_hash, key_id, value_hash, version, created_at)
		SELECT $1, decode(lpad(to_hex(n), 8, '0'), 'hex'), ''::BYTEA, $2, $3, 1, now() FROM generate_series(1, $4) AS n`
	hash := key.Hash(k.Value)
	if _, err := s.pool.Exec(t.Context(), fill, dev, k.ID, hash[:], app.OncePerDeveloperMax); err != nil {
		t.Fatal(err)
	}
	_, err := a.CreateKey(t.Context(), dev, appID, once(t, "one too many", "create"))
	if !isErr(err, app.ErrOnceMany) || apierr.From(err).Kind != apierr.Limited {
		t.Errorf("one too many: %v", err)
	}
	if _, err := a.CreateKey(t.Context(), dev, appID, nil); err != nil {
		t.Errorf("without: %v", err)
	}
}
