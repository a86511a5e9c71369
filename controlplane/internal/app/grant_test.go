package app_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

func principal(t *testing.T, g app.Grant) plane.Principal {
	t.Helper()
	c, err := g.Change()
	if err != nil || c.Gone || c.Kind != plane.KindKey || c.ID != "0aff" {
		t.Fatalf("change %+v: %v", c, err)
	}
	var p plane.Principal
	if err := json.Unmarshal(c.Body, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func grant() app.Grant {
	id, rate, active := "a", int64(7), true
	return app.Grant{
		Hash: []byte{0x0a, 0xff}, KeyID: "k", DeveloperID: "d", Kind: key.Live, Plan: "free", AppID: &id, Families: []string{"darwin"},
		RateLimit: &rate, Active: &active,
	}
}

func TestTheFirstEndCounts(t *testing.T) {
	early, late := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	if p := principal(t, grant()); !p.NotAfter.IsZero() {
		t.Errorf("no end became %v", p.NotAfter)
	}
	for name, set := range map[string]func(g *app.Grant){
		"key":   func(g *app.Grant) { g.ExpiresAt, g.AppExpiresAt = &early, &late },
		"value": func(g *app.Grant) { g.NotAfter, g.ExpiresAt = &early, &late },
		"app":   func(g *app.Grant) { g.AppExpiresAt, g.NotAfter = &early, &late },
	} {
		g := grant()
		set(&g)
		if p := principal(t, g); !p.NotAfter.Equal(early) {
			t.Errorf("%s: %v", name, p.NotAfter)
		}
	}
}

func TestAKeyOfAnInactiveAppIsGone(t *testing.T) {
	g, off := grant(), false
	g.Active = &off
	c, err := g.Change()
	if err != nil || !c.Gone || c.Body != nil || c.ID != "0aff" {
		t.Errorf("change %+v: %v", c, err)
	}
}

func TestScopesOfADarwinToken(t *testing.T) {
	for _, tt := range []struct {
		scopes []string
		want   string
	}{
		{nil, "{[] []}"},
		{[]string{"agent"}, "{[] []}"},
		{[]string{"agent", "conversation"}, "{[] []}"},
		{[]string{"darwin"}, "{[darwin] []}"},
		{[]string{"conversation", "emoticore"}, "{[emoticore] [conversation]}"},
		{[]string{"unheard of"}, "{[] [unheard of]}"}, // opens nothing rather than everything
	} {
		g := app.Grant{Hash: []byte{0x0a, 0xff}, KeyID: "k", DeveloperID: "d", Kind: key.Darwin, Plan: "free", Scopes: tt.scopes}
		p := principal(t, g)
		if got := fmt.Sprint(p.Scope); got != tt.want || p.AppID != "" || len(p.Limits) != 3 {
			t.Errorf("%v: %s, limits %v", tt.scopes, got, p.Limits)
		}
	}
}
