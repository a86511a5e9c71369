package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

func TestTwoAppsAtOnceStayWithinThePlan(t *testing.T) {
	s := open(t)
	for range 10 {
		d := developer(t, s, plan.Free) // two apps
		if err := s.CreateApp(t.Context(), newApp(d)); err != nil {
			t.Fatal(err)
		}
		const racers = 4
		errs, start := make(chan error, racers), make(chan struct{})
		for range racers {
			go func() {
				<-start
				errs <- s.CreateApp(context.WithoutCancel(t.Context()), newApp(d))
			}()
		}
		close(start)
		made := 0
		for range racers {
			if err := <-errs; err == nil {
				made++
			} else if want := "The Free plan allows 2 apps and you have 2."; !contains(err, want) {
				t.Errorf("refused with %v", err)
			}
		}
		if made != 1 {
			t.Errorf("%d of %d racing creations succeeded, want 1", made, racers)
		}
	}
}

func TestWhatTheNodesLearnOfAKey(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	ctx := t.Context()
	d := developer(t, s, plan.Free)
	made, err := a.Create(ctx, app.App{DeveloperID: d.ID, Name: "Bot", Environment: "live", Families: []string{"darwin"}, RateLimit: 7})
	if err != nil {
		t.Fatal(err)
	}
	k, err := a.CreateKey(ctx, d.ID, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := func() plane.Principal {
		t.Helper()
		all := principals(t, s)
		if len(all) != 1 {
			t.Fatalf("published: %v", all)
		}
		return all[k.ID]
	}
	p := one()
	if p.AppID != made.ID || p.DeveloperID != d.ID || p.Kind != key.Live || len(p.Limits) != 4 || p.Limits[1].Max != 7 {
		t.Errorf("published %+v", p)
	}
	hash := key.Hash(k.Value)
	if _, ok := records(t, s)[recordID{plane.KindKey, fmt.Sprintf("%x", hash)}]; !ok {
		t.Error("the record is not under the SHA-256 of the key")
	}

	off, on, rate := false, true, int64(9)
	update := func(u app.Update) {
		t.Helper()
		if _, _, err := a.Update(ctx, d.ID, made.ID, u); err != nil {
			t.Fatal(err)
		}
	}
	update(app.Update{Active: &off})
	if got := principals(t, s); len(got) != 0 {
		t.Errorf("keys of an inactive app are published: %v", got)
	}
	update(app.Update{Active: &on, RateLimit: &rate, Families: &[]string{"biometrix"}})
	if p = one(); p.Limits[1].Max != 9 || p.Scope.Families[0] != "biometrix" {
		t.Errorf("published %+v", p)
	}

	perMinute, pro := int64(12345), plan.Pro
	if _, err := s.ChangeDeveloper(ctx, d.Email, account.Change{Plan: &pro, PerMinute: &perMinute, Verified: true}, micros()); err != nil {
		t.Fatal(err)
	}
	if p = one(); p.Limits[0].Max != 12345 || p.Limits[2].Max != 10_000 {
		t.Errorf("published %+v", p)
	}

	again, err := a.RegenerateKey(ctx, d.ID, made.ID, k.ID, 0, nil)
	if err != nil || again.ID != k.ID || again.Value == k.Value {
		t.Errorf("regenerated: %v", err)
	}
	newHash := key.Hash(again.Value)
	if got := records(t, s); len(got) != 1 || got[recordID{plane.KindKey, fmt.Sprintf("%x", newHash)}] == "" {
		t.Errorf("after regenerating: %v", got)
	}

	if _, err := a.CreateKey(ctx, d.ID, made.ID, nil); err != nil {
		t.Fatal(err)
	}
	revoked, err := a.RevokeKey(ctx, d.ID, made.ID, k.ID)
	if err != nil || revoked.RevokedVersion == nil {
		t.Fatalf("revoked: %+v %v", revoked, err)
	}
	twice, err := a.RevokeKey(ctx, d.ID, made.ID, k.ID)
	if err != nil || *twice.RevokedVersion != *revoked.RevokedVersion || !twice.RevokedAt.Equal(*revoked.RevokedAt) {
		t.Errorf("revoked again: %+v %v", twice, err)
	}
	if got := principals(t, s); len(got) != 1 {
		t.Errorf("after revoking one of two: %v", got)
	}
	if _, err := a.Delete(ctx, d.ID, made.ID); err != nil {
		t.Fatal(err)
	}
	if got := principals(t, s); len(got) != 0 {
		t.Errorf("after deleting the app: %v", got)
	}
}

func TestAnEndIsPublishedAheadOfTime(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	d := developer(t, s, plan.Free)
	end := micros().Add(time.Hour)
	made, err := a.Create(t.Context(), app.App{DeveloperID: d.ID, Name: "Bot", Environment: "test", RateLimit: 1, ExpiresAt: &end})
	if err != nil {
		t.Fatal(err)
	}
	k, err := a.CreateKey(t.Context(), d.ID, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := a.CreateToken(t.Context(), d.ID, app.TokenRequest{Scopes: []string{"darwin", "conversation"}, ExpiresAt: &end, Metadata: []byte(`{}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := principals(t, s)
	if p := all[k.ID]; !p.NotAfter.Equal(end) || len(p.Limits) != 3 || p.Kind != key.Test {
		t.Errorf("key: %+v", p)
	}
	p := all[token.ID]
	if !p.NotAfter.Equal(end) || p.Kind != key.Darwin || p.AppID != "" || len(p.Limits) != 3 ||
		fmt.Sprint(p.Scope) != "{[darwin] [conversation]}" {
		t.Errorf("token: %+v", p)
	}
}

func TestValuesAreSealedAndErased(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	ctx := t.Context()
	d := developer(t, s, plan.Free)
	made, err := a.Create(ctx, app.App{DeveloperID: d.ID, Name: "Bot", Environment: "test", RateLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	k, err := a.CreateKey(ctx, d.ID, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if value, err := a.Reveal(ctx, d.ID, made.ID, k.ID); err != nil || value != k.Value {
		t.Errorf("revealed %q, %v", value, err)
	}
	var reads, plain int
	if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM key_reads WHERE key_id = $1`, k.ID).Scan(&reads); err != nil || reads != 1 {
		t.Errorf("%d reads recorded: %v", reads, err)
	}
	// No column of any row holds the value.
	for _, table := range []string{"api_keys", "api_key_secrets", "config_log", "config_records"} {
		sql := `SELECT count(*) FROM ` + table + ` AS r WHERE r::TEXT LIKE '%' || $1 || '%' OR r::TEXT LIKE '%' || $2 || '%'`
		if err := s.pool.QueryRow(ctx, sql, k.Value, fmt.Sprintf("%x", k.Value)).Scan(&plain); err != nil || plain != 0 {
			t.Errorf("%s holds the value %d times: %v", table, plain, err)
		}
	}
	if _, err := a.RevokeKey(ctx, d.ID, made.ID, k.ID); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM api_key_secrets WHERE length(ciphertext) > 0`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d values left: %v", left, err)
	}
	if _, err := a.Reveal(ctx, d.ID, made.ID, k.ID); !isErr(err, app.ErrKeyRevoked) {
		t.Errorf("revealed a revoked key: %v", err)
	}
	if _, err := a.RegenerateKey(ctx, d.ID, made.ID, k.ID, 0, nil); !isErr(err, app.ErrKeyRevoked) {
		t.Errorf("regenerated a revoked key: %v", err)
	}
}

func TestNothingOfAnotherDeveloper(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	ctx := t.Context()
	owner, other := developer(t, s, plan.Free), developer(t, s, plan.Free)
	made, err := a.Create(ctx, app.App{DeveloperID: owner.ID, Name: "Bot", Environment: "test", RateLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	k, err := a.CreateKey(ctx, owner.ID, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := a.CreateToken(ctx, owner.ID, app.TokenRequest{Metadata: []byte(`{}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := len(configLog(t, s))
	name := "mine now"
	checks := map[string]func() error{
		"get":        func() error { _, err := a.Get(ctx, other.ID, made.ID); return err },
		"keys":       func() error { _, err := a.Keys(ctx, other.ID, made.ID); return err },
		"update":     func() error { _, _, err := a.Update(ctx, other.ID, made.ID, app.Update{Name: &name}); return err },
		"delete":     func() error { _, err := a.Delete(ctx, other.ID, made.ID); return err },
		"create key": func() error { _, err := a.CreateKey(ctx, other.ID, made.ID, nil); return err },
		"regenerate": func() error { _, err := a.RegenerateKey(ctx, other.ID, made.ID, k.ID, 0, nil); return err },
		"revoke":     func() error { _, err := a.RevokeKey(ctx, other.ID, made.ID, k.ID); return err },
		"reveal":     func() error { _, err := a.Reveal(ctx, other.ID, made.ID, k.ID); return err },
	}
	for what, check := range checks {
		if err := check(); !isErr(err, app.ErrNoApp) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := a.RevokeToken(ctx, other.ID, token.ID); !isErr(err, app.ErrNoToken) {
		t.Errorf("revoke token: %v", err)
	}
	// A key cannot be had through the token's way, nor a token through an app, nor a key through another app.
	if _, err := a.RevokeToken(ctx, owner.ID, k.ID); !isErr(err, app.ErrNoToken) {
		t.Errorf("a key as a token: %v", err)
	}
	if _, err := a.RevokeKey(ctx, owner.ID, made.ID, token.ID); !isErr(err, app.ErrNoKey) {
		t.Errorf("a token as a key: %v", err)
	}
	second, err := a.Create(ctx, app.App{DeveloperID: owner.ID, Name: "Two", Environment: "test", RateLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reveal(ctx, owner.ID, second.ID, k.ID); !isErr(err, app.ErrNoKey) {
		t.Errorf("a key through another app: %v", err)
	}
	if after := len(configLog(t, s)); after != before {
		t.Errorf("%d changes were announced", after-before)
	}
	if list, err := a.List(ctx, other.ID); err != nil || len(list) != 0 {
		t.Errorf("apps: %v %v", list, err)
	}
	if list, err := a.Tokens(ctx, other.ID); err != nil || len(list) != 0 {
		t.Errorf("tokens: %v %v", list, err)
	}
}

func TestNumberOfKeysIsBounded(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	ctx := t.Context()
	d := developer(t, s, plan.Free)
	made, err := a.Create(ctx, app.App{DeveloperID: d.ID, Name: "Bot", Environment: "test", RateLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	fill := `INSERT INTO api_keys (id, developer_id, app_id, kind, hint, name, scopes, metadata, created_at)
		SELECT gen_random_uuid(), $1, $2, $3, '', '', ARRAY[]::TEXT[], '{}', now() FROM generate_series(1, $4)`
	for _, tt := range []struct {
		appID *string
		kind  key.Kind
		max   int
		more  func() error
	}{
		{&made.ID, key.Test, app.KeysPerAppMax, func() error { _, err := a.CreateKey(ctx, d.ID, made.ID, nil); return err }},
		{nil, key.Darwin, app.TokensPerDeveloperMax, func() error {
			_, err := a.CreateToken(ctx, d.ID, app.TokenRequest{Metadata: []byte(`{}`)}, nil)
			return err
		}},
	} {
		if _, err := s.pool.Exec(ctx, fill, d.ID, tt.appID, tt.kind, tt.max-1); err != nil {
			t.Fatal(err)
		}
		if err := tt.more(); err != nil {
			t.Errorf("%s: the last one: %v", tt.kind, err)
		}
		if err := tt.more(); err == nil || apierr.From(err).Kind != apierr.Forbidden {
			t.Errorf("%s: one more: %v", tt.kind, err)
		}
	}
}
